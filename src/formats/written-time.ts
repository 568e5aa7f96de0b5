/** UNITS_S holds the units that a time is written with, in seconds. A minute is `m` or `min`. */
const UNITS_S = { ms: 1e-3, s: 1, m: 60, min: 60, h: 3600 } as const;

/**
 * writtenSeconds reads a time with its unit, such as `500ms`, `10s`, `2min`, `2m` or `1h`, or a bare number of seconds, as files
 * and options have it.
 * @returns seconds, 0 or more; undefined for other text
 */
export function writtenSeconds(text: string): number | undefined {
  const [, digits, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|min|h)?$/.exec(text.trim()) ?? [];
  const seconds = Number(digits) * UNITS_S[unit as keyof typeof UNITS_S];
  return Number.isFinite(seconds) ? seconds : undefined;
}
