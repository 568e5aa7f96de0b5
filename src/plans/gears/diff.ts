import { itemAt, smallestOf } from '../../collections/index.js';
import {
  byName,
  type ChangedWords,
  changeOf,
  classChanges,
  counted,
  DEFAULT_QUANTILE,
  differs,
  type FieldChange,
  fieldChanges,
  type Gear,
  type GearDifference,
  type GearPlan,
  type PlanDifference,
  type PromisedRate,
  planChanges,
  type StageDifference,
  sidesOf,
} from '../../formats/index.js';
import { movedGpus } from '../stages/index.js';

/** GearDiff is a difference without the head of its file. */
export type GearDiff = Omit<PlanDifference, '$schema' | 'kind' | 'version' | 'tool' | 'inputs'>;

/** Boundaries of ranges that are this close, in proportion, are one. */
const ROUNDING = 1e-9;

/**
 * diffGears compares two gear plans, `a` before and `b` after: what was made best, accuracy, largest p95, what is
 * promised, how the models are held, which devices hold other models than before, and how every load is served. Ranges
 * of loads may differ: they are cut where either plan has a boundary.
 */
export function diffGears(a: GearPlan, b: GearPlan): GearDiff {
  const [kindBefore, kind] = [a.objective.kind, b.objective.kind];
  const model = {
    name: b.name,
    throughputRps: changeOf(a.maxRps, b.maxRps),
    sloMs: changeOf(a.sloMs, b.sloMs),
    accuracy: changeOf(a.accuracy, b.accuracy),
    p95Ms: changeOf(a.p95Ms, b.p95Ms),
  };
  const promised = sidesOf(promisedText(a), promisedText(b));
  const switching = sidesOf(switchingText(a), switchingText(b));
  const stages = stageDifferences(a, b);
  const gears = gearDifferences(a, b);
  const classes = classChanges(a.classes, b.classes);
  const gpusMoved = movedGpus(a, b);
  const { throughputRps, sloMs, accuracy, p95Ms } = model;
  return {
    objective: {
      kind,
      ...(kind === kindBefore ? {} : { kindBefore }),
      ...changeOf(a.objective.value, b.objective.value),
    },
    models: [
      {
        ...model,
        ...(wordsDiffer(promised) ? { objectives: promised } : {}),
        ...(wordsDiffer(switching) ? { switching } : {}),
        pipelines: [],
      },
    ],
    stages,
    gears,
    classes,
    gpusMoved,
    same:
      stages.length + gears.length + classes.length + gpusMoved === 0 &&
      ![throughputRps, sloMs, accuracy, p95Ms].some(differs) &&
      !wordsDiffer(promised) &&
      !wordsDiffer(switching),
  };
}

/**
 * The fields that `diffGears` reports: the highest load, the promise, accuracy and p95, how gears are
 * switched, the devices in use, and models and loads that are served otherwise.
 */
const TOLD: readonly RegExp[] = [
  /^\/(maxRps|sloMs|accuracy|p95Ms|certainty)$/,
  /^\/(slo|switching)\/[^/]+$/,
  /^\/classes\/[^/]+\/used$/,
  /^\/stages\/[^/]+(\/(device|batch|replicas))?$/,
  /^\/gears\/[^/]+(\/(accuracy|timeoutMs))?$/,
  /^\/gears\/[^/]+\/cascade\/\d+(\/(stage|threshold|minQueue|loadShares.*))?$/,
];

/** gearFieldChanges lists all fields that differ and that `diffGears` does not tell. */
export function gearFieldChanges(a: GearPlan, b: GearPlan): FieldChange[] {
  const boundaries = boundariesOf([...a.gears, ...b.gears]);
  const own = ({ stages, gears, promise }: GearPlan) => ({
    stages: byName(stages),
    promise: promise && { ...promise, rates: undefined },
    gears: Object.fromEntries(
      boundaries.slice(1).map((toRps, i) => {
        const fromRps = itemAt(boundaries, i);
        const gear = gearFor(gears, (fromRps + toRps) / 2);
        return [`${number(fromRps)}–${number(toRps)}`, gear && partOf(gear, { fromRps, toRps })];
      }),
    ),
  });
  return [...planChanges([a, b], own, TOLD), ...rateChanges(a.promise?.rates, b.promise?.rates)];
}

/** rateChanges reports in one line that the runs which confirm a promise gave something else, where both plans have any. */
function rateChanges(
  before: readonly PromisedRate[] | undefined,
  after: readonly PromisedRate[] | undefined,
): FieldChange[] {
  if (before === undefined || after === undefined) return [];
  const changed = after.filter((rate, i) => fieldChanges(before[i], rate).length > 0).length;
  if (changed === 0 && before.length === after.length) return [];
  const alike = before.length === after.length ? ` (${changed} of ${after.length} differ)` : '';
  const text = (rates: readonly PromisedRate[]) =>
    `${counted(rates.length, 'rate')}, ${(100 * smallestOf(rates.map(({ attainment }) => attainment.mean))).toFixed(2)} % in time at the worst${alike}`;
  return [{ path: '/promise/rates', before: text(before), after: text(after) }];
}

/** partOf is a gear within a part of its range. */
function partOf(gear: Gear, { fromRps, toRps }: Pick<Gear, 'fromRps' | 'toRps'>): object {
  const { fromRps: from, toRps: to, share, ...rest } = gear;
  return { ...rest, share: (share * (toRps - fromRps)) / (to - from) };
}

function wordsDiffer({ before, after }: ChangedWords): boolean {
  return before !== after;
}

/** number writes a figure without the digits of rounding. */
function number(value: number): string {
  return String(Number(value.toPrecision(12)));
}

function promisedText({ slo }: GearPlan): string {
  const { latencyMs, quantile = DEFAULT_QUANTILE, accuracy } = slo;
  return [
    ...(latencyMs === undefined ? [] : [`${number(100 * quantile)} % in ${number(latencyMs)} ms`]),
    ...(accuracy === undefined ? [] : [`accuracy of ${number(accuracy)}`]),
  ].join(', ');
}

function switchingText({ certainty, switching: { intervalMs, alpha }, serving }: GearPlan): string {
  return `certainty ${certainty}, arrivals over ${number(intervalMs)} ms, alpha ${number(alpha)}, scheduler ${serving.scheduler}`;
}

function stageDifferences(a: GearPlan, b: GearPlan): StageDifference[] {
  const names = [...new Set([...a.stages, ...b.stages].map(({ name }) => name))];
  return names
    .map((name) => {
      const [before, after] = [a, b].map((plan) => plan.stages.find((stage) => stage.name === name));
      return {
        name,
        devices: sidesOf(before?.device, after?.device),
        batch: changeOf(before?.batch, after?.batch),
        replicas: changeOf(before?.replicas, after?.replicas),
      };
    })
    .filter(({ devices, batch, replicas }) => wordsDiffer(devices) || differs(batch) || differs(replicas));
}

function gearDifferences(a: GearPlan, b: GearPlan): GearDifference[] {
  const boundaries = boundariesOf([...a.gears, ...b.gears]);
  return boundaries.slice(1).flatMap((toRps, i) => {
    const fromRps = itemAt(boundaries, i);
    const [before, after] = [a, b].map(({ gears }) => gearFor(gears, (fromRps + toRps) / 2));
    const difference = {
      fromRps,
      toRps,
      cascade: sidesOf(before && cascadeText(before), after && cascadeText(after)),
      batching: sidesOf(before && batchingText(before), after && batchingText(after)),
      accuracy: sidesOf(before?.accuracy, after?.accuracy),
      p95Ms: sidesOf(before?.p95Ms, after?.p95Ms),
      sharesDiffer: before !== undefined && after !== undefined && sharesDiffer(before, after),
    };
    return gearDiffers(difference) ? [difference] : [];
  });
}

/** boundariesOf lists the rates at which a range of either plan begins or ends, in order and each once. */
function boundariesOf(gears: readonly Gear[]): number[] {
  const rates = gears.flatMap(({ fromRps, toRps }) => [fromRps, toRps]).sort((x, y) => x - y);
  return rates.filter((rps, i) => i === 0 || rps - itemAt(rates, i - 1) > ROUNDING * rps);
}

/** gearFor is the gear for a rate; undefined where the plan was not made for it. */
function gearFor(gears: readonly Gear[], rps: number): Gear | undefined {
  return gears.find(({ fromRps, toRps }) => fromRps < rps && rps < toRps);
}

function gearDiffers({ cascade, batching, accuracy, sharesDiffer: shares }: GearDifference): boolean {
  const { before, after } = accuracy;
  if (before === undefined || after === undefined) return true;
  return wordsDiffer(cascade) || wordsDiffer(batching) || shares || differs({ before, after });
}

function cascadeText({ cascade }: Gear): string {
  return cascade
    .map(({ stage, threshold }) => (threshold === undefined ? stage : `${stage} < ${number(threshold)}`))
    .join(' → ');
}

function batchingText({ cascade, timeoutMs }: Gear): string {
  const queues = cascade.map(({ minQueue }) => minQueue).join(', ');
  return timeoutMs === 0 ? queues : `${queues} or after ${number(timeoutMs)} ms`;
}

/** sharesDiffer says whether devices serve other shares of the same models. */
function sharesDiffer(a: Gear, b: Gear): boolean {
  const isAlike = a.cascade.map(({ stage }) => stage).join() === b.cascade.map(({ stage }) => stage).join();
  const [before, after] = [a, b].map(({ cascade }) => cascade.flatMap(({ loadShares }) => loadShares));
  if (!isAlike || before === undefined || after === undefined) return false;
  if (before.length !== after.length) return true;
  return before.some((share, i) => differs(changeOf(share, after[i])));
}
