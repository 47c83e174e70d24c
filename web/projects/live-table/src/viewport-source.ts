import type { LiveRow } from './cells';
import type { LiveView, RowRange, Window, WindowSubscription } from './live-view';
import { sameOrder, UNORDERED, type FilterModel, type Order, type SortItem } from './order';

/** What AG Grid's infinite row model asks of a data source; its own type fits. */
export interface RowsRequest {
  readonly startRow: number;
  readonly endRow: number;
  readonly sortModel: readonly SortItem[];
  readonly filterModel: FilterModel | null;
  successCallback(rows: LiveRow[], lastRow?: number): void;
  failCallback(): void;
}

/** Rows kept live on each side of those on screen, so that a small scroll shows no gap. */
const MARGIN = 60;
/** The widest window ever asked of the server. */
const WIDEST = 600;
/** Requests that wait at once; the oldest beyond that is given up (the grid has long scrolled away). */
const MOST_PENDING = 20;
/** How long a table that comes back empty is not believed: a server that has just started is still reading. */
const HOLD_MS = 30_000;

/**
 * Feeds one grid from one table through one viewport subscription.
 *
 * - The subscription follows the rows on screen, and is replaced only when the order changes or a new table is
 *   attached: never by scrolling, never by a switch.
 * - One move of the window is under way at a time; when it arrives, the newest wish is next.
 * - Every request is answered once, with rows of the order it was made in, or failed.
 * - A view that replaces another and is empty at first changes nothing until it has rows, or `HOLD_MS` have passed.
 * - After `destroy` nothing is called any more and nothing is left open.
 */
export class ViewportSource {
  private view: LiveView | null = null;
  private subscription: WindowSubscription | null = null;
  private asked: RowRange = { first: 0, last: 0 };
  private moving = false;
  private latest: Window | null = null;
  private pending: RowsRequest[] = [];
  private shown: RowRange = { first: 0, last: 0 };
  private current: Order = UNORDERED;
  private search = '';
  private destroyed = false;
  private hadRows = false;
  private holding: ReturnType<typeof setTimeout> | null = null;
  private held: Window | null = null;

  constructor(
    private readonly onWindow: (window: Window) => void,
    /** Called with true when what is on screen is from before, and with false when it no longer is. */
    private readonly onHold: (holding: boolean) => void = () => undefined,
  ) {}

  get order(): Order {
    return this.current;
  }

  /** The view that feeds the grid now; for exports. */
  get attached(): LiveView | null {
    return this.view;
  }

  /** Feeds the grid from this view from now on, in the order it has. Takes ownership of the view. */
  attach(view: LiveView): void {
    if (this.destroyed) {
      view.close();
      return;
    }
    this.detach();
    this.view = view;
    if (this.hadRows) {
      this.holding = setTimeout(() => this.letGo(this.held), HOLD_MS);
    }
    view.order(this.current);
    this.subscribe();
  }

  /** Lets go of the view: its table or its connection is gone. Requests wait for the next `attach`. */
  detach(): void {
    this.letGo(null);
    this.endSubscription();
    const view = this.view;
    this.view = null;
    quietly(() => view?.close());
  }

  /** Words to look for in every column; in force from the grid's next request on. */
  setSearch(text: string): void {
    this.search = text;
  }

  getRows(request: RowsRequest): void {
    if (this.destroyed) {
      request.failCallback();
      return;
    }
    const order: Order = { sort: request.sortModel, filter: request.filterModel ?? {}, search: this.search };
    if (!sameOrder(order, this.current)) {
      this.reorder(order, request);
      return;
    }
    this.pending.push(request);
    while (this.pending.length > MOST_PENDING) {
      this.pending.shift()?.failCallback();
    }
    if (this.latest !== null) {
      this.answer(this.latest);
    }
    this.advance();
  }

  /** The rows that are on screen now. */
  show(range: RowRange): void {
    this.shown = range;
    this.advance();
  }

  destroy(): void {
    this.destroyed = true;
    this.detach();
    this.failPending();
  }

  private reorder(order: Order, first: RowsRequest): void {
    this.failPending();
    this.pending = [first];
    this.current = order;
    this.shown = { first: 0, last: 0 };
    if (this.view !== null) {
      this.view.order(order);
      this.subscribe();
    }
  }

  private subscribe(): void {
    this.endSubscription();
    const view = this.view;
    if (view === null) {
      return;
    }
    this.asked = this.wanted();
    this.moving = true;
    const subscription = view.subscribe(this.asked, (window) => {
      if (this.subscription === subscription) {
        this.arrived(window);
      }
    });
    this.subscription = subscription;
  }

  private arrived(window: Window): void {
    if (this.holding !== null) {
      if (window.total === 0) {
        this.held = window;
        this.onHold(true);
        return;
      }
      this.letGo(null);
    }
    this.hadRows ||= window.total > 0;
    this.latest = window;
    if (holds(window, this.asked)) {
      this.moving = false;
    }
    this.answer(window);
    this.onWindow(window);
    this.advance();
  }

  /** Holds no longer, and believes this window if it is given. */
  private letGo(window: Window | null): void {
    if (this.holding === null) {
      return;
    }
    clearTimeout(this.holding);
    this.holding = this.held = null;
    this.onHold(false);
    if (window !== null) {
      this.arrived(window);
    }
  }

  private answer(window: Window): void {
    const ready = this.pending.filter((request) => holds(window, rangeOf(request)));
    this.pending = this.pending.filter((request) => !ready.includes(request));
    for (const request of ready) {
      const rows = window.rows.slice(request.startRow - window.offset, request.endRow - window.offset);
      request.successCallback(rows, window.size);
    }
  }

  private advance(): void {
    if (this.subscription === null || this.moving) {
      return;
    }
    const needed = this.needed();
    if (needed.first >= this.asked.first && needed.last <= this.asked.last) {
      return;
    }
    this.asked = this.wanted();
    this.moving = true;
    this.subscription.move(this.asked);
  }

  /** Rows on screen and requests near them: what must be inside the window. */
  private needed(): RowRange {
    return [...this.pending].reverse().reduce((range, request) => {
      const hull = union(range, rangeOf(request));
      return hull.last - hull.first < WIDEST ? hull : range;
    }, this.nearest());
  }

  private wanted(): RowRange {
    const { first, last } = this.needed();
    return { first: Math.max(0, first - MARGIN), last: last + MARGIN };
  }

  /** The rows on screen; before the grid has said which, those it asked for last. */
  private nearest(): RowRange {
    const newest = this.pending.at(-1);
    return this.shown.last === 0 && newest !== undefined ? rangeOf(newest) : this.shown;
  }

  private endSubscription(): void {
    const subscription = this.subscription;
    this.subscription = null;
    this.latest = null;
    this.moving = false;
    quietly(() => subscription?.close());
  }

  private failPending(): void {
    const pending = this.pending;
    this.pending = [];
    for (const request of pending) {
      request.failCallback();
    }
  }
}

function rangeOf(request: RowsRequest): RowRange {
  return { first: request.startRow, last: request.endRow - 1 };
}

function union(a: RowRange, b: RowRange): RowRange {
  return { first: Math.min(a.first, b.first), last: Math.max(a.last, b.last) };
}

/** Whether the window has every row of the range that exists. */
function holds(window: Window, range: RowRange): boolean {
  const last = Math.min(range.last, window.size - 1);
  return range.first > last || (window.offset <= range.first && window.offset + window.rows.length > last);
}

/** Closing what the server has already closed is no news. */
function quietly(action: () => void): void {
  try {
    action();
  } catch {
    // the connection it belonged to is gone
  }
}
