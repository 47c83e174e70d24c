/** Live tables of a Deephaven server in an Angular page: see docs/how-to/embed-a-grid.md. */
export { cellText, columnKind, instantText, wholeText, type Cell, type ColumnKind, type LiveColumn, type LiveRow } from './cells';
export { TablesConnection, type ConnectionState } from './connection';
export { csvCell, exportCsv } from './csv';
export { liveList, type LiveList, type LiveListOptions } from './live-list';
export type { LiveView, RowRange, Window, WindowSubscription } from './live-view';
export { UNORDERED, sameOrder, type FilterModel, type Order, type SortItem } from './order';
export { gridTable, isTableName } from './table-names';
export { ViewportSource, type RowsRequest } from './viewport-source';
