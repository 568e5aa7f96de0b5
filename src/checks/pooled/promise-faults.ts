import { largestOf, smallestOf } from '../../collections/index.js';
import { type Fault, fault, type WarmUp } from '../../formats/index.js';
import { differ } from '../figures.js';
import type { CheckedPlan } from './question.js';

const ROUNDING = 1e-9;

/** A promise is confirmed by runs of this many seeds, with intervals of this confidence, */
const CONFIRMING_SEEDS = 8;
const CONFIDENCE = 0.95;
/** from this seed on, or from one that lies this many steps further. */
const FIRST_SEED = 201;
const SEEDS_APART = 1_000;
/** Every model gets this many requests in a run, which lasts this many times the longest SLO, */
const LEAST_REQUESTS = 20_000;
const LEAST_SLOS = 60;
/** unless that were more requests in all, of which those that fill the queues take no more than this share. */
const MOST_REQUESTS = 400_000;
const MOST_FILLING = 0.5;
/** Before requests count, each model has twice its rate for one of its SLOs, and then all have theirs for ten of the longest. */
const SETTLING_SLOS = 10;

/**
 * promiseFaults finds where what a plan promises contradicts itself: rates that are held without `hold` or the reverse, a
 * value that does not follow from the rates, a bound that the value beats, attainments that do not reach their shares, and runs
 * by which no search confirms a promise. The simulations that confirm it are not repeated here.
 */
export function promiseFaults({ hold, models, objective }: CheckedPlan): Fault[] {
  if (hold === undefined)
    return models.flatMap(({ heldRps }, m) =>
      heldRps === undefined
        ? []
        : [fault('is promised, and the plan does not say how it was found (hold)', `/models/${m}/heldRps`)],
    );
  const isThroughput = objective.kind === 'throughput';
  const rates = models.map(({ heldRps, weight }) => (heldRps ?? 0) / weight);
  const value = isThroughput
    ? smallestOf(rates.filter((_, m) => (models[m]?.weight ?? 0) > 0))
    : objective.value;
  const isBeaten = isThroughput
    ? hold.value > hold.bound * (1 + ROUNDING)
    : hold.value < hold.bound * (1 - ROUNDING);
  return [
    ...namesFaults(hold, models),
    ...models.flatMap((model, m) => rateFaults(model, m, isThroughput)),
    ...models.flatMap((model, m) => beyondPlanned(model, m, hold.models[m]?.attainment ?? 1)),
    ...(differ(hold.value, value)
      ? [fault(`is ${hold.value}; the rates that are held give ${value}`, '/hold/value')]
      : []),
    ...(isBeaten ? [fault(`is ${hold.bound}, which the value ${hold.value} beats`, '/hold/bound')] : []),
    ...hold.models.flatMap((model, m) => attainmentFaults(model, m)),
    ...models.flatMap((model, m) => batchFaults(model, hold.models[m]?.mostBatch, m)),
    ...runsFaults(hold.runs, models),
  ];
}

type Hold = NonNullable<CheckedPlan['hold']>;

function namesFaults({ models: held }: Hold, models: CheckedPlan['models']): Fault[] {
  const [has, wanted] = [held, models].map((of) => of.map(({ name }) => name).join(', '));
  return has === wanted ? [] : [fault(`has ${has}; the plan has ${wanted}`, '/hold/models')];
}

function rateFaults(
  { heldRps, rps, throughputRps }: CheckedPlan['models'][number],
  m: number,
  isThroughput: boolean,
): Fault[] {
  const at = `/models/${m}/heldRps`;
  if (heldRps === undefined)
    return throughputRps > 0 ? [fault('is missing: the plan holds its other rates', at)] : [];
  if (isThroughput || rps === undefined || !differ(heldRps, rps)) return [];
  return [fault(`is ${heldRps}; the rate that was asked for is ${rps}`, at)];
}

/** beyondPlanned finds a rate of which more would be in time than the pools serve for long. */
function beyondPlanned(
  { heldRps = 0, throughputRps }: CheckedPlan['models'][number],
  m: number,
  attainment: number,
): Fault[] {
  if (heldRps <= ((1 + ROUNDING) * throughputRps) / attainment) return [];
  return [
    fault(
      `is ${heldRps}, of which the planned ${throughputRps} requests/s cannot hold ${attainment}`,
      `/models/${m}/heldRps`,
    ),
  ];
}

function attainmentFaults({ attainment, simulated }: Hold['models'][number], m: number): Fault[] {
  if (simulated === undefined) return [];
  const { mean, low, high } = simulated;
  const isOrdered = 0 <= low && low <= mean && mean <= high && high <= 1;
  if (isOrdered && low >= attainment - ROUNDING) return [];
  const said = `has ${low} to ${high} around ${mean} in time, and at least ${attainment} are promised`;
  return [fault(said, `/hold/models/${m}/simulated`)];
}

/** batchFaults finds batches beyond the largest that a model was planned with. */
function batchFaults(
  { pipelines }: CheckedPlan['models'][number],
  mostBatch: number | undefined,
  m: number,
): Fault[] {
  const largest = Math.max(
    0,
    largestOf(pipelines.flatMap(({ partitions }) => partitions.map(({ batch }) => batch))),
  );
  if (mostBatch === undefined || largest <= mostBatch) return [];
  return [fault(`is ${mostBatch}; its pipelines have batches of ${largest}`, `/hold/models/${m}/mostBatch`)];
}

/** runsFaults finds runs that no search confirms a promise by: of another length, confidence or number. */
function runsFaults(
  { seeds, durationS, warmUp, confidence }: Hold['runs'],
  models: CheckedPlan['models'],
): Fault[] {
  const run = confirmingRun(models);
  const wantedS = run.durationS;
  const step = Math.max(0, Math.floor(((seeds[0] ?? 0) - FIRST_SEED) / SEEDS_APART));
  const wanted = Array.from({ length: CONFIRMING_SEEDS }, (_, i) => FIRST_SEED + SEEDS_APART * step + i);
  return [
    ...(differ(durationS, wantedS)
      ? [fault(`is ${durationS}; the planned rates and SLOs give ${wantedS}`, '/hold/runs/durationS')]
      : []),
    ...warmUpFaults(warmUp, run.warmUp),
    ...(confidence === CONFIDENCE
      ? []
      : [fault(`is ${confidence}; promises are confirmed with ${CONFIDENCE}`, '/hold/runs/confidence')]),
    ...(seeds.join() === wanted.join()
      ? []
      : [
          fault(
            `are ${seeds.join(', ')}; promises are confirmed by ${wanted.join(', ')}`,
            '/hold/runs/seeds',
          ),
        ]),
  ];
}

function warmUpFaults(has: Hold['runs']['warmUp'], wanted: WarmUp): Fault[] {
  const at = '/hold/runs/warmUp';
  if (has === undefined)
    return [fault('is missing: these runs began idle, which promises too much; solve the spec again', at)];
  return (['fillSlos', 'settleSlos'] as const).flatMap((key) =>
    differ(has[key], wanted[key])
      ? [fault(`is ${has[key]}; promises are confirmed with ${wanted[key]}`, `${at}/${key}`)]
      : [],
  );
}

/** confirmingRun works out how long a run is that confirms a promise, from the planned rates and the SLOs. */
function confirmingRun(models: CheckedPlan['models']): {
  readonly durationS: number;
  readonly warmUp: WarmUp;
} {
  let [allRps, ownRequests, longestS, countedS] = [0, 0, 0, 0];
  for (const { throughputRps: rps, sloMs } of models) {
    if (rps === 0) continue;
    allRps += rps;
    ownRequests += (rps * sloMs) / 1e3;
    longestS = Math.max(longestS, sloMs / 1e3);
    countedS = Math.max(countedS, LEAST_REQUESTS / rps);
  }
  countedS = Math.max(countedS, LEAST_SLOS * longestS);
  const fillingRequests = allRps * longestS + ownRequests;
  const fillSlos = Math.min(1, (MOST_FILLING * MOST_REQUESTS) / fillingRequests);
  const left = MOST_REQUESTS - fillSlos * fillingRequests;
  const kept = Math.min(1, left / (allRps * (SETTLING_SLOS * longestS + countedS)));
  return {
    durationS: Math.ceil(1e9 * kept * countedS) / 1e9,
    warmUp: { fillSlos, settleSlos: kept * SETTLING_SLOS },
  };
}
