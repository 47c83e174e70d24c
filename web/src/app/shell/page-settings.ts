import { Injectable } from '@angular/core';

/** What the web server wrote into this page: where the tables server is, and the nonce that styles carry. */
@Injectable({ providedIn: 'root' })
export class PageSettings {
  readonly tablesUrl = document.querySelector<HTMLMetaElement>('meta[name="pointsman-tables"]')?.content ?? '';
  readonly styleNonce = document.querySelector<HTMLElement>('pm-root')?.getAttribute('ngCspNonce') ?? '';
}
