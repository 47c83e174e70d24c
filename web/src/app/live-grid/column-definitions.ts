import { cellText, wholeText, type ColumnKind, type LiveColumn, type LiveRow } from '@pointsman/live-table';
import type { ColDef, ITooltipParams, ValueFormatterParams } from 'ag-grid-community';

const LONGEST_CELL = 300;
const LONGEST_TOOLTIP = 2000;

const FILTER: Record<ColumnKind, string> = {
  text: 'agTextColumnFilter',
  number: 'agNumberColumnFilter',
  instant: 'agDateColumnFilter',
  boolean: 'agTextColumnFilter',
};

/** The grid's columns for a table's. Every value is shown as text: nothing in a record can become markup. */
export function columnDefinitions(columns: readonly LiveColumn[]): ColDef<LiveRow>[] {
  return columns.map(({ name, kind }) => ({
    colId: name,
    field: name,
    headerName: name,
    headerTooltip: name,
    filter: FILTER[kind],
    filterParams: { buttons: ['reset'], debounceMs: 250, maxNumConditions: 2 },
    cellClass: kind === 'number' ? 'number-cell' : kind === 'instant' ? 'instant-cell' : 'text-cell',
    headerClass: kind === 'number' ? 'ag-right-aligned-header' : '',
    minWidth: kind === 'instant' ? 190 : 100,
    initialFlex: kind === 'text' ? 1.4 : 1,
    valueFormatter: ({ value }: ValueFormatterParams<LiveRow>) => cut(cellText(value, kind), LONGEST_CELL),
    tooltipValueGetter: ({ value }: ITooltipParams<LiveRow>) => cut(wholeText(value, kind), LONGEST_TOOLTIP) || null,
  }));
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
