import { computed, DestroyRef, inject, Injectable, signal } from '@angular/core';
import { TablesConnection } from '@pointsman/live-table';

import { PointsmanApi } from '../control/pointsman-api';
import { epochMs, SystemStatus } from './system-status';

export interface Trouble {
  readonly what: string;
  readonly since: number;
  readonly doing: string;
  /** Rows on screen may be old. */
  readonly stale: boolean;
}

const TICK_MS = 1000;
const SILENT_AFTER_MS = 5000;
const PROBE_EVERY_MS = 2000;
const API_EVERY_MS = 3000;

/**
 * Notices silence. A status row that stops changing means one of three things, and a fresh read of it tells which:
 * the read fails (the connection is dead: make a new one), it is newer than what we have (our subscription is dead:
 * the same cure), or it is as old (the pipeline or its broker is silent: say so, and keep watching). News that a
 * second read still finds unheard is taken for a dead subscription, not the first: just after a healing, or when the
 * pipeline returns, a read may be quicker than the subscription.
 */
@Injectable({ providedIn: 'root' })
export class Watchdog {
  private readonly connection = inject(TablesConnection);
  private readonly status = inject(SystemStatus);
  private readonly api = inject(PointsmanApi);
  private readonly now = signal(Date.now());
  private readonly startedAt = Date.now();
  private readonly silentSince = signal<number | null>(null);
  private readonly webLostSince = signal<number | null>(null);
  private probing = false;
  private probedAt = 0;
  private unheard = false;
  private asking = false;
  private askedAt = 0;

  readonly troubles = computed<readonly Trouble[]>(() => [
    ...this.tablesTrouble(),
    ...this.pipelineTrouble(),
    ...this.webTrouble(),
  ]);
  readonly clock = this.now.asReadonly();

  constructor() {
    const timer = setInterval(() => this.tick(), TICK_MS);
    const online = (): void => this.connection.heal();
    addEventListener('online', online);
    inject(DestroyRef).onDestroy(() => {
      clearInterval(timer);
      removeEventListener('online', online);
    });
  }

  private tick(): void {
    const now = Date.now();
    this.now.set(now);
    if (!this.asking && now - this.askedAt >= API_EVERY_MS) {
      void this.askWebServer();
    }
    const beat = this.status.lastBeat();
    const quietFor = now - (beat ?? this.startedAt);
    if (!this.connection.connected() || quietFor < SILENT_AFTER_MS) {
      this.silentSince.set(null);
      this.unheard = false;
    } else if (!this.probing && now - this.probedAt >= PROBE_EVERY_MS) {
      void this.probe(beat);
    }
  }

  private async probe(beat: number | null): Promise<void> {
    this.probing = true;
    try {
      const view = await this.connection.acquire('orchestrator_status');
      const [row] = await view.read({ first: 0, last: 0 });
      view.close();
      const at = row === undefined ? null : epochMs(row['at'] ?? row['heartbeat']);
      if (at === null || at === this.status.row()?.at) {
        this.unheard = false;
        this.silentSince.update((since) => since ?? beat ?? this.startedAt);
      } else if (this.unheard) {
        this.unheard = false;
        this.connection.heal();
      } else {
        this.unheard = true;
      }
    } catch {
      this.connection.heal();
    } finally {
      this.probing = false;
      this.probedAt = Date.now();
    }
  }

  private async askWebServer(): Promise<void> {
    this.asking = true;
    try {
      await this.api.status();
      this.webLostSince.set(null);
    } catch (error) {
      const reached = error instanceof Error && 'status' in error;
      this.webLostSince.update((since) => (reached ? null : (since ?? Date.now())));
    } finally {
      this.asking = false;
      this.askedAt = Date.now();
    }
  }

  private tablesTrouble(): Trouble[] {
    const state = this.connection.state();
    const since = this.connection.lostSince();
    if (since === null || state === 'connected' || state === 'refused' || state === 'idle') {
      return [];
    }
    return [
      {
        what: 'The tables server does not answer',
        since: Math.min(since, this.status.lastBeat() ?? since),
        doing: 'What you see is how it was then. Connecting again, every few seconds.',
        stale: true,
      },
    ];
  }

  private pipelineTrouble(): Trouble[] {
    const since = this.silentSince();
    if (since === null) {
      return [];
    }
    return [
      {
        what: 'No heartbeat from the pipeline',
        since,
        doing: 'The tables server answers, but nothing new reaches it: the pipeline or its broker is down. Watching for its return.',
        stale: true,
      },
    ];
  }

  private webTrouble(): Trouble[] {
    const since = this.webLostSince();
    if (since === null) {
      return [];
    }
    return [
      {
        what: 'The web server does not answer',
        since,
        doing: 'Tables stay live; the points cannot be set until it is back. Asking again every few seconds.',
        stale: false,
      },
    ];
  }
}
