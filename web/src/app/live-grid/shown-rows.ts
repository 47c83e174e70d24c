import type { LiveRow, Window } from '@pointsman/live-table';
import type { GridApi, IRowNode } from 'ag-grid-community';

/** Puts a window's rows into the grid's, in place. `identity` is the column by which a record is known. */
export function showRows(api: GridApi<LiveRow>, window: Window, identity: string): void {
  if (api.getDisplayedRowCount() !== window.size) {
    api.setRowCount(window.size, true);
  }
  api.forEachNode((node) => {
    const row = window.rows[(node.rowIndex ?? -1) - window.offset];
    if (row !== undefined) {
      put(node, row, identity);
    }
  });
}

/** The same record with new values flashes what changed; another record in its place does not. */
function put(node: IRowNode<LiveRow>, row: LiveRow, identity: string): void {
  const before = node.data;
  if (before === undefined || before[identity] !== row[identity]) {
    node.setData(row);
  } else if (Object.keys(row).some((name) => row[name] !== before[name])) {
    node.updateData(row);
  }
}
