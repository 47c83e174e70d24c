import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { DhTable, JsApi } from './jsapi';
import { TableView, type Window, type WindowSubscription } from './live-view';

/** A table of the JS API with one column, whose rows and sizes come when the test says so, each by its own way. */
class FakeTable {
  readonly columns = [{ name: 'id', type: 'int' }];
  filter: unknown[] = [];
  readonly listeners = new Set<(event: { detail: unknown }) => void>();
  /** What the stream of sizes has told: nothing yet. */
  size = -1;
  totalSize = -1;
  closed = 0;
  private viewport = { first: 0, last: 0 };

  createViewportSubscription({ rows }: { rows: { first: number; last: number } }): unknown {
    this.viewport = rows;
    return {
      addEventListener: (_: string, listener: (event: { detail: unknown }) => void) => {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
      },
      update: (options: { rows: { first: number; last: number } }) => (this.viewport = options.rows),
      close: () => this.closed++,
    };
  }

  /** The server sends those rows of the viewport that a table of so many rows has. */
  update(count: number): void {
    const { first, last } = this.viewport;
    const length = Math.max(0, Math.min(last, count - 1) - first + 1);
    const rows = Array.from({ length }, (_, row) => ({ get: () => first + row }));
    this.listeners.forEach((listener) => listener({ detail: { offset: first, rows } }));
  }

  /** The stream of sizes tells. */
  tell(size: number, totalSize = size): void {
    this.size = size;
    this.totalSize = totalSize;
  }
}

let table: FakeTable;
let windows: Window[];
let subscription: WindowSubscription;

function subscribe(first: number, last: number): void {
  const view = new TableView({} as JsApi, table as unknown as DhTable, 100);
  subscription = view.subscribe({ first, last }, (window) => windows.push(window));
}

function counts(): string[] {
  return windows.map(({ offset, rows, size, total }) => `${offset}+${rows.length}: ${size} of ${total}`);
}

beforeEach(() => {
  vi.useFakeTimers();
  table = new FakeTable();
  windows = [];
});
afterEach(() => vi.useRealTimers());

describe('the size of a table', () => {
  it('is corrected within a second when it is told after the rows', () => {
    subscribe(200, 299);
    table.tell(0);
    table.update(0);
    table.update(2000);
    table.tell(2000);
    vi.advanceTimersByTime(1000);
    expect(counts()).toEqual(['200+0: 0 of 0', '200+100: 300 of 300', '200+100: 2000 of 2000']);
  });

  it('is where the rows end, whatever was told', () => {
    subscribe(200, 299);
    table.tell(0);
    table.update(250);
    table.tell(9000);
    vi.advanceTimersByTime(1000);
    expect(counts()).toEqual(['200+50: 250 of 250']);
  });

  it('is not beyond a window that no longer has rows', () => {
    subscribe(200, 299);
    table.tell(2000);
    table.update(100);
    table.tell(100);
    vi.advanceTimersByTime(1000);
    expect(counts()).toEqual(['200+0: 200 of 200', '200+0: 100 of 100']);
  });

  it('is counted with the rows on hand while the window is moving', () => {
    subscribe(0, 99);
    table.tell(150);
    table.update(150);
    subscription.move({ first: 100, last: 199 });
    table.tell(160);
    vi.advanceTimersByTime(1000);
    table.update(160);
    expect(counts()).toEqual(['0+100: 150 of 150', '0+100: 160 of 160', '100+60: 160 of 160']);
  });

  it('is not told before there is anything to show', () => {
    subscribe(0, 9);
    table.tell(3, 5);
    vi.advanceTimersByTime(5000);
    expect(counts()).toEqual([]);
  });
});

describe('the rows that a filter hides', () => {
  beforeEach(() => {
    table.filter = ['some'];
    subscribe(0, 9);
  });

  it('are counted within a second though no event tells of them', () => {
    table.tell(3, 5);
    table.update(3);
    table.tell(3, 6);
    vi.advanceTimersByTime(1000);
    expect(counts()).toEqual(['0+3: 3 of 5', '0+3: 3 of 6']);
  });

  it('are never fewer than none, when the rows come before the count of all', () => {
    table.tell(0, 0);
    table.update(3);
    vi.advanceTimersByTime(5000);
    table.tell(3, 5);
    vi.advanceTimersByTime(1000);
    expect(counts()).toEqual(['0+3: 3 of 3', '0+3: 3 of 5']);
  });

  it('leave no timer and no listener behind', () => {
    table.tell(3, 5);
    table.update(3);
    subscription.close();
    table.tell(3, 9);
    vi.advanceTimersByTime(5000);
    expect(counts()).toEqual(['0+3: 3 of 5']);
    expect([vi.getTimerCount(), table.listeners.size, table.closed]).toEqual([0, 0, 1]);
  });
});
