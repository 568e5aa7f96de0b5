import { type Fault, fault, type WarmUp } from '../artifacts/index.js';
import { CONFIDENCE } from '../metrics/index.js';
import type { PlanBody } from '../milp/index.js';
import { mostHeldRps } from './held-rates.js';
import { heldRun, PROMISE_REQUESTS, PROMISE_SEEDS, promiseSeeds, SEEDS_APART } from './runs.js';

const ROUNDING = 1e-9;

/**
 * promiseFaults finds where what a plan promises contradicts itself: rates that are held without `hold` or the reverse, a
 * value that does not follow from the rates, a bound that the value beats, attainments that do not reach their shares, and runs
 * by which no search confirms a promise. The simulations that confirm it are not repeated here.
 */
export function promiseFaults({ hold, models, objective }: PlanBody): Fault[] {
  if (hold === undefined)
    return models.flatMap(({ heldRps }, m) =>
      heldRps === undefined
        ? []
        : [fault('is promised, and the plan does not say how it was found (hold)', `/models/${m}/heldRps`)],
    );
  const isThroughput = objective.kind === 'throughput';
  const rates = models.map(({ heldRps, weight }) => (heldRps ?? 0) / weight);
  const value = isThroughput
    ? Math.min(...rates.filter((_, m) => (models[m]?.weight ?? 0) > 0))
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

type Hold = NonNullable<PlanBody['hold']>;

function namesFaults({ models: held }: Hold, models: PlanBody['models']): Fault[] {
  const [has, wanted] = [held, models].map((of) => of.map(({ name }) => name).join(', '));
  return has === wanted ? [] : [fault(`has ${has}; the plan has ${wanted}`, '/hold/models')];
}

function rateFaults(
  { heldRps, rps, throughputRps }: PlanBody['models'][number],
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
  { heldRps = 0, throughputRps }: PlanBody['models'][number],
  m: number,
  attainment: number,
): Fault[] {
  if (heldRps <= (1 + ROUNDING) * mostHeldRps(throughputRps, attainment)) return [];
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
  { pipelines }: PlanBody['models'][number],
  mostBatch: number | undefined,
  m: number,
): Fault[] {
  const largest = Math.max(0, ...pipelines.flatMap(({ partitions }) => partitions.map(({ batch }) => batch)));
  if (mostBatch === undefined || largest <= mostBatch) return [];
  return [fault(`is ${mostBatch}; its pipelines have batches of ${largest}`, `/hold/models/${m}/mostBatch`)];
}

/** runsFaults finds runs that no search confirms a promise by: of another length, confidence or number. */
function runsFaults(
  { seeds, durationS, warmUp, confidence }: Hold['runs'],
  models: PlanBody['models'],
): Fault[] {
  const run = heldRun(models, PROMISE_REQUESTS);
  const wantedS = run.durationNs / 1e9;
  const judged = Math.max(0, Math.floor(((seeds[0] ?? 0) - (PROMISE_SEEDS[0] as number)) / SEEDS_APART));
  const wanted = promiseSeeds(judged);
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

function differ(one: number, other: number): boolean {
  return !(Math.abs(one - other) <= ROUNDING * Math.max(1, Math.abs(other)));
}
