import { describe, expect, it } from 'vitest';

import type { DhColumn, JsApi } from './jsapi';
import type { Condition, CombinedCondition, Order } from './order';
import { serverOrder } from './server-order';

/** A filter of the JS API, as the text of the calls that made it. */
class Said {
  constructor(readonly text: string) {}
  and = (...others: Said[]): Said => this.joined('and', others);
  or = (...others: Said[]): Said => this.joined('or', others);
  not = (): Said => new Said(`not ${this.text}`);

  private joined(word: string, others: Said[]): Said {
    return new Said(`(${[this, ...others].map(({ text }) => text).join(` ${word} `)})`);
  }
}

/** Whatever is called on it is said. */
function saying(subject: string): unknown {
  return new Proxy({}, { get: (_, verb) => (value?: string) => new Said(`${subject} ${String(verb)}${value === undefined ? '' : ` ${value}`}`) });
}

const api = {
  FilterValue: { ofString: (text: string) => `'${text}'`, ofNumber: (value: unknown) => String(value) },
  FilterCondition: { search: (value: string) => new Said(`search ${value}`) },
  DateWrapper: { ofJsDate: (date: Date) => date.toISOString().slice(0, 10) },
} as unknown as JsApi;

const types = { name: 'java.lang.String', balance: 'double', at: 'java.time.Instant', live: 'java.lang.Boolean' };
const columns = Object.entries(types).map(([name, type]) => ({
  name,
  type,
  filter: () => saying(name),
  sort: () => saying(name),
})) as unknown as DhColumn[];

function said(order: Partial<Order>): string[] {
  const { sorts, filters } = serverOrder(api, columns, { sort: [], filter: {}, search: '', ...order });
  return [...sorts, ...filters].map((part) => (part as unknown as Said).text);
}

describe('serverOrder', () => {
  it.each<[string, Condition | CombinedCondition, string]>([
    ['name', { type: 'contains', filter: 'a' }, "name containsIgnoreCase 'a'"],
    ['name', { type: 'notContains', filter: 'a' }, "(name isNull or not name containsIgnoreCase 'a')"],
    ['name', { type: 'equals', filter: 'a' }, "name eqIgnoreCase 'a'"],
    ['name', { type: 'notEqual', filter: 'a' }, "name notEqIgnoreCase 'a'"],
    ['name', { type: 'startsWith', filter: 'a.b' }, "name matchesIgnoreCase '(?s)a\\.b.*'"],
    ['name', { type: 'endsWith', filter: '(a' }, "name matchesIgnoreCase '(?s).*\\(a'"],
    ['name', { type: 'blank' }, 'name isNull'],
    ['name', { type: 'notBlank' }, 'not name isNull'],
    ['balance', { type: 'equals', filter: 5 }, 'balance eq 5'],
    ['balance', { type: 'notEqual', filter: 5 }, 'balance notEq 5'],
    ['balance', { type: 'greaterThan', filter: 5 }, 'balance greaterThan 5'],
    ['balance', { type: 'lessThanOrEqual', filter: 0 }, 'balance lessThanOrEqualTo 0'],
    ['balance', { type: 'inRange', filter: 1, filterTo: 2 }, '(balance greaterThanOrEqualTo 1 and balance lessThanOrEqualTo 2)'],
    ['live', { type: 'contains', filter: 'TR' }, 'live isTrue'],
    ['live', { type: 'contains', filter: 'no' }, 'live isFalse'],
    [
      'balance',
      { operator: 'OR', conditions: [{ type: 'lessThan', filter: 1 }, { type: 'blank' }] },
      '(balance lessThan 1 or balance isNull)',
    ],
  ])('asks the server for %s %j', (column, model, filter) => {
    expect(said({ filter: { [column]: model } })).toEqual([filter]);
  });

  it.each([
    ['equals', '(at greaterThanOrEqualTo 2026-05-04 and at lessThan 2026-05-05)'],
    ['notEqual', 'not (at greaterThanOrEqualTo 2026-05-04 and at lessThan 2026-05-05)'],
    ['greaterThan', 'at greaterThanOrEqualTo 2026-05-05'],
    ['lessThan', 'at lessThan 2026-05-04'],
  ])('takes a date that %s for a whole day', (type, filter) => {
    expect(said({ filter: { at: { type, dateFrom: '2026-05-04 12:00:00' } } })).toEqual([filter]);
  });

  it('leaves out columns that are not there and conditions that are not finished', () => {
    const unfinished = { name: { type: 'contains', filter: '' }, balance: { type: 'equals', filter: null }, nosuch: { type: 'blank' } };
    expect(said({ sort: [{ colId: 'nosuch', sort: 'asc' }], filter: unfinished, search: '  ' })).toEqual([]);
  });

  it('sorts in the order given and searches every column', () => {
    const sort = [{ colId: 'name', sort: 'desc' }, { colId: 'at', sort: 'asc' }] as const;
    expect(said({ sort, search: ' Ada ' })).toEqual(['name desc', 'at asc', "search 'Ada'"]);
  });
});
