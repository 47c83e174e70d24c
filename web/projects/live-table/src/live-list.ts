import { DestroyRef, effect, inject, signal, untracked, type Signal } from '@angular/core';

import type { LiveRow } from './cells';
import { TablesConnection } from './connection';
import type { LiveView, WindowSubscription } from './live-view';

export interface LiveListOptions {
  /** At most this many rows, from the top: lists that grow have their newest row there. */
  readonly limit?: number;
  readonly intervalMs?: number;
}

export interface LiveList {
  readonly rows: Signal<readonly LiveRow[]>;
  readonly size: Signal<number>;
}

const RETRY_MS = 1000;

/**
 * A small table as a signal, for the life of the caller (call it in an injection context). It outlives lost
 * connections: rows stay as they were last seen until the next session brings them anew.
 */
export function liveList(table: string, options: LiveListOptions = {}): LiveList {
  const connection = inject(TablesConnection);
  const limit = options.limit ?? 100;
  const rows = signal<readonly LiveRow[]>([]);
  const size = signal(0);
  let view: LiveView | null = null;
  let subscription: WindowSubscription | null = null;
  let turn = 0;

  const release = (): void => {
    turn++;
    try {
      subscription?.close();
      view?.close();
    } catch {
      // the connection they belonged to is gone
    }
    subscription = view = null;
  };

  const acquire = async (): Promise<void> => {
    release();
    const mine = turn;
    try {
      const acquired = await connection.acquire(table, options.intervalMs);
      if (mine !== turn) {
        acquired.close();
        return;
      }
      view = acquired;
      subscription = acquired.subscribe({ first: 0, last: limit - 1 }, (window) => {
        if (mine === turn) {
          rows.set(window.rows);
          size.set(window.size);
        }
      });
    } catch {
      setTimeout(() => {
        if (mine === turn && connection.connected()) {
          void acquire();
        }
      }, RETRY_MS);
    }
  };

  effect(() => {
    connection.epoch();
    if (connection.connected()) {
      untracked(() => void acquire());
    } else {
      untracked(release);
    }
  });
  inject(DestroyRef).onDestroy(release);
  return { rows: rows.asReadonly(), size: size.asReadonly() };
}
