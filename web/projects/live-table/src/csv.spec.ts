import { describe, expect, it } from 'vitest';

import { csvCell, csvLines } from './csv';

describe('csvCell', () => {
  it.each([
    ['=cmd()', `"'=cmd()"`],
    ['+1', `"'+1"`],
    ['-2+3', `"'-2+3"`],
    ['@SUM(A1)', `"'@SUM(A1)"`],
    ['\t=1', `"'\t=1"`],
  ])('keeps a spreadsheet from running %j', (text, cell) => {
    expect(csvCell(text, 'text')).toBe(cell);
  });

  it('leaves numbers numbers, negative ones too', () => {
    expect(csvCell(-12.5, 'number')).toBe('-12.5');
  });

  it('quotes commas, quotes and line breaks', () => {
    expect(csvCell('a,"b"\nc', 'text')).toBe('"a,""b""\nc"');
  });

  it('writes instants in UTC and nothing for null', () => {
    expect(csvLines([{ name: 't', kind: 'instant' }, { name: 'x', kind: 'text' }], [{ t: 0, x: null }])).toBe(
      '1970-01-01T00:00:00.000Z,\r\n',
    );
  });
});
