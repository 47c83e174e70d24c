import { computed, Injectable, signal, type Signal } from '@angular/core';

import { JSAPI_PATH, loadJsApi, type DhTable, type JsApi } from './jsapi';
import { TableView, type LiveView } from './live-view';
import { isTableName } from './table-names';

export type ConnectionState =
  | 'idle' // no key yet
  | 'connecting' // the first connection is being made
  | 'connected'
  | 'healing' // it was lost; new attempts are made until one holds
  | 'refused'; // the server does not accept the key

/** One login: everything acquired through it is gone when the next one begins. */
interface Session {
  readonly api: JsApi;
  readonly client: InstanceType<JsApi['CoreClient']>;
  readonly connection: Awaited<ReturnType<InstanceType<JsApi['CoreClient']>['getAsIdeConnection']>>;
}

const PSK = 'io.deephaven.authentication.psk.PskAuthenticationHandler';
const LOGIN_TIMEOUT_MS = 15_000;
const ACQUIRE_TIMEOUT_MS = 10_000;
const RETRY_MS = [250, 500, 1000, 2000, 3000];
/** Failed logins at a server that answers, until the key is taken to be wrong; more once it was right before. */
const WRONG_AFTER = { never: 2, once: 8 };

/**
 * The connection to a tables server. It logs in with an access key, hands out tables by name, and when the
 * connection is lost (a restarted server, an expired session, a dropped network) makes a new client and logs in
 * again until it holds. `epoch` grows with every new login: whoever holds a table acquires it anew then.
 */
@Injectable({ providedIn: 'root' })
export class TablesConnection {
  private readonly stateNow = signal<ConnectionState>('idle');
  private readonly epochNow = signal(0);
  private readonly lostAt = signal<number | null>(null);
  private readonly namesNow = signal<readonly string[]>([]);

  readonly state: Signal<ConnectionState> = this.stateNow.asReadonly();
  readonly epoch: Signal<number> = this.epochNow.asReadonly();
  /** When the connection was lost, in milliseconds since the epoch; null while it holds. */
  readonly lostSince: Signal<number | null> = this.lostAt.asReadonly();
  /** The tables that the server exports. */
  readonly tableNames: Signal<readonly string[]> = this.namesNow.asReadonly();
  readonly connected = computed(() => this.stateNow() === 'connected');

  private server = '';
  private key = '';
  private api: JsApi | null = null;
  private session: Session | null = null;
  private run = 0;
  private keyWasRight = false;

  /** Connects, and stays connected until `close`. A second call replaces the first. */
  open(server: string, key: string): void {
    this.drop();
    this.server = server;
    this.key = key;
    this.keyWasRight = false;
    this.stateNow.set('connecting');
    void this.keepTrying(++this.run);
  }

  close(): void {
    this.run++;
    this.drop();
    this.stateNow.set('idle');
    this.lostAt.set(null);
  }

  /** Makes a new connection now: the present one went quiet. */
  heal(): void {
    if (this.stateNow() === 'connected') {
      this.lost(this.run);
    }
  }

  /** A table of the present session by name. The caller owns the view and closes it. */
  async acquire(name: string, intervalMs = 100): Promise<LiveView> {
    const { api, table } = await this.table(name);
    return new TableView(api, table, intervalMs);
  }

  private async table(name: string): Promise<{ api: JsApi; table: DhTable }> {
    const session = this.session;
    if (session === null) {
      throw new Error('there is no connection to the tables server');
    }
    if (!isTableName(name)) {
      throw new Error(`'${name}' is not a table's name`);
    }
    const table = (await within(
      ACQUIRE_TIMEOUT_MS,
      session.connection.getObject({ type: 'Table', name }),
      `table '${name}' did not come`,
    )) as DhTable;
    return { api: session.api, table };
  }

  private async keepTrying(run: number): Promise<void> {
    let refusals = 0;
    for (let attempt = 0; run === this.run; attempt++) {
      try {
        const session = await this.login(attempt);
        if (run !== this.run) {
          end(session);
          return;
        }
        this.begin(session, run);
        return;
      } catch {
        // A login fails without a reason: whether the server answers at all tells a wrong key from a dead server.
        refusals += this.api !== null && (await this.serverAnswers()) ? 1 : 0;
        if (run !== this.run) {
          return;
        }
        if (refusals >= (this.keyWasRight ? WRONG_AFTER.once : WRONG_AFTER.never)) {
          this.lostAt.set(null);
          this.stateNow.set('refused');
          return;
        }
        this.lostAt.update((since) => since ?? Date.now());
        await pause(RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)] ?? 1000);
      }
    }
  }

  private async login(attempt: number): Promise<Session> {
    this.api ??= await loadJsApi(this.server, attempt);
    const api = this.api;
    const client = new api.CoreClient(this.server);
    // A listener keeps the client from writing its own failures to the console.
    client.addEventListener(api.CoreClient.EVENT_REQUEST_FAILED, () => undefined);
    try {
      await within(LOGIN_TIMEOUT_MS, client.login({ type: PSK, token: this.key }), 'the login did not come through');
      const connection = await within(LOGIN_TIMEOUT_MS, client.getAsIdeConnection(), 'the connection did not open');
      return { api, client, connection };
    } catch (error) {
      quietly(() => client.disconnect());
      throw error;
    }
  }

  private async serverAnswers(): Promise<boolean> {
    const reading = new AbortController();
    const timer = setTimeout(() => reading.abort(), LOGIN_TIMEOUT_MS / 3);
    try {
      return (await fetch(new URL(JSAPI_PATH, this.server), { cache: 'no-store', signal: reading.signal })).ok;
    } catch {
      return false;
    } finally {
      clearTimeout(timer);
      reading.abort();
    }
  }

  private begin(session: Session, run: number): void {
    this.session = session;
    this.keyWasRight = true;
    const { api, client, connection } = session;
    const lost = (): void => {
      if (this.session === session) {
        this.lost(run);
      }
    };
    connection.addEventListener('requestfailed', () => undefined);
    connection.addEventListener(api.IdeConnection.EVENT_DISCONNECT, lost);
    connection.addEventListener(api.IdeConnection.EVENT_SHUTDOWN, lost);
    client.addEventListener(api.CoreClient.EVENT_RECONNECT_AUTH_FAILED, lost);
    connection.subscribeToFieldUpdates((changes) => {
      if (this.session === session) {
        const names = new Set(this.namesNow());
        changes.removed.forEach((field) => names.delete(field.name));
        [...changes.created, ...changes.updated].forEach((field) => field.type === 'Table' && names.add(field.name));
        this.namesNow.set([...names]);
      }
    });
    this.lostAt.set(null);
    this.stateNow.set('connected');
    this.epochNow.update((epoch) => epoch + 1);
  }

  private lost(run: number): void {
    if (run !== this.run) {
      return;
    }
    this.drop();
    this.lostAt.update((since) => since ?? Date.now());
    this.stateNow.set('healing');
    void this.keepTrying(++this.run);
  }

  private drop(): void {
    const session = this.session;
    this.session = null;
    if (session !== null) {
      end(session);
    }
  }
}

/** Its own attempts to reconnect must stop as well: they use a token that a restarted server does not know. */
function end(session: Session): void {
  quietly(() => session.connection.close());
  quietly(() => session.client.disconnect());
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function within<T>(ms: number, promise: Promise<T>, complaint: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${complaint} within ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function quietly(action: () => void): void {
  try {
    action();
  } catch {
    // it was closed already
  }
}
