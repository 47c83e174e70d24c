import type { Cell, ColumnKind, LiveColumn, LiveRow } from './cells';
import type { LiveView } from './live-view';

const CHUNK = 20_000;
/** What a spreadsheet takes for the start of a formula. */
const FORMULA = /^[=+\-@\t\r]/;
const BYTE_ORDER_MARK = '\uFEFF';

/** A cell as CSV. Text that a spreadsheet would run gets a quote in front; numbers stay numbers. */
export function csvCell(value: Cell | undefined, kind: ColumnKind): string {
  if (value === null || value === undefined) {
    return '';
  }
  if (kind === 'instant' && typeof value === 'number') {
    return new Date(value).toISOString();
  }
  if (typeof value !== 'string') {
    return String(value);
  }
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return /[",\n\r']/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csvLines(columns: readonly LiveColumn[], rows: readonly LiveRow[]): string {
  return rows.map((row) => `${columns.map((c) => csvCell(row[c.name], c.kind)).join(',')}\r\n`).join('');
}

/** The whole view in its present order, read in pieces so that a million rows do not stand in memory as objects. */
export async function exportCsv(
  view: LiveView,
  columns: readonly LiveColumn[],
  size: number,
  onProgress: (rows: number) => void = () => undefined,
): Promise<Blob> {
  const parts = [BYTE_ORDER_MARK, `${columns.map((c) => csvCell(c.name, 'text')).join(',')}\r\n`];
  for (let first = 0; first < size; first += CHUNK) {
    const rows = await view.read({ first, last: Math.min(first + CHUNK, size) - 1 });
    parts.push(csvLines(columns, rows));
    onProgress(first + rows.length);
  }
  return new Blob(parts, { type: 'text/csv;charset=utf-8' });
}
