const NAME = /^[A-Za-z][A-Za-z0-9_]{0,127}$/;

/** Tables that are shown as grids: `<source>_ui`, `final_ui`, and the lists around them. */
export function isTableName(name: string): boolean {
  return NAME.test(name);
}

/** `final` and `final_ui` both mean the table `final_ui`; null for what cannot be a table's name. */
export function gridTable(name: string): string | null {
  if (!isTableName(name)) {
    return null;
  }
  return name.endsWith('_ui') || name.includes('_') ? name : `${name}_ui`;
}
