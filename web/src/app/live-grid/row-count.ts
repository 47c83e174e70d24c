/** How many rows there are, and of how many when a filter leaves some out: "1 row", "12 of 2,000 rows". */
export function rowCount(size: number, total: number): string {
  const rows = total === 1 ? 'row' : 'rows';
  return size === total ? `${grouped(size)} ${rows}` : `${grouped(size)} of ${grouped(total)} ${rows}`;
}

function grouped(count: number): string {
  return count.toLocaleString('en-GB');
}
