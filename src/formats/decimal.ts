const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/**
 * isDecimal says whether a cell of a table is a decimal number, perhaps with a sign or an exponent, as programs write them:
 * `5`, `0.5`, `-1e-05`. Others that JavaScript reads as numbers are none: `0x10`, `0b1`, `Infinity`, and nothing at all.
 */
export function isDecimal(cell: string): boolean {
  return DECIMAL.test(cell);
}

/** decimalOf gives the number of a cell; NaN where it is no decimal number. */
export function decimalOf(cell: string): number {
  return isDecimal(cell) ? Number(cell) : Number.NaN;
}
