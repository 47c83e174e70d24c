import { afterEach, describe, expect, it, vi } from 'vitest';

import type { LiveColumn, LiveRow } from './cells';
import type { LiveView, RowRange, Window, WindowSubscription } from './live-view';
import type { Order, SortItem } from './order';
import { ViewportSource, type RowsRequest } from './viewport-source';

/** A table of `size` rows that answers when the test says so, and remembers every call in order. */
class FakeView implements LiveView {
  readonly columns: readonly LiveColumn[] = [{ name: 'id', kind: 'number' }];
  readonly calls: string[] = [];
  readonly open = new Set<FakeSubscription>();
  latest: FakeSubscription | null = null;
  closed = false;

  constructor(public size: number) {}

  order(order: Order): void {
    this.calls.push(`order ${order.sort.map((s) => `${s.colId}:${s.sort}`).join()}|${order.search}`);
  }

  subscribe(range: RowRange, listener: (window: Window) => void): WindowSubscription {
    this.calls.push(`subscribe ${range.first}-${range.last}`);
    this.latest = new FakeSubscription(this, range, listener);
    this.open.add(this.latest);
    return this.latest;
  }

  read(): Promise<readonly LiveRow[]> {
    return Promise.resolve([]);
  }

  close(): void {
    this.closed = true;
  }

  /** The server answers the newest subscription for the range it was last asked for. */
  answer(): void {
    this.latest?.deliver();
  }
}

class FakeSubscription implements WindowSubscription {
  constructor(
    private readonly view: FakeView,
    public range: RowRange,
    private readonly listener: (window: Window) => void,
  ) {}

  move(range: RowRange): void {
    this.view.calls.push(`move ${range.first}-${range.last}`);
    this.range = range;
  }

  close(): void {
    this.view.calls.push('close');
    this.view.open.delete(this);
  }

  deliver(range = this.range): void {
    const { size } = this.view;
    const rows: LiveRow[] = [];
    for (let id = range.first; id <= Math.min(range.last, size - 1); id++) {
      rows.push({ id });
    }
    this.listener({ offset: range.first, rows, size, total: size });
  }
}

interface Asked extends RowsRequest {
  answers: { rows: LiveRow[]; lastRow: number | undefined }[];
  failures: number;
}

function ask(startRow: number, sortModel: SortItem[] = [], endRow = startRow + 100): Asked {
  const asked: Asked = {
    startRow,
    endRow,
    sortModel,
    filterModel: {},
    answers: [],
    failures: 0,
    successCallback: (rows, lastRow) => asked.answers.push({ rows, lastRow }),
    failCallback: () => asked.failures++,
  };
  return asked;
}

function started(size: number): { view: FakeView; source: ViewportSource; windows: Window[] } {
  const view = new FakeView(size);
  const windows: Window[] = [];
  const source = new ViewportSource((window) => windows.push(window));
  return { view, source, windows };
}

describe('ViewportSource', () => {
  it('orders the view before it subscribes to it', () => {
    const { view, source } = started(1000);
    source.getRows(ask(0, [{ colId: 'id', sort: 'desc' }]));
    source.attach(view);
    expect(view.calls[0]).toBe('order id:desc|');
    expect(view.calls[1]).toMatch(/^subscribe 0-/);
  });

  it('answers a request with its rows and the number of all rows', () => {
    const { view, source } = started(1000);
    const request = ask(0);
    source.getRows(request);
    source.attach(view);
    expect(request.answers).toHaveLength(0);
    view.answer();
    expect(request.answers[0]?.rows.map((row) => row['id'])).toEqual(Array.from({ length: 100 }, (_, i) => i));
    expect(request.answers[0]?.lastRow).toBe(1000);
  });

  it('keeps one subscription while the grid scrolls', () => {
    const { view, source } = started(100_000);
    source.attach(view);
    view.answer();
    for (let first = 0; first < 50_000; first += 5_000) {
      source.getRows(ask(first));
      source.show({ first, last: first + 30 });
      view.answer();
    }
    expect(view.calls.filter((call) => call.startsWith('subscribe'))).toHaveLength(1);
    expect(view.open.size).toBe(1);
  });

  it('has one move under way at a time, and then goes where the grid is by then', () => {
    const { view, source } = started(100_000);
    source.attach(view);
    view.answer();
    source.show({ first: 10_000, last: 10_030 });
    source.show({ first: 20_000, last: 20_030 });
    source.show({ first: 30_000, last: 30_030 });
    expect(view.calls.filter((call) => call.startsWith('move'))).toEqual(['move 9940-10090']);
    view.answer();
    expect(view.calls.filter((call) => call.startsWith('move'))).toEqual(['move 9940-10090', 'move 29940-30090']);
  });

  it('does not take an update of the old window for the arrival of the new one', () => {
    const { view, source } = started(100_000);
    source.attach(view);
    view.answer();
    const before = view.latest?.range;
    source.show({ first: 10_000, last: 10_030 });
    view.latest?.deliver(before);
    source.show({ first: 20_000, last: 20_030 });
    expect(view.calls.filter((call) => call.startsWith('move'))).toEqual(['move 9940-10090']);
  });

  it('fails the requests of an order that was replaced, and never answers them with rows of the new one', () => {
    const { view, source } = started(1000);
    source.attach(view);
    const old = ask(0);
    source.getRows(old);
    const stale = view.latest;
    const now = ask(0, [{ colId: 'id', sort: 'asc' }]);
    source.getRows(now);
    expect(old.failures).toBe(1);
    stale?.deliver();
    expect([old.answers, now.answers]).toEqual([[], []]);
    view.answer();
    expect(now.answers).toHaveLength(1);
    expect(old.answers).toHaveLength(0);
    expect(view.open.size).toBe(1);
  });

  it('searches from the next request on', () => {
    const { view, source } = started(1000);
    source.attach(view);
    source.setSearch('smith');
    source.getRows(ask(0));
    expect(view.calls).toContain('order |smith');
  });

  it('answers requests behind the last row with nothing', () => {
    const { view, source } = started(5);
    source.attach(view);
    const behind = ask(100);
    source.getRows(behind);
    view.answer();
    expect(behind.answers).toEqual([{ rows: [], lastRow: 5 }]);
  });

  it('gives up the oldest of many requests instead of keeping them for ever', () => {
    const { source } = started(100_000);
    const requests = Array.from({ length: 30 }, (_, i) => ask(i * 1000));
    requests.forEach((request) => source.getRows(request));
    expect(requests.filter((request) => request.failures > 0)).toHaveLength(10);
    expect(requests[29]?.failures).toBe(0);
  });

  it('goes on with the same order and rows when a new view takes the place of a lost one', () => {
    const { view, source, windows } = started(100_000);
    source.setSearch('x');
    source.getRows(ask(0));
    source.attach(view);
    view.answer();
    source.show({ first: 500, last: 540 });
    view.answer();
    source.detach();
    expect([view.open.size, view.closed]).toEqual([0, true]);
    const next = new FakeView(100_000);
    source.attach(next);
    next.answer();
    expect(next.calls[0]).toBe('order |x');
    expect(windows.at(-1)?.offset).toBeLessThanOrEqual(500);
    expect((windows.at(-1)?.offset ?? 0) + (windows.at(-1)?.rows.length ?? 0)).toBeGreaterThan(540);
  });

  it('shows fewer rows when the table shrinks under it', () => {
    const { view, source, windows } = started(100_000);
    source.attach(view);
    source.show({ first: 90_000, last: 90_030 });
    view.answer();
    view.size = 10;
    view.answer();
    expect(windows.at(-1)?.size).toBe(10);
  });

  it('leaves nothing open and calls nobody after destroy', () => {
    const { view, source, windows } = started(1000);
    source.attach(view);
    view.answer();
    const waiting = ask(500);
    source.getRows(waiting);
    const listener = view.latest;
    source.destroy();
    const seen = windows.length;
    listener?.deliver();
    expect(windows).toHaveLength(seen);
    expect([view.open.size, view.closed, waiting.failures]).toEqual([0, true, 1]);
    const late = ask(0);
    source.getRows(late);
    expect(late.failures).toBe(1);
    const never = new FakeView(1);
    source.attach(never);
    expect([never.closed, never.open.size]).toEqual([true, 0]);
  });
});

describe('a view that replaces another', () => {
  afterEach(() => vi.useRealTimers());

  function restarted(): { source: ViewportSource; windows: Window[]; holds: boolean[]; fresh: FakeView } {
    vi.useFakeTimers();
    const windows: Window[] = [];
    const holds: boolean[] = [];
    const source = new ViewportSource(
      (window) => windows.push(window),
      (holding) => holds.push(holding),
    );
    const old = new FakeView(1000);
    source.attach(old);
    old.answer();
    source.detach();
    const fresh = new FakeView(0);
    source.attach(fresh);
    fresh.answer();
    return { source, windows, holds, fresh };
  }

  it('changes nothing while it is empty, and says so', () => {
    const { windows, holds } = restarted();
    expect(windows.map(({ size }) => size)).toEqual([1000]);
    expect(holds).toEqual([true]);
  });

  it('takes over with its first rows', () => {
    const { windows, holds, fresh } = restarted();
    fresh.size = 1001;
    fresh.answer();
    expect(windows.map(({ size }) => size)).toEqual([1000, 1001]);
    expect(holds).toEqual([true, false]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is believed to be empty after a while', () => {
    const { windows, holds } = restarted();
    vi.advanceTimersByTime(30_000);
    expect(windows.map(({ size }) => size)).toEqual([1000, 0]);
    expect(holds).toEqual([true, false]);
  });

  it('leaves no timer when the source is destroyed', () => {
    const { source, windows } = restarted();
    source.destroy();
    vi.advanceTimersByTime(60_000);
    expect(windows).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});
