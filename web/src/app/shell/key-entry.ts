import { ChangeDetectionStrategy, Component, inject, input } from '@angular/core';

import { ViewerKey } from './viewer-key';

/** Asks for the viewer's access key. */
@Component({
  selector: 'pm-key-entry',
  template: `
    <form (submit)="$event.preventDefault(); key.set(field.value.trim())">
      <img src="points.svg" alt="" width="48" height="48" />
      <h1>Pointsman</h1>
      <label for="viewer-key">Access key of the tables</label>
      <input #field id="viewer-key" type="password" autocomplete="off" autofocus required [attr.aria-invalid]="refused() || null" />
      @if (refused()) {
        <p class="refused" role="alert">The tables server does not accept this key.</p>
      }
      <button class="primary">Show the tables</button>
      <p class="muted">The key is kept for this tab only. An address that ends in <code>#key=…</code> brings it along.</p>
    </form>
  `,
  styles: `
    :host {
      display: grid;
      flex: 1;
      padding: 24px;
      place-items: center;
    }
    form {
      background: var(--raised);
      border: 1px solid var(--line);
      border-radius: 14px;
      box-shadow: var(--shadow);
      display: grid;
      gap: 10px;
      max-width: 380px;
      padding: 28px;
      width: 100%;
    }
    h1 {
      font-size: 20px;
    }
    label {
      font-weight: 600;
    }
    .refused {
      color: var(--bad);
    }
    .muted {
      font-size: 12.5px;
    }
  `,
  changeDetection: ChangeDetectionStrategy.OnPush,
})
export class KeyEntry {
  readonly refused = input(false);
  protected readonly key = inject(ViewerKey);
}
