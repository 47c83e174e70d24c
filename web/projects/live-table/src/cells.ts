import type { DhColumn } from './jsapi';

/** What a grid cell holds: plain values only, so that two cells are equal when `===` says so. */
export type Cell = string | number | boolean | null;
export type LiveRow = Readonly<Record<string, Cell>>;

export type ColumnKind = 'text' | 'number' | 'instant' | 'boolean';

export interface LiveColumn {
  readonly name: string;
  readonly kind: ColumnKind;
}

interface HasDate {
  asDate(): Date;
}
interface HasNumber {
  asNumber(): number;
}

const NUMBERS = new Set(['byte', 'short', 'int', 'long', 'float', 'double', 'java.math.BigDecimal', 'java.math.BigInteger']);

export function columnKind(type: string): ColumnKind {
  if (NUMBERS.has(type)) {
    return 'number';
  }
  if (type === 'java.time.Instant' || type === 'java.time.ZonedDateTime') {
    return 'instant';
  }
  return type === 'java.lang.Boolean' || type === 'boolean' ? 'boolean' : 'text';
}

export function liveColumns(columns: readonly Pick<DhColumn, 'name' | 'type'>[]): LiveColumn[] {
  return columns.map((column) => ({ name: column.name, kind: columnKind(column.type) }));
}

/**
 * A value of the JS API as a plain cell. An instant becomes milliseconds since the epoch; a whole number that a
 * double cannot hold keeps all its digits as text.
 */
export function toCell(value: unknown): Cell {
  if (value === null || value === undefined) {
    return null;
  }
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return value;
  }
  if (has<HasDate>(value, 'asDate')) {
    return value.asDate().getTime();
  }
  if (has<HasNumber>(value, 'asNumber')) {
    const number = value.asNumber();
    return Number.isInteger(number) && !Number.isSafeInteger(number) ? String(value) : number;
  }
  return String(value);
}

function has<T extends object>(value: unknown, method: keyof T & string): value is T {
  return typeof value === 'object' && value !== null && method in value;
}

const everyDigit = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 12 });
/** Ten digits fill a column; a large amount keeps its hundredths all the same. */
const tenDigits = new Intl.NumberFormat('en-GB', {
  maximumSignificantDigits: 10,
  maximumFractionDigits: 2,
  roundingPriority: 'morePrecision',
});

/** A cell as people read it in a column: digits grouped, an instant in local time with milliseconds. */
export function cellText(value: Cell | undefined, kind: ColumnKind): string {
  return text(value, kind, tenDigits);
}

/** The same with every digit, where there is room. */
export function wholeText(value: Cell | undefined, kind: ColumnKind): string {
  return text(value, kind, everyDigit);
}

function text(value: Cell | undefined, kind: ColumnKind, fractions: Intl.NumberFormat): string {
  if (value === null || value === undefined) {
    return '';
  }
  if (kind === 'instant' && typeof value === 'number') {
    return instantText(value);
  }
  if (kind === 'number' && typeof value === 'number') {
    return (Number.isInteger(value) ? everyDigit : fractions).format(value);
  }
  return String(value);
}

export function instantText(epochMs: number): string {
  const date = new Date(epochMs);
  const pad = (n: number, width = 2): string => String(n).padStart(width, '0');
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  return `${day} ${time}.${pad(date.getMilliseconds(), 3)}`;
}
