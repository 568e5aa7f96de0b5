/** A table as values: column heads and rows of cells. The command line draws it. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A number with about three significant digits, as a person reads it: `0.71`, `12.4`, `2 157`. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '—';
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 1000) return Math.round(value).toLocaleString('en-US').replaceAll(',', ' ');
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  return value.toFixed(size >= 1 ? 2 : 3);
}

/** What there may be, as text: a dash where it is not. */
export function orDash<T>(value: T | null | undefined, text: (value: T) => string): string {
  return value === undefined || value === null ? '—' : text(value);
}

/** A count, whole: `57`, `9 184`. */
export function count(value: number): string {
  return value.toLocaleString('en-US').replaceAll(',', ' ');
}

/** Microseconds as milliseconds. */
export function milliseconds(us: number): string {
  return figure(us / 1000);
}

/** Bytes with the unit that suits them. */
export function bytes(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB'];
  let value = count;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : figure(value)} ${units[unit]}`;
}

/** A share as a percentage. */
export function percent(share: number, digits = 1): string {
  return `${(share * 100).toFixed(digits)} %`;
}
