import type { LiveRow } from '@pointsman/live-table';
import type { GridOptions } from 'ag-grid-community';

import { gridTheme } from './grid-theme';

/** What every live grid has in common: how it looks, flashes and scrolls; what feeds it is its own. */
export const GRID_LOOK: GridOptions<LiveRow> = {
  theme: gridTheme,
  rowModelType: 'infinite',
  cacheBlockSize: 100,
  maxBlocksInCache: 8,
  // The data source serialises its own work, and gives up what has scrolled away.
  maxConcurrentDatasourceRequests: -1,
  infiniteInitialRowCount: 1,
  alwaysShowVerticalScroll: true,
  // Room for it even where the system draws scrollbars over the page: the grid's own would cover the last column.
  scrollbarWidth: 16,
  suppressNoRowsOverlay: true, // the page says it in its own words
  rowHeight: 30,
  headerHeight: 34,
  rowBuffer: 12,
  animateRows: false,
  suppressFieldDotNotation: true,
  cellFlashDuration: 350,
  cellFadeDuration: 650,
  tooltipShowDelay: 600,
  enableCellTextSelection: true,
  defaultColDef: {
    sortable: true,
    resizable: true,
    enableCellChangeFlash: true,
    cellDataType: false,
    suppressHeaderMenuButton: false,
  },
};
