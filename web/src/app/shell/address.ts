import { Injectable } from '@angular/core';
import { gridTable, type SortItem } from '@pointsman/live-table';

/** What an address says about the page: `/?grid=final&filter=smith&sort=balance:desc`, or `/embed/final_ui`. */
export interface Place {
  readonly embedded: boolean;
  readonly tab: string;
  readonly search: string;
  readonly sort: readonly SortItem[];
}

/** Reads and writes the page's address, so that what is on screen can be shared. It never holds a key. */
@Injectable({ providedIn: 'root' })
export class Address {
  readonly initial: Place = read(location.pathname, new URLSearchParams(location.search));

  show(place: Omit<Place, 'embedded'>): void {
    const query = new URLSearchParams();
    if (!this.initial.embedded) {
      query.set('grid', place.tab.replace(/_ui$/, ''));
    }
    if (place.search !== '') {
      query.set('filter', place.search);
    }
    if (place.sort.length > 0) {
      query.set('sort', place.sort.map((item) => `${item.colId}:${item.sort}`).join(','));
    }
    const text = query.toString();
    history.replaceState(history.state, '', location.pathname + (text === '' ? '' : `?${text}`));
  }
}

export function read(path: string, query: URLSearchParams): Place {
  const embedded = /^\/embed\/([^/]+)\/?$/.exec(path)?.[1];
  const asked = embedded ?? query.get('grid') ?? 'final';
  return {
    embedded: embedded !== undefined,
    tab: asked === 'activity' ? asked : (gridTable(asked) ?? 'final_ui'),
    search: query.get('filter') ?? '',
    sort: (query.get('sort') ?? '').split(',').flatMap((item) => {
      const [colId, sort] = item.split(':');
      return colId ? [{ colId, sort: sort === 'desc' ? ('desc' as const) : ('asc' as const) }] : [];
    }),
  };
}
