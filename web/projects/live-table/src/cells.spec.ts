import { describe, expect, it } from 'vitest';

import { cellText, toCell, wholeText } from './cells';
import { gridTable } from './table-names';

describe('toCell', () => {
  it('makes plain values of the wrappers of the JS API', () => {
    expect(toCell({ asNumber: () => 42, toString: () => '42' })).toBe(42);
    expect(toCell({ asDate: () => new Date(5), asNumber: () => 5e6 })).toBe(5);
    expect(toCell(undefined)).toBeNull();
  });

  it('keeps every digit of a long that a double cannot hold', () => {
    expect(toCell({ asNumber: () => 9007199254740993, toString: () => '9007199254740993' })).toBe('9007199254740993');
  });
});

describe('cellText', () => {
  it('groups digits and shows null as nothing', () => {
    expect([cellText(1234567.5, 'number'), cellText(null, 'number')]).toEqual(['1,234,567.5', '']);
  });

  it.each([
    [956.3746844032, '956.3746844', '956.3746844032'],
    [123456789012.34, '123,456,789,012.34', '123,456,789,012.34'],
    [0.00000012, '0.00000012', '0.00000012'],
    [9007199254740991, '9,007,199,254,740,991', '9,007,199,254,740,991'],
  ])('shows of %d what fits a column, and elsewhere every digit', (value, short, whole) => {
    expect([cellText(value, 'number'), wholeText(value, 'number')]).toEqual([short, whole]);
  });
});

describe('gridTable', () => {
  it.each([
    ['final', 'final_ui'],
    ['final_ui', 'final_ui'],
    ['dead_letters', 'dead_letters'],
    ['../x', null],
    ['a/b', null],
    ['', null],
  ])('takes %j for %j', (name, table) => {
    expect(gridTable(name)).toBe(table);
  });
});
