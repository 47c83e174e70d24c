import {
  ChangeDetectionStrategy,
  Component,
  computed,
  DestroyRef,
  effect,
  ElementRef,
  inject,
  input,
  model,
  output,
  signal,
  untracked,
  viewChild,
} from '@angular/core';
import {
  TablesConnection,
  ViewportSource,
  type LiveColumn,
  type LiveRow,
  type SortItem,
  type Window,
} from '@pointsman/live-table';
import { AgGridAngular } from 'ag-grid-angular';
import type { ColDef, GridApi, GridOptions, IDatasource } from 'ag-grid-community';

import { PageSettings } from '../shell/page-settings';
import { columnDefinitions } from './column-definitions';
import { forgetColumns, rememberColumns, rememberedColumns } from './column-memory';
import { CsvDownload } from './csv-download';
import { GRID_LOOK } from './grid-look';
import { rowCount } from './row-count';
import { showRows } from './shown-rows';

const ACQUIRE_AGAIN_MS = 1000;
const TYPING_PAUSE_MS = 200;

/**
 * One table of the tables server in a grid: ordered and narrowed on the server, updated in place. A lost connection
 * leaves the rows as they were; the next one takes over with the same order, scroll and columns.
 */
@Component({
  selector: 'pm-live-grid',
  imports: [AgGridAngular],
  templateUrl: './live-grid.html',
  styleUrl: './live-grid.css',
  changeDetection: ChangeDetectionStrategy.OnPush,
})
export class LiveGrid {
  readonly table = input.required<string>();
  readonly search = model('');
  readonly initialSort = input<readonly SortItem[]>([]);
  readonly sorted = output<readonly SortItem[]>();
  readonly rowChosen = output<LiveRow>();

  private readonly connection = inject(TablesConnection);
  private readonly searchBox = viewChild<ElementRef<HTMLInputElement>>('searchBox');
  private api: GridApi<LiveRow> | null = null;
  private readonly source = new ViewportSource(
    (window) => this.show(window),
    (holding) => this.held.set(holding),
  );
  private columnsShown = '';
  private turn = 0;
  private typing: ReturnType<typeof setTimeout> | undefined;

  protected readonly columns = signal<readonly LiveColumn[]>([]);
  protected readonly definitions = signal<ColDef<LiveRow>[]>([]);
  protected readonly size = signal<number | null>(null);
  protected readonly total = signal(0);
  protected readonly problem = signal('');
  /** The rows on screen are from before a restart of the server, which is still reading. */
  protected readonly held = signal(false);
  protected readonly csv = new CsvDownload();
  protected readonly hidden = signal<ReadonlySet<string>>(new Set());
  protected readonly narrowed = computed(() => this.size() !== null && this.size() !== this.total());
  /** A new order is on its way: what is on screen is still the old one. */
  protected readonly ordering = signal(false);
  protected readonly count = computed(() => {
    const size = this.size();
    if (this.ordering()) {
      return 'Asking the server…';
    }
    if (size === null) {
      return '';
    }
    return rowCount(size, this.total());
  });

  protected readonly options: GridOptions<LiveRow> = {
    ...GRID_LOOK,
    styleNonce: inject(PageSettings).styleNonce,
    datasource: this.source as IDatasource,
    onGridReady: ({ api }) => this.ready(api),
    onViewportChanged: ({ firstRow, lastRow }) => this.source.show({ first: Math.max(0, firstRow), last: Math.max(0, lastRow) }),
    onSortChanged: () => this.orderChanged(),
    onFilterChanged: () => this.ordering.set(true),
    onColumnMoved: ({ finished }) => finished && this.remember(),
    onColumnResized: ({ finished, source }) => finished && source !== 'flex' && this.remember(),
    onColumnVisible: () => this.remember(),
    onColumnPinned: () => this.remember(),
    onRowDoubleClicked: ({ data }) => data && this.rowChosen.emit(data),
    onCellKeyDown: ({ event, data }) => event instanceof KeyboardEvent && event.key === 'Enter' && data && this.rowChosen.emit(data),
  };

  constructor() {
    effect(() => {
      this.connection.epoch();
      const table = this.table();
      if (this.connection.connected()) {
        untracked(() => void this.acquire(table));
      } else {
        untracked(() => this.source.detach());
      }
    });
    effect(() => {
      const text = this.search();
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.searchFor(text), this.api === null ? 0 : TYPING_PAUSE_MS);
    });
    inject(DestroyRef).onDestroy(() => {
      this.turn++;
      clearTimeout(this.typing);
      this.source.destroy();
    });
  }

  focusSearch(): void {
    this.searchBox()?.nativeElement.focus();
    this.searchBox()?.nativeElement.select();
  }

  private async acquire(table: string): Promise<void> {
    const mine = ++this.turn;
    try {
      const view = await this.connection.acquire(table);
      if (mine !== this.turn) {
        view.close();
        return;
      }
      this.problem.set('');
      this.showColumns(view.columns);
      this.source.setSearch(this.search());
      this.source.attach(view);
    } catch (error) {
      if (mine === this.turn) {
        this.problem.set(`${table} cannot be read yet: ${error instanceof Error ? error.message : String(error)}`);
        setTimeout(() => mine === this.turn && this.connection.connected() && void this.acquire(table), ACQUIRE_AGAIN_MS);
      }
    }
  }

  /** The same columns as before leave the grid alone: its widths, filters and sort are the user's. */
  private showColumns(columns: readonly LiveColumn[]): void {
    const signature = JSON.stringify(columns);
    if (signature === this.columnsShown) {
      return;
    }
    this.columnsShown = signature;
    this.columns.set(columns);
    this.definitions.set(columnDefinitions(columns));
    this.api?.setGridOption('columnDefs', this.definitions());
    this.restoreColumns();
  }

  private ready(api: GridApi<LiveRow>): void {
    this.api = api;
    if (this.columnsShown !== '') {
      api.setGridOption('columnDefs', this.definitions());
      this.restoreColumns();
    }
  }

  private restoreColumns(): void {
    const state = rememberedColumns(this.table());
    if (state !== null) {
      this.api?.applyColumnState({ state, applyOrder: true });
    }
    const sort = this.initialSort();
    if (sort.length > 0) {
      const wanted = sort.map((item, sortIndex) => ({ ...item, sortIndex }));
      this.api?.applyColumnState({ state: wanted, defaultState: { sort: null } });
    }
    this.noteHidden();
  }

  private show(window: Window): void {
    const api = this.api;
    if (api === null || api.isDestroyed()) {
      return;
    }
    this.ordering.set(false);
    this.size.set(window.size);
    this.total.set(window.total);
    showRows(api, window, this.columns()[0]?.name ?? '');
  }

  private searchFor(text: string): void {
    if (text === this.source.order.search) {
      return;
    }
    this.source.setSearch(text);
    this.ordering.set(this.api !== null);
    this.api?.ensureIndexVisible(0, 'top');
    this.api?.refreshInfiniteCache();
  }

  private orderChanged(): void {
    this.ordering.set(this.source.attached !== null);
    this.remember();
    this.sorted.emit(this.sortItems());
  }

  private sortItems(): SortItem[] {
    const sorted = (this.api?.getColumnState() ?? []).filter((column) => column.sort);
    sorted.sort((a, b) => (a.sortIndex ?? 0) - (b.sortIndex ?? 0));
    return sorted.map(({ colId, sort }) => ({ colId, sort: sort === 'desc' ? 'desc' : 'asc' }));
  }

  private remember(): void {
    if (this.api !== null && this.columnsShown !== '') {
      rememberColumns(this.table(), this.api.getColumnState());
      this.noteHidden();
    }
  }

  private noteHidden(): void {
    const state = this.api?.getColumnState() ?? [];
    this.hidden.set(new Set(state.filter((column) => column.hide).map((column) => column.colId)));
  }

  protected toggleColumn(name: string): void {
    this.api?.setColumnsVisible([name], this.hidden().has(name));
  }

  protected reset(): void {
    forgetColumns(this.table());
    this.search.set('');
    this.api?.setFilterModel(null);
    this.api?.resetColumnState();
    forgetColumns(this.table());
    this.sorted.emit([]);
    this.noteHidden();
  }

  protected async exportRows(): Promise<void> {
    const view = this.source.attached;
    const size = this.size();
    if (view === null || size === null) {
      return;
    }
    const visible = this.columns().filter((column) => !this.hidden().has(column.name));
    try {
      await this.csv.save(`${this.table()}.csv`, view, visible, size);
    } catch (error) {
      this.problem.set(`the export did not finish: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
