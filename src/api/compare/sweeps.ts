import { type Fault, fault, option, type PooledSpecModel, type Profile } from '../../artifacts/index.js';
import { evenlySpaced } from '../../collections/index.js';
import type { LoadedPooled } from '../solve/index.js';
import { allowsClass } from './budget.js';

/** Range is the range of a sweep: both ends and the number of points. */
export interface Range {
  readonly text: string;
  readonly from: number;
  readonly to: number;
  readonly unit: string;
  readonly steps: number;
}

/** SloPoint holds the SLOs of one point of a sweep, by model. */
export interface SloPoint {
  readonly text: string;
  readonly sloMs: readonly number[];
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
    const at = `${option('sweeps')} "${text}"`;
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
    told.push(...wrong.map((message) => fault(message, at)));
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
  return sloPoints(range).map(({ text, n }) => ({ text, sloMs: n * unitMs }));
}

/** sloPoints lists the points of a sweep of SLOs, each as it is written. */
function sloPoints(range: Range): { readonly text: string; readonly n: number }[] {
  const unit = range.unit === 'x' ? 'x' : ` ${range.unit}`;
  return pointsOf(range).map((n) => ({ text: `${n}${unit}`, n }));
}

/** pointsOf lists the points of a sweep, evenly spaced, with both ends; a single point is the first end. */
export function pointsOf({ from, to, steps }: Range): number[] {
  return evenlySpaced(from, to, steps);
}

/**
 * slosOf lists the SLOs of a sweep in milliseconds, evenly spaced, with both ends: the same for every model, or, with
 * the unit `x`, multiples of each model's fastest latency at batch 1 (PPipe, section 7.6). A model without such a
 * latency adds a fault to `told`, and its SLOs are NaN.
 */
export function slosOf({ spec, cluster, profiles }: LoadedPooled, range: Range, told: Fault[]): SloPoint[] {
  const points = sloPoints(range);
  if (range.unit !== 'x') {
    const msPer = range.unit === 's' ? 1000 : 1;
    return points.map(({ text, n }) => ({ text, sloMs: profiles.map(() => n * msPer) }));
  }
  const fastestMs = profiles.map(({ profile, path }, m) => {
    const model = spec.value.models[m] as PooledSpecModel;
    const classes = Object.keys(cluster.devices).filter((name) => allowsClass(model, name));
    const ms = fastestLatencyMs(profile, classes);
    if (ms === undefined)
      told.push(fault('has no latency at batch 1 on a class of the cluster, which multiples need', path));
    return ms ?? Number.NaN;
  });
  return points.map(({ text, n }) => ({ text, sloMs: fastestMs.map((ms) => n * ms) }));
}

/**
 * fastestLatencyMs gives the sum of the model's block latencies at batch 1 on its fastest class, at the smallest
 * virtual size that was measured there. Blocks that were not measured count as 0. It is undefined where no class has
 * batch 1.
 */
function fastestLatencyMs(profile: Profile, classes: readonly string[]): number | undefined {
  const sums = classes.flatMap((name) => {
    const rows = profile.devices[name]?.blockLatencyUs ?? {};
    const smallest = Object.keys(rows)
      .map(Number)
      .sort((a, b) => a - b)[0];
    const row = smallest === undefined ? undefined : rows[smallest]?.['1'];
    return row === undefined ? [] : [row.reduce<number>((sum, us) => sum + (us ?? 0), 0)];
  });
  return sums.length === 0 ? undefined : Math.min(...sums) / 1000;
}
