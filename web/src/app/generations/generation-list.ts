import { computed, inject, Injectable } from '@angular/core';
import { liveList, type LiveRow } from '@pointsman/live-table';

import { epochMs } from '../status/system-status';
import { Watchdog } from '../status/watchdog';

export interface GenerationRow {
  readonly number: number;
  readonly state: string;
  readonly topics: readonly { readonly source: string; readonly topic: string }[];
  readonly joinType: string;
  /** When its linger ends, in milliseconds since the epoch. */
  readonly lingerUntil: number | null;
  readonly reason: string;
}

/** The generations that exist now, newest first, and what can be rolled back to. */
@Injectable({ providedIn: 'root' })
export class GenerationList {
  private readonly list = liveList('generations', { limit: 100, intervalMs: 250 });
  private readonly watchdog = inject(Watchdog);

  readonly rows = computed(() => this.list.rows().map(generationRow).sort((a, b) => b.number - a.number));
  readonly live = computed(() => this.rows().find(({ state }) => state === 'LIVE') ?? null);
  readonly building = computed(() => this.rows().find(({ state }) => state === 'BUILDING' || state === 'READY') ?? null);
  /** The one that a rollback shows again, and how long it still waits. */
  readonly lingering = computed(() => {
    const row = this.rows().find(({ state }) => state === 'LINGERING');
    return row === undefined
      ? null
      : { ...row, leftMs: row.lingerUntil === null ? null : Math.max(0, row.lingerUntil - this.watchdog.clock()) };
  });
}

export function generationRow(row: LiveRow): GenerationRow {
  return {
    number: Number(row['generation'] ?? 0),
    state: String(row['state'] ?? ''),
    topics: String(row['topics'] ?? '')
      .split(', ')
      .filter((part) => part.includes('='))
      .map((part) => ({ source: part.slice(0, part.indexOf('=')), topic: part.slice(part.indexOf('=') + 1) })),
    joinType: String(row['joinType'] ?? ''),
    lingerUntil: epochMs(row['lingerUntil']),
    reason: String(row['reason'] ?? ''),
  };
}
