import { ChangeDetectionStrategy, Component, inject, input } from '@angular/core';

import { entryTime } from '../status/journal';
import { VerdictList } from './verdict-list';

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
  protected readonly list = inject(VerdictList);
  protected readonly time = entryTime;
}
