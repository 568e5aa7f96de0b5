/** Seconds have this many digits of nanoseconds. */
import { NS_PER_S } from '../formats/index.js';

const NS_DIGITS = 9;

const STAMP = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)?$/i;
/**
 * The start of the year 2000, in seconds since 1970. Counting from it, stamps within 104 days of the first
 * are exact in nanoseconds.
 */
const STAMP_ZERO_S = 946_684_800;

/** Stamp is a moment in whole seconds, and nanoseconds after it. */
interface Stamp {
  readonly seconds: number;
  readonly ns: number;
}

/**
 * stampOf reads a UTC timestamp as seconds since 2000 and nanoseconds; it is undefined where the text is
 * none.
 */
export function stampOf(text: string): Stamp | undefined {
  const parts = STAMP.exec(text);
  if (parts === null) return undefined;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  // biome-ignore lint/style/noRestrictedGlobals: the calendar is arithmetic on what the trace says; no clock is read
  const ms = Date.UTC(year, month - 1, day, hour, minute, second);
  // biome-ignore lint/style/noRestrictedGlobals: as above
  const told = new Date(ms).toISOString().slice(0, 19);
  if (told !== `${text.slice(0, 10)}T${text.slice(11, 19)}`) return undefined;
  return { seconds: ms / 1000 - STAMP_ZERO_S, ns: Number((parts[7] ?? '').padEnd(NS_DIGITS, '0')) };
}

/** MomentUnit is a unit in which a column counts. */
export interface MomentUnit {
  readonly name: string;
  /** How the names of columns that count in it end. */
  readonly end: string;
  /** A second has this many decimal digits of it. */
  readonly digits: number;
}

/** The units of time, by the end of a column's name. */
export const UNITS = {
  s: { name: 'seconds', end: 's', digits: 0 },
  ms: { name: 'milliseconds', end: 'ms', digits: 3 },
  us: { name: 'microseconds', end: 'us', digits: 6 },
  ns: { name: 'nanoseconds', end: 'ns', digits: NS_DIGITS },
} as const satisfies Record<string, MomentUnit>;

/** A trace of 104 days does not hold this many seconds from its start on; as a stamp since 1970 they are in the year 1973. */
export const LEAST_EPOCH_S = 1e8;
/** From here on, stamps in one unit are those of the next, a thousand times as fine: this many seconds are the year 5138. */
const LEAST_FINER_S = 1e11;

/**
 * epochUnit tells the unit of a number that is a stamp since 1970 by its size, which no two units share for any year
 * from 1973 to 5138; it is undefined for numbers that are no stamp in any unit.
 */
function epochUnit(value: number): MomentUnit | undefined {
  return Object.values(UNITS).find(
    ({ digits }) => value >= LEAST_EPOCH_S * 10 ** digits && value < LEAST_FINER_S * 10 ** digits,
  );
}

/** epochStamp reads a decimal number of a unit since 1970, digit by digit: as a double it would be some hundred nanoseconds off. */
function epochStamp(text: string, { digits }: MomentUnit): Stamp {
  const plain = /^\+?(\d+)(?:\.(\d*))?$/.exec(text) ?? /^(\d+)\.(\d*)$/.exec(Number(text).toFixed(NS_DIGITS));
  const whole = plain![1]!.padStart(digits + 1, '0');
  const cut = whole.length - digits;
  const fraction = `${whole.slice(cut)}${plain?.[2] ?? ''}`;
  return {
    seconds: Number(whole.slice(0, cut)),
    ns: Number(fraction.slice(0, NS_DIGITS).padEnd(NS_DIGITS, '0')),
  };
}

/**
 * Moments reads the cells of one column, in their order. It gives nanoseconds since the start, or what a cell must be,
 * where it is no moment. `value` is the cell's number; NaN where it is none.
 */
export type Moments = (text: string, value: number) => number | string;

/**
 * momentsIn reads a column that counts in a unit, from the start of the trace or since 1970: a first number that is too
 * large for a time since the start says which. The first stamp since 1970 is the start.
 * @param isNamed whether the column's name says the unit; where it does not, the size of a stamp does
 */
export function momentsIn(unit: MomentUnit, isNamed: boolean): Moments {
  const perS = 10 ** unit.digits;
  let isSinceStart: boolean | undefined;
  let of: MomentUnit | undefined;
  let misnamed: MomentUnit | undefined;
  let zero: Stamp | undefined;
  return (text, value) => {
    isSinceStart ??= value < LEAST_EPOCH_S * perS;
    if (isSinceStart) return Math.round((value * NS_PER_S) / perS);
    const found = epochUnit(value);
    of ??= isNamed ? unit : found;
    if (of === undefined) return 'is a stamp since 1970 in no known unit';
    if (found === undefined) return `must be a stamp in ${of.name} since 1970, as the first is`;
    // The whole column is wrong, which is told once.
    if (zero === undefined && found === misnamed) return 0;
    if (zero === undefined && found !== of) misnamed ??= found;
    if (found !== of) return `is a stamp in ${found.name} since 1970; name its column timestamp_${found.end}`;
    const stamp = epochStamp(text, of);
    zero ??= stamp;
    return sinceNs(stamp, zero);
  };
}

/** utcStamps reads a column of UTC stamps, of which the first is the start. */
export function utcStamps(): Moments {
  let zero: Stamp | undefined;
  return (text) => {
    const stamp = stampOf(text);
    if (stamp === undefined) return 'must be like 2023-11-16 18:17:03.9799600';
    zero ??= stamp;
    return sinceNs(stamp, zero);
  };
}

/**
 * stampsIn reads a column that does not say what it counts: UTC stamps, or numbers since 1970, whose unit their size
 * shows. A smaller number is refused, as nobody can tell its unit.
 */
export function stampsIn(): Moments {
  let read: Moments | undefined;
  return (text, value) => {
    if (read === undefined && value < LEAST_EPOCH_S) {
      // The name of the column is wrong, and no further line: that is told once.
      read = (_, more) => (Number.isFinite(more) ? 0 : 'must be a number');
      return 'does not say its unit; name its column arrival_s where it counts seconds from the start, and arrival_ms where milliseconds';
    }
    read ??= value >= LEAST_EPOCH_S ? momentsIn(UNITS.s, false) : utcStamps();
    return read(text, value);
  };
}

function sinceNs(stamp: Stamp, zero: Stamp): number {
  return (stamp.seconds - zero.seconds) * NS_PER_S + stamp.ns - zero.ns;
}
