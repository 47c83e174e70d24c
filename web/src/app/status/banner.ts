import { ChangeDetectionStrategy, Component, inject } from '@angular/core';

import { ago, clockTime } from './durations';
import { Watchdog } from './watchdog';

/** Says what is stale, since when, and what is being done about it. */
@Component({
  selector: 'pm-banner',
  template: `
    <div aria-live="assertive">
      @for (trouble of watchdog.troubles(); track trouble.what) {
        <p class="trouble" [class.stale]="trouble.stale">
          <strong>{{ trouble.what }}</strong> since {{ time(trouble.since) }}
          <span class="number" aria-hidden="true">({{ since(trouble.since) }})</span>. {{ trouble.doing }}
        </p>
      }
    </div>
  `,
  styles: `
    .trouble {
      background: var(--warn-soft);
      border-bottom: 1px solid var(--line);
      color: var(--warn);
      padding: 8px 14px;
    }
    .stale {
      background: var(--bad-soft);
      color: var(--bad);
    }
  `,
  changeDetection: ChangeDetectionStrategy.OnPush,
})
export class Banner {
  protected readonly watchdog = inject(Watchdog);
  protected readonly time = clockTime;

  protected since(at: number): string {
    return ago(this.watchdog.clock() - at);
  }
}
