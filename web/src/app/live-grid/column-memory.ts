import type { ColumnState } from 'ag-grid-community';

const key = (table: string): string => `pointsman.columns.${table}`;

/** The order, width, visibility and sort of a table's columns, kept per user. */
export function rememberColumns(table: string, state: readonly ColumnState[]): void {
  localStorage.setItem(key(table), JSON.stringify(state));
}

export function rememberedColumns(table: string): ColumnState[] | null {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(key(table)) ?? 'null');
    return Array.isArray(value) ? (value as ColumnState[]) : null;
  } catch {
    return null;
  }
}

export function forgetColumns(table: string): void {
  localStorage.removeItem(key(table));
}
