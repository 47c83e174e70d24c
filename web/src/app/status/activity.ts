import { ChangeDetectionStrategy, Component, computed, inject } from '@angular/core';

import { Timeline } from '../generations/timeline';
import { Verdicts } from '../control/verdicts';
import { Chart, type ChartPoint } from './chart';
import { grouped, span } from './durations';
import { Journal } from './journal';
import { SystemStatus } from './system-status';
import { Watchdog } from './watchdog';

/** What is going on: three charts, the generations, verdicts and the journal. */
@Component({
  selector: 'pm-activity',
  imports: [Chart, Journal, Timeline, Verdicts],
  template: `
    <div class="charts">
      <pm-chart name="Records per second" [points]="rate()" [until]="clock()" [format]="count" />
      <pm-chart name="Lag, records" [points]="lag()" [until]="clock()" [format]="count" />
      <pm-chart name="Freshness" [points]="freshness()" [until]="clock()" [format]="time" />
    </div>
    <div class="lists">
      <section>
        <h3>Generations</h3>
        <pm-timeline />
        <h3 class="second">Verdicts</h3>
        <pm-verdicts [most]="20" />
      </section>
      <section>
        <h3>Journal</h3>
        <pm-journal />
      </section>
    </div>
  `,
  styles: `
    :host {
      display: block;
      overflow: auto;
      padding: 14px;
    }
    .charts {
      display: grid;
      gap: 12px;
      grid-template-columns: repeat(auto-fit, minmax(260px, 1fr));
    }
    .lists {
      display: grid;
      gap: 12px;
      grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr));
      margin-top: 12px;
    }
    section {
      background: var(--surface);
      border: 1px solid var(--line);
      border-radius: 10px;
      min-width: 0;
      padding: 12px 14px;
    }
    h3 {
      margin-bottom: 6px;
    }
    .second {
      margin-top: 14px;
    }
  `,
  changeDetection: ChangeDetectionStrategy.OnPush,
})
export class Activity {
  private readonly status = inject(SystemStatus);
  protected readonly clock = inject(Watchdog).clock;
  protected readonly count = (value: number | null): string => grouped(value);
  protected readonly time = span;
  protected readonly rate = computed(() => this.points('rate'));
  protected readonly lag = computed(() => this.points('lag'));
  protected readonly freshness = computed(() => this.points('freshness'));

  private points(quantity: 'rate' | 'lag' | 'freshness'): ChartPoint[] {
    return this.status.history().map((point) => ({ at: point.at, value: point[quantity] }));
  }
}
