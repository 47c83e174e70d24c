import { ChangeDetectionStrategy, Component, input } from '@angular/core';
import { liveList } from '@pointsman/live-table';

import { entryTime } from '../status/journal';

/** The answers to the latest control messages, live. */
@Component({
  selector: 'pm-verdicts',
  template: `
    <ol aria-label="Verdicts">
      @for (row of list.rows().slice(0, most()); track $index) {
        <li [class]="row['verdict']">
          <time class="number muted">{{ time(row['ts']) }}</time>
          <span class="outcome">{{ row['verdict'] }}</span>
          <span class="text">{{ row['reason'] }}</span>
        </li>
      } @empty {
        <li class="muted">No control message yet.</li>
      }
    </ol>
  `,
  styleUrl: '../status/entries.css',
  changeDetection: ChangeDetectionStrategy.OnPush,
})
export class Verdicts {
  readonly most = input(8);
  protected readonly list = liveList('control_verdicts', { limit: 50, newestFirst: true });
  protected readonly time = entryTime;
}
