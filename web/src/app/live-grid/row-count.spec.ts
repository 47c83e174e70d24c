import { describe, expect, it } from 'vitest';

import { rowCount } from './row-count';

describe('rowCount', () => {
  it.each([
    [0, 0, '0 rows'],
    [1, 1, '1 row'],
    [2000, 2000, '2,000 rows'],
    [1, 2000, '1 of 2,000 rows'],
    [0, 1, '0 of 1 row'],
  ])('says of %i of %i: %s', (size, total, text) => {
    expect(rowCount(size, total)).toBe(text);
  });
});
