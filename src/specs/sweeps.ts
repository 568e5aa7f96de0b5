import { evenlySpaced, pushAll } from '../collections/index.js';
import { type Fault, fault, option } from '../formats/index.js';

/** Range is the range of a sweep: both ends and the number of points. */
export interface Range {
  readonly text: string;
  readonly from: number;
  readonly to: number;
  readonly unit: string;
  readonly steps: number;
}

/** SweepKind is what a sweep varies. */
export type SweepKind = 'slo' | 'margin' | 'accuracy';

/** Sweeps has the range of each kind that is swept. */
export type Sweeps = { readonly [K in SweepKind]?: Range };

const DEFAULT_STEPS: Readonly<Record<SweepKind, number>> = { slo: 9, margin: 7, accuracy: 5 };
const MOST_STEPS = 200;

/** SWEEP matches `slo=2x..10x:9`, `slo=50ms..200ms`, `slo=5x`, `margin=0..0.6:7` and `accuracy=0.8..0.9`. */
const SWEEP = /^(slo|margin|accuracy)=(\d*\.?\d+)(x|ms|s)?(?:\.\.(\d*\.?\d+)(x|ms|s)?)?(?::(\d+))?$/;

/**
 * sweepOf reads sweeps such as `slo=2x..10x:9`, and adds their faults to `told`. Each kind may be given once. Without a
 * number of points, a range of SLOs has 9, a range of margins 7, one of accuracies 5, and a single value 1; at most 200
 * are valid.
 * @param refused why a kind is not swept here
 */
export function sweepOf(
  texts: readonly string[],
  told: Fault[],
  refused: { readonly [K in SweepKind]?: string } = {},
): Sweeps {
  const ranges: { [K in SweepKind]?: Range } = {};
  for (const text of texts) {
    const match = SWEEP.exec(text.trim());
    const at = option('sweeps', `"${text}"`);
    if (match === null) {
      told.push(
        fault(
          'is not a sweep: slo=2x..10x, slo=50ms..200ms, margin=0..0.6 or accuracy=0.8..0.9, with :steps if wanted',
          at,
        ),
      );
      continue;
    }
    const kind = match[1] as SweepKind;
    const range = rangeOf(text, match, DEFAULT_STEPS[kind]);
    const why = refused[kind];
    const wrong = why === undefined ? rangeFaults(kind, range, match) : [why];
    if (ranges[kind] !== undefined) wrong.push(`${kind} is swept twice`);
    pushAll(
      told,
      wrong.map((message) => fault(message, at)),
    );
    if (wrong.length === 0) ranges[kind] = range;
  }
  return ranges;
}

function rangeOf(
  text: string,
  [, , low, unit, high, highUnit, steps]: RegExpExecArray,
  usual: number,
): Range {
  const from = Number(low);
  const to = high === undefined ? from : Number(high);
  const points = steps === undefined ? (from === to ? 1 : usual) : Number(steps);
  return { text, from, to, unit: unit ?? highUnit ?? '', steps: points };
}

function rangeFaults(kind: SweepKind, range: Range, match: RegExpExecArray): string[] {
  const [, , , unit, high, highUnit] = match;
  const wrong: string[] = [];
  if (high !== undefined && highUnit !== undefined && unit !== undefined && unit !== highUnit)
    wrong.push(`has two units, ${unit} and ${highUnit}`);
  if (kind === 'slo' && range.unit === '') wrong.push('needs a unit: x (times the fastest latency), ms or s');
  if (kind === 'margin' && range.unit !== '') wrong.push('is a fraction of the SLO and has no unit');
  if (kind === 'accuracy' && range.unit !== '') wrong.push('is a share of right answers and has no unit');
  if (range.to < range.from) wrong.push(`runs from ${range.from} down to ${range.to}`);
  if (range.steps < 1 || range.steps > MOST_STEPS)
    wrong.push(`has ${range.steps} steps; 1 to ${MOST_STEPS} are valid`);
  if (kind === 'slo' && range.from <= 0) wrong.push('begins at 0; an SLO must be above 0');
  if (kind === 'margin' && range.to >= 1) wrong.push('reaches 1; a margin must be below 1');
  if (kind === 'accuracy' && (range.from <= 0 || range.to > 1))
    wrong.push('leaves the accuracies: they are above 0 and at most 1');
  return wrong;
}

/** MsPoint is one point of a sweep of a single SLO. */
export interface MsPoint {
  readonly text: string;
  readonly sloMs: number;
}

/**
 * msPoints lists the points of a sweep of a single SLO, in milliseconds.
 * @param multipleOfMs what the unit `x` is a multiple of
 */
export function msPoints(range: Range, multipleOfMs: number): MsPoint[] {
  const unitMs = range.unit === 'x' ? multipleOfMs : range.unit === 's' ? 1e3 : 1;
  return sloPoints(range).map(({ text, n }) => ({ text, sloMs: multipleMs(n, unitMs) }));
}

/** multipleMs multiplies milliseconds without the error of binary fractions: 4.5 × 24.2 is 108.9, not 108.89999999999999. */
export function multipleMs(n: number, ms: number): number {
  return Number((n * ms).toPrecision(12));
}

/** sloPoints lists the points of a sweep of SLOs, each as it is written. */
export function sloPoints(range: Range): { readonly text: string; readonly n: number }[] {
  const unit = range.unit === 'x' ? 'x' : ` ${range.unit}`;
  return pointsOf(range).map((n) => ({ text: `${n}${unit}`, n }));
}

/** pointsOf lists the points of a sweep, evenly spaced, with both ends; a single point is the first end. */
export function pointsOf({ from, to, steps }: Range): number[] {
  return evenlySpaced(from, to, steps);
}
