import { Injectable, signal } from '@angular/core';

const STORED = 'pointsman.viewer-key';

/**
 * The viewer's access key: typed once, or in the address's fragment (`#key=…`), which never leaves the browser. Kept
 * for this tab only, and taken out of the address at once.
 */
@Injectable({ providedIn: 'root' })
export class ViewerKey {
  private readonly current = signal(fromAddress() ?? sessionStorage.getItem(STORED) ?? '');
  readonly value = this.current.asReadonly();

  constructor() {
    this.set(this.current());
  }

  set(key: string): void {
    this.current.set(key);
    if (key === '') {
      sessionStorage.removeItem(STORED);
    } else {
      sessionStorage.setItem(STORED, key);
    }
  }
}

function fromAddress(): string | null {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const key = fragment.get('key');
  if (key === null) {
    return null;
  }
  fragment.delete('key');
  const rest = fragment.toString();
  history.replaceState(history.state, '', location.pathname + location.search + (rest === '' ? '' : `#${rest}`));
  return key;
}
