import { ChangeDetectionStrategy, Component, inject } from '@angular/core';

import { ago } from '../status/durations';
import { GenerationList } from './generation-list';

const TONE: Readonly<Record<string, string>> = { LIVE: 'good', READY: 'warn', BUILDING: 'warn', FAILED: 'bad' };

/** The generations as a line of stations: which is shown, which waits, which comes. */
@Component({
  selector: 'pm-timeline',
  template: `
    <ol>
      @for (row of generations.rows(); track row.number) {
        <li [class]="tone(row.state)">
          <span class="name number">Generation {{ row.number }}</span>
          <span class="state">{{ row.state }}</span>
          <span class="what text">
            @for (item of row.topics; track item.source) {
              <span>{{ item.source }} ← <code>{{ item.topic }}</code></span>
            }
            <span>{{ row.joinType }} join</span>
          </span>
          @if (row.state === 'LINGERING' && generations.lingering()?.number === row.number) {
            @let left = generations.lingering()?.leftMs ?? null;
            <span class="muted number">{{ left === null ? 'waits for a rollback' : 'freed in ' + time(left) }}</span>
          }
          @if (row.reason) {
            <span class="reason text">{{ row.reason }}</span>
          }
        </li>
      } @empty {
        <li class="muted">None yet.</li>
      }
    </ol>
  `,
  styleUrl: './timeline.css',
  changeDetection: ChangeDetectionStrategy.OnPush,
})
export class Timeline {
  protected readonly generations = inject(GenerationList);
  protected readonly time = ago;

  protected tone(state: string): string {
    return TONE[state] ?? '';
  }
}
