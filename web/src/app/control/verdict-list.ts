import { computed, Injectable } from '@angular/core';
import { liveList, type LiveRow } from '@pointsman/live-table';

import type { Verdict } from './pointsman-api';

/** The answers to the latest control messages, newest first, live. */
@Injectable({ providedIn: 'root' })
export class VerdictList {
  private readonly list = liveList('control_verdicts', { limit: 50 });
  readonly rows = computed(() => this.list.rows());

  of(requestId: string): Verdict | null {
    const row = this.rows().find((candidate) => candidate['requestId'] === requestId);
    return row === undefined ? null : verdict(row);
  }
}

function verdict(row: LiveRow): Verdict {
  return {
    verdict: String(row['verdict'] ?? ''),
    reason: String(row['reason'] ?? ''),
    generation: typeof row['generation'] === 'number' ? row['generation'] : null,
    durationMs: Number(row['durationMs'] ?? 0),
    requestId: row['requestId'] === null ? null : String(row['requestId']),
  };
}
