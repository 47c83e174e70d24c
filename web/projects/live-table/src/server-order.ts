import { columnKind } from './cells';
import type { DhColumn, DhFilter, DhSort, JsApi } from './jsapi';
import type { CombinedCondition, Condition, Order } from './order';

/** An order as the server takes it: sorts and filters of the JS API, made for one table's columns. */
export interface ServerOrder {
  readonly sorts: DhSort[];
  readonly filters: DhFilter[];
}

/** Columns that the table does not have are left out: an address typed by hand must not break a grid. */
export function serverOrder(api: JsApi, columns: readonly DhColumn[], order: Order): ServerOrder {
  const find = (name: string): DhColumn | undefined => columns.find((column) => column.name === name);
  const sorts = order.sort.flatMap(({ colId, sort }) => {
    const column = find(colId);
    return column === undefined ? [] : [sort === 'desc' ? column.sort().desc() : column.sort().asc()];
  });
  const filters = Object.entries(order.filter).flatMap(([name, model]) => {
    const column = find(name);
    const filter = column === undefined ? null : columnFilter(api, column, model);
    return filter === null ? [] : [filter];
  });
  const search = order.search.trim();
  if (search !== '') {
    filters.push(api.FilterCondition.search(api.FilterValue.ofString(search)));
  }
  return { sorts, filters };
}

function columnFilter(api: JsApi, column: DhColumn, model: Condition | CombinedCondition): DhFilter | null {
  if ('conditions' in model) {
    const parts = model.conditions.map((part) => condition(api, column, part)).filter((part) => part !== null);
    const [first, ...rest] = parts;
    if (first === undefined) {
      return null;
    }
    return rest.length === 0 ? first : model.operator === 'OR' ? first.or(...rest) : first.and(...rest);
  }
  return condition(api, column, model);
}

function condition(api: JsApi, column: DhColumn, model: Condition): DhFilter | null {
  const kind = columnKind(column.type);
  const cell = column.filter();
  if (model.type === 'blank') {
    return cell.isNull();
  }
  if (model.type === 'notBlank') {
    return cell.isNull().not();
  }
  if (kind === 'number') {
    return typeof model.filter === 'number' ? numberCondition(api, column, model) : null;
  }
  if (kind === 'instant') {
    return typeof model.dateFrom === 'string' ? dateCondition(api, column, model) : null;
  }
  if (kind === 'boolean') {
    const wanted = String(model.filter ?? '').trim().toLowerCase();
    return wanted === '' ? null : 'true'.startsWith(wanted) ? cell.isTrue() : cell.isFalse();
  }
  return textCondition(api, column, model);
}

function textCondition(api: JsApi, column: DhColumn, model: Condition): DhFilter | null {
  const text = String(model.filter ?? '');
  if (text === '') {
    return null;
  }
  const cell = column.filter();
  const value = api.FilterValue.ofString(text);
  const pattern = (regex: string): DhFilter => cell.matchesIgnoreCase(api.FilterValue.ofString(regex));
  switch (model.type) {
    case 'equals':
      return cell.eqIgnoreCase(value);
    case 'notEqual':
      return cell.notEqIgnoreCase(value);
    case 'notContains':
      return cell.isNull().or(cell.containsIgnoreCase(value).not());
    case 'startsWith':
      return pattern(`(?s)${quoted(text)}.*`);
    case 'endsWith':
      return pattern(`(?s).*${quoted(text)}`);
    default:
      return cell.containsIgnoreCase(value);
  }
}

/** The text as a Java regular expression that matches it and nothing else. */
function quoted(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&');
}

function numberCondition(api: JsApi, column: DhColumn, model: Condition): DhFilter | null {
  const cell = column.filter();
  const from = api.FilterValue.ofNumber(Number(model.filter));
  switch (model.type) {
    case 'notEqual':
      return cell.notEq(from);
    case 'greaterThan':
      return cell.greaterThan(from);
    case 'greaterThanOrEqual':
      return cell.greaterThanOrEqualTo(from);
    case 'lessThan':
      return cell.lessThan(from);
    case 'lessThanOrEqual':
      return cell.lessThanOrEqualTo(from);
    case 'inRange':
      return typeof model.filterTo === 'number'
        ? cell.greaterThanOrEqualTo(from).and(cell.lessThanOrEqualTo(api.FilterValue.ofNumber(model.filterTo)))
        : null;
    default:
      return cell.eq(from);
  }
}

/** The grid's dates are days of local time: "equals" is a whole day, "greaterThan" begins after its end. */
function dateCondition(api: JsApi, column: DhColumn, model: Condition): DhFilter | null {
  const cell = column.filter();
  const day = (text: string, plus: number): ReturnType<typeof api.FilterValue.ofNumber> => {
    const date = new Date(text.replace(' ', 'T'));
    date.setDate(date.getDate() + plus);
    return api.FilterValue.ofNumber(api.DateWrapper.ofJsDate(date));
  };
  const from = model.dateFrom ?? '';
  const within = (first: string, last: string): DhFilter =>
    cell.greaterThanOrEqualTo(day(first, 0)).and(cell.lessThan(day(last, 1)));
  switch (model.type) {
    case 'lessThan':
      return cell.lessThan(day(from, 0));
    case 'greaterThan':
      return cell.greaterThanOrEqualTo(day(from, 1));
    case 'notEqual':
      return within(from, from).not();
    case 'inRange':
      return typeof model.dateTo === 'string' ? within(from, model.dateTo) : null;
    default:
      return within(from, from);
  }
}
