import { ChangeDetectionStrategy, Component, computed, ElementRef, input, output, viewChild, afterNextRender } from '@angular/core';
import { instantText, type LiveRow } from '@pointsman/live-table';

import { epochMs } from './system-status';

/** One dead letter in full: where it stood, why it was refused, and its bytes as text. */
@Component({
  selector: 'pm-dead-letter',
  template: `
    <dialog #box aria-labelledby="letter-title" (close)="closed.emit()">
      <h2 id="letter-title">Dead letter</h2>
      <dl>
        @for (item of facts(); track item.name) {
          <dt>{{ item.name }}</dt>
          <dd class="text">{{ item.value }}</dd>
        }
      </dl>
      <h3>Payload</h3>
      <pre class="text" tabindex="0">{{ payload() }}</pre>
      <form method="dialog"><button class="primary">Close</button></form>
    </dialog>
  `,
  styles: `
    dialog {
      background: var(--raised);
      border: 1px solid var(--line);
      border-radius: 12px;
      box-shadow: var(--shadow);
      color: var(--text);
      max-height: 86vh;
      max-width: min(720px, 94vw);
      padding: 18px;
      width: 720px;
    }
    dialog::backdrop {
      background: rgb(8 14 20 / 45%);
    }
    dl {
      display: grid;
      gap: 3px 14px;
      grid-template-columns: max-content minmax(0, 1fr);
      margin: 12px 0;
    }
    dt {
      color: var(--muted);
    }
    dd {
      margin: 0;
    }
    pre {
      background: var(--ground);
      border: 1px solid var(--line);
      border-radius: 8px;
      font: 12.5px/1.5 var(--mono);
      margin: 6px 0 14px;
      max-height: 40vh;
      overflow: auto;
      padding: 10px;
      white-space: pre-wrap;
    }
  `,
  changeDetection: ChangeDetectionStrategy.OnPush,
})
export class DeadLetter {
  readonly row = input.required<LiveRow>();
  readonly closed = output();
  private readonly box = viewChild.required<ElementRef<HTMLDialogElement>>('box');

  protected readonly facts = computed(() =>
    Object.entries(this.row())
      .filter(([name, value]) => name !== 'payload' && value !== null && value !== '')
      .map(([name, value]) => ({ name, value: name === 'ts' ? instantText(epochMs(value) ?? 0) : String(value) })),
  );
  protected readonly payload = computed(() => payloadText(String(this.row()['payload'] ?? '')));

  constructor() {
    afterNextRender(() => this.box().nativeElement.showModal());
  }
}

/** Base64 as the text it holds; bytes that are no UTF-8 are shown as replacement characters. */
export function payloadText(base64: string): string {
  try {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    return new TextDecoder().decode(bytes);
  } catch {
    return base64;
  }
}
