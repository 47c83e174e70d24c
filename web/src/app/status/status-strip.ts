import { ChangeDetectionStrategy, Component, computed, inject } from '@angular/core';

import { grouped, span } from './durations';
import { SystemStatus } from './system-status';
import { Watchdog } from './watchdog';

const TONE: Readonly<Record<string, string>> = { SERVING: 'good', SWITCHING: 'warn', STARTING: 'warn', DEGRADED: 'bad', FAILED: 'bad' };

/** Topics, join, generation, state, rate, lag and freshness, in one line. */
@Component({
  selector: 'pm-status-strip',
  template: `
    @if (status.row(); as row) {
      <dl [class.stale]="stale()">
        <div class="state" [class]="tone()">
          <dt>State</dt>
          <dd>{{ row.state || '–' }}</dd>
        </div>
        <div>
          <dt>Generation</dt>
          <dd class="number">{{ row.generation ?? '–' }}</dd>
        </div>
        @for (item of row.topics; track item.source) {
          <div class="topic">
            <dt>{{ item.source }}</dt>
            <dd class="text">{{ item.topic }}</dd>
          </div>
        }
        <div>
          <dt>Join</dt>
          <dd>{{ row.joinType }}</dd>
        </div>
        <div class="wide">
          <dt>Records/s</dt>
          <dd class="number">{{ number(row.rate) }}</dd>
        </div>
        <div class="wide">
          <dt>Lag</dt>
          <dd class="number">{{ number(row.lag) }}</dd>
        </div>
        <div class="wide">
          <dt>Freshness</dt>
          <dd class="number">{{ time(row.freshness) }}</dd>
        </div>
      </dl>
      @if (row.progress) {
        <p class="progress" role="status">{{ row.progress }}</p>
      }
      @if (row.lastError) {
        <p class="error text">Last error: {{ row.lastError }}</p>
      }
    } @else {
      <p class="muted waiting">Waiting for the status row…</p>
    }
  `,
  styleUrl: './status-strip.css',
  changeDetection: ChangeDetectionStrategy.OnPush,
})
export class StatusStrip {
  protected readonly status = inject(SystemStatus);
  private readonly watchdog = inject(Watchdog);
  protected readonly stale = computed(() => this.watchdog.troubles().some((trouble) => trouble.stale));
  protected readonly tone = computed(() => (this.stale() ? '' : (TONE[this.status.row()?.state ?? ''] ?? '')));
  protected readonly number = grouped;
  protected readonly time = span;
}
