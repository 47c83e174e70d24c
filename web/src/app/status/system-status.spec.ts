import { describe, expect, it } from 'vitest';

import { read } from '../shell/address';
import { payloadText } from './dead-letter';
import { ago, span } from './durations';
import { epochMs, systemState } from './system-status';

describe('systemState', () => {
  it('finds a topic for every source, however many there are', () => {
    const state = systemState({ usersTopic: 'u', accountsTopic: 'a', cardsTopic: 'c', joinType: 'left', lag: 3, at: 10.5 });
    expect(state.topics.map(({ source, topic }) => `${source}=${topic}`)).toEqual(['users=u', 'accounts=a', 'cards=c']);
    expect([state.lag, state.rate, state.at]).toEqual([3, null, 10_500]);
  });
});

describe('epochMs', () => {
  it('tells seconds from milliseconds', () => {
    expect([epochMs(1_800_000_000), epochMs(1_800_000_000_000), epochMs(null)]).toEqual([1.8e12, 1.8e12, null]);
  });
});

describe('durations', () => {
  it('are in the unit that suits them', () => {
    expect([ago(12_400), ago(180_000), span(0.154), span(2.5), span(null)]).toEqual(['12 s', '3 min', '154 ms', '2.5 s', '–']);
  });
});

describe('payloadText', () => {
  it('shows base64 as the text it holds, and what is no base64 as it is', () => {
    expect([payloadText('eyJhIjo='), payloadText('{bad')]).toEqual(['{"a":', '{bad']);
  });
});

describe('an address', () => {
  it('says which grid, filter and sort', () => {
    const place = read('/', new URLSearchParams('grid=users&filter=smith&sort=age:desc,name'));
    expect(place).toEqual({
      embedded: false,
      tab: 'users_ui',
      search: 'smith',
      sort: [
        { colId: 'age', sort: 'desc' },
        { colId: 'name', sort: 'asc' },
      ],
    });
  });

  it('falls back to the joined table for what cannot be a table', () => {
    expect(read('/embed/..%2Fx', new URLSearchParams()).tab).toBe('final_ui');
    expect(read('/embed/users_ui', new URLSearchParams()).embedded).toBe(true);
  });
});
