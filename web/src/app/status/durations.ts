/** How long ago, or how long still: "12 s", "3 min", "2 h". */
export function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 100) {
    return `${seconds} s`;
  }
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

export function clockTime(epochMs: number): string {
  return new Date(epochMs).toLocaleTimeString('en-GB');
}

export function grouped(value: number | null, digits = 0): string {
  return value === null ? '–' : value.toLocaleString('en-GB', { maximumFractionDigits: digits });
}

/** "1 record", "2,000 records". */
export function counted(count: number, thing: string): string {
  return `${grouped(count)} ${thing}${count === 1 ? '' : 's'}`;
}

/** A time span in the unit that suits it: 0.4 s is "400 ms". */
export function span(seconds: number | null): string {
  if (seconds === null) {
    return '–';
  }
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : seconds < 100 ? `${seconds.toFixed(1)} s` : ago(seconds * 1000);
}
