import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { DhTable, JsApi } from './jsapi';
import { TableView, type Window } from './live-view';

/** A table of the JS API with one column, and the viewport subscriptions that are open on it. */
class FakeTable {
  readonly columns = [{ name: 'id', type: 'int' }];
  readonly listeners = new Set<(event: { detail: unknown }) => void>();
  size = 3;
  totalSize = 5;
  closed = 0;

  createViewportSubscription(): unknown {
    return {
      addEventListener: (_: string, listener: (event: { detail: unknown }) => void) => {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
      },
      close: () => this.closed++,
    };
  }

  /** The server says which rows there are. */
  update(): void {
    const rows = Array.from({ length: this.size }, (_, id) => ({ get: () => id }));
    this.listeners.forEach((listener) => listener({ detail: { offset: 0, rows } }));
  }
}

describe('the rows that a filter hides', () => {
  let table: FakeTable;
  let windows: Window[];
  let close: () => void;

  beforeEach(() => {
    vi.useFakeTimers();
    table = new FakeTable();
    windows = [];
    const view = new TableView({} as JsApi, table as unknown as DhTable, 100);
    close = view.subscribe({ first: 0, last: 9 }, (window) => windows.push(window)).close;
  });
  afterEach(() => vi.useRealTimers());

  function counts(): string[] {
    return windows.map(({ rows, size, total }) => `${rows.length}: ${size} of ${total}`);
  }

  it('are counted within a second though no event tells of them', () => {
    table.update();
    table.totalSize = 6;
    vi.advanceTimersByTime(1000);
    expect(counts()).toEqual(['3: 3 of 5', '3: 3 of 6']);
  });

  it('are not counted before there is anything to show', () => {
    vi.advanceTimersByTime(5000);
    expect(counts()).toEqual([]);
  });

  it('are never fewer than none, when the rows come before the count of all', () => {
    table.totalSize = 0;
    table.update();
    vi.advanceTimersByTime(5000);
    table.totalSize = 5;
    vi.advanceTimersByTime(1000);
    expect(counts()).toEqual(['3: 3 of 3', '3: 3 of 5']);
  });

  it('leave no timer and no listener behind', () => {
    table.update();
    close();
    table.totalSize = 9;
    vi.advanceTimersByTime(5000);
    expect(counts()).toEqual(['3: 3 of 5']);
    expect([vi.getTimerCount(), table.listeners.size, table.closed]).toEqual([0, 0, 1]);
  });
});
