import { computed, Injectable, signal } from '@angular/core';

const STORED = 'pointsman.operator-key';

/** The operator's key: typed here, kept for this tab, sent with control messages and nowhere else. */
@Injectable({ providedIn: 'root' })
export class OperatorKey {
  private readonly current = signal(sessionStorage.getItem(STORED) ?? '');
  readonly value = this.current.asReadonly();
  readonly present = computed(() => this.current() !== '');

  set(key: string): void {
    this.current.set(key);
    if (key === '') {
      sessionStorage.removeItem(STORED);
    } else {
      sessionStorage.setItem(STORED, key);
    }
  }
}
