import { ChangeDetectionStrategy, Component, input } from '@angular/core';
import { instantText, liveList } from '@pointsman/live-table';

import { epochMs } from './system-status';

/** What happened, newest first, live. */
@Component({
  selector: 'pm-journal',
  template: `
    <ol aria-label="Journal">
      @for (row of list.rows().slice(0, most()); track $index) {
        <li [class]="level(row['level'])">
          <time class="number muted">{{ time(row['ts']) }}</time>
          <span class="text">{{ row['msg'] }}</span>
          <span class="code muted">{{ row['code'] }}</span>
        </li>
      } @empty {
        <li class="muted">Nothing yet.</li>
      }
    </ol>
  `,
  styleUrl: './entries.css',
  changeDetection: ChangeDetectionStrategy.OnPush,
})
export class Journal {
  readonly most = input(60);
  protected readonly list = liveList('orchestrator_logs', { limit: 100 });

  protected time(value: Parameters<typeof epochMs>[0]): string {
    return entryTime(value);
  }

  protected level(value: unknown): string {
    return String(value ?? '').toLowerCase();
  }
}

export function entryTime(value: Parameters<typeof epochMs>[0]): string {
  if (typeof value === 'string') {
    return value;
  }
  const at = epochMs(value);
  return at === null ? '' : instantText(at).slice(11, 19);
}
