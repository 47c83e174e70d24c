import { effect, Injectable, signal } from '@angular/core';

export type ThemeChoice = 'system' | 'light' | 'dark';

const STORED = 'pointsman.theme';
const NEXT: Record<ThemeChoice, ThemeChoice> = { system: 'light', light: 'dark', dark: 'system' };

/** Light, dark, or what the system says; the choice is kept per user. */
@Injectable({ providedIn: 'root' })
export class Theme {
  private readonly current = signal<ThemeChoice>(stored());
  readonly choice = this.current.asReadonly();

  constructor() {
    effect(() => {
      const choice = this.current();
      localStorage.setItem(STORED, choice);
      if (choice === 'system') {
        delete document.documentElement.dataset['theme'];
      } else {
        document.documentElement.dataset['theme'] = choice;
      }
    });
  }

  next(): void {
    this.current.update((choice) => NEXT[choice]);
  }
}

function stored(): ThemeChoice {
  const value = localStorage.getItem(STORED);
  return value === 'light' || value === 'dark' ? value : 'system';
}
