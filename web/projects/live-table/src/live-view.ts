import { liveColumns, toCell, type LiveColumn, type LiveRow } from './cells';
import type { DhColumn, DhTable, JsApi } from './jsapi';
import type { Order } from './order';
import { serverOrder } from './server-order';

/** Rows `first` to `last`, both counted, as positions in the ordered view. */
export interface RowRange {
  readonly first: number;
  readonly last: number;
}

/** What the server said: the rows from `offset` on, and how many there are in all. */
export interface Window {
  readonly offset: number;
  readonly rows: readonly LiveRow[];
  readonly size: number;
  /** Rows without any filter. */
  readonly total: number;
}

export interface WindowSubscription {
  move(range: RowRange): void;
  /** Ends it; its listener is never called again. */
  close(): void;
}

/** One table seen in one order at a time: what a data source needs of a table, and all it needs. */
export interface LiveView {
  readonly columns: readonly LiveColumn[];
  order(order: Order): void;
  subscribe(range: RowRange, listener: (window: Window) => void): WindowSubscription;
  /** Rows read once, in the current order: for exports. */
  read(range: RowRange): Promise<readonly LiveRow[]>;
  close(): void;
}

const UPDATED = 'updated';
const COUNT_EVERY_MS = 1000;

/** A LiveView on a table of the Deephaven JS API. It owns the table and closes it. */
export class TableView implements LiveView {
  readonly columns: readonly LiveColumn[];

  constructor(
    private readonly api: JsApi,
    private readonly table: DhTable,
    private readonly intervalMs: number,
  ) {
    this.columns = liveColumns(table.columns);
  }

  order(order: Order): void {
    const { sorts, filters } = serverOrder(this.api, this.table.columns, order);
    this.table.applySort(sorts);
    this.table.applyFilter(filters);
  }

  /** A subscription stays with the order it was made in: after `order`, subscribe again. */
  subscribe(range: RowRange, listener: (window: Window) => void): WindowSubscription {
    const columns = this.table.columns;
    const subscription = this.table.createViewportSubscription({
      rows: { first: range.first, last: range.last },
      columns,
      updateIntervalMs: this.intervalMs,
    });
    let asked = range;
    let latest: { readonly range: RowRange; readonly window: Window } | null = null;
    const deliver = (seen: RowRange, rows: readonly LiveRow[]): void => {
      const { size, total } = this.counts(seen, rows.length);
      latest = { range: seen, window: { offset: seen.first, rows, size, total } };
      listener(latest.window);
    };
    // An update is always one of the range that was asked for last.
    const remove = subscription.addEventListener<RowSet>(UPDATED, ({ detail }) => deliver(asked, readRows(detail, columns)));
    // No event tells of a row that comes or goes where a filter hides it, nor of a size that comes after its rows.
    const timer = setInterval(() => {
      if (latest !== null) {
        const { range: seen, window } = latest;
        const { size, total } = this.counts(seen, window.rows.length);
        if (size !== window.size || total !== window.total) {
          deliver(seen, window.rows);
        }
      }
    }, COUNT_EVERY_MS);
    return {
      move: (to) => {
        asked = to;
        subscription.update({ rows: { first: to.first, last: to.last }, columns });
      },
      close: () => {
        clearInterval(timer);
        remove();
        subscription.close();
      },
    };
  }

  /**
   * Sizes come by a stream of their own, before or after the rows that they count. So the rows bound them: a window
   * that is not full shows where the table ends, and there are never fewer rows than a filter leaves.
   */
  private counts(range: RowRange, rows: number): { readonly size: number; readonly total: number } {
    const told = Math.max(0, this.table.size);
    const end = range.first + rows;
    const size = end > range.last ? Math.max(end, told) : rows > 0 ? end : Math.min(range.first, told);
    return { size, total: this.table.filter.length === 0 ? size : Math.max(size, this.table.totalSize) };
  }

  async read(range: RowRange): Promise<readonly LiveRow[]> {
    const rows = this.api.RangeSet.ofRange(range.first, range.last);
    const columns = this.table.columns;
    return readRows(await this.table.createSnapshot({ rows, columns }), columns);
  }

  close(): void {
    this.table.close();
  }
}

interface RowSet {
  readonly rows: readonly { get(column: DhColumn): unknown }[];
}

function readRows(data: RowSet, columns: readonly DhColumn[]): LiveRow[] {
  return data.rows.map((row) => Object.fromEntries(columns.map((column) => [column.name, toCell(row.get(column))])));
}
