import { computed, effect, inject, Injectable, signal, untracked } from '@angular/core';
import { liveList, type Cell, type LiveRow } from '@pointsman/live-table';

import { PointsmanApi, type HistoryPoint } from '../control/pointsman-api';

/** What is true now, as the status row says it. */
export interface SystemState {
  readonly topics: readonly { readonly source: string; readonly topic: string }[];
  readonly joinType: string;
  readonly lastApplied: string;
  readonly generation: number | null;
  readonly state: string;
  readonly progress: string;
  readonly lag: number | null;
  readonly freshness: number | null;
  readonly rate: number | null;
  readonly lastError: string;
  /** The heartbeat, in milliseconds since the epoch. */
  readonly at: number | null;
}

export const HISTORY_MS = 15 * 60_000;
const SAMPLE_MS = 1000;

/** The one status row, live from the tables server, and what it said over the last 15 minutes. */
@Injectable({ providedIn: 'root' })
export class SystemStatus {
  private readonly api = inject(PointsmanApi);
  private readonly list = liveList('orchestrator_status', { limit: 1, intervalMs: 250 });
  private readonly samples = signal<readonly HistoryPoint[]>([]);
  private readonly beat = signal<number | null>(null);

  readonly row = computed<SystemState | null>(() => {
    const row = this.list.rows()[0];
    return row === undefined ? null : systemState(row);
  });
  /** When news last came, by this browser's clock. */
  readonly lastBeat = this.beat.asReadonly();
  readonly history = this.samples.asReadonly();
  readonly sources = computed(() => this.row()?.topics.map(({ source }) => source) ?? []);

  constructor() {
    let last: number | null = null;
    effect(() => {
      const row = this.row();
      if (row === null || row.at === last) {
        return;
      }
      last = row.at;
      untracked(() => this.sample(row));
    });
    void this.seed();
  }

  private sample(row: SystemState): void {
    const now = Date.now();
    this.beat.set(now);
    const newest = this.samples().at(-1);
    if (newest === undefined || now - newest.at >= SAMPLE_MS - 50) {
      const { rate, lag, freshness } = row;
      this.samples.update((all) => [...all.filter(({ at }) => at > now - HISTORY_MS), { at: now, rate, lag, freshness }]);
    }
  }

  /** The minutes before this page was opened, from the web server; without it the charts begin empty. */
  private async seed(): Promise<void> {
    try {
      const earlier = await this.api.history();
      const first = this.samples()[0]?.at ?? Infinity;
      this.samples.update((all) => [...earlier.filter(({ at }) => at < first - SAMPLE_MS), ...all]);
    } catch {
      // the charts fill as time passes
    }
  }
}

export function systemState(row: LiveRow): SystemState {
  const text = (name: string): string => String(row[name] ?? '');
  return {
    topics: Object.keys(row)
      .filter((name) => name.endsWith('Topic'))
      .map((name) => ({ source: name.slice(0, -'Topic'.length), topic: text(name) })),
    joinType: text('joinType'),
    lastApplied: text('lastApplied'),
    generation: numeric(row['generation']),
    state: text('state'),
    progress: text('progress'),
    lag: numeric(row['lag']),
    freshness: numeric(row['freshness']),
    rate: numeric(row['rate']),
    lastError: text('lastError'),
    at: epochMs(row['at'] ?? row['heartbeat']),
  };
}

function numeric(value: Cell | undefined): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** Seconds or milliseconds since the epoch, told apart by their size. */
export function epochMs(value: Cell | undefined): number | null {
  const number = numeric(value);
  return number === null ? null : number < 1e11 ? number * 1000 : number;
}
