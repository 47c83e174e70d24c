/** How a view of a table is ordered and narrowed, in the grid's own terms. Plain data. */
export interface SortItem {
  readonly colId: string;
  readonly sort: 'asc' | 'desc';
}

export interface Condition {
  readonly filterType?: string;
  readonly type?: string | null;
  readonly filter?: string | number | null;
  readonly filterTo?: string | number | null;
  readonly dateFrom?: string | null;
  readonly dateTo?: string | null;
}

export interface CombinedCondition extends Condition {
  readonly operator: 'AND' | 'OR';
  readonly conditions: readonly Condition[];
}

export type FilterModel = Readonly<Record<string, Condition | CombinedCondition>>;

export interface Order {
  readonly sort: readonly SortItem[];
  readonly filter: FilterModel;
  readonly search: string;
}

export const UNORDERED: Order = { sort: [], filter: {}, search: '' };

export function sameOrder(a: Order, b: Order): boolean {
  return JSON.stringify([a.sort, a.filter, a.search]) === JSON.stringify([b.sort, b.filter, b.search]);
}
