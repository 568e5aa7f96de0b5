import {
  DEFAULT_QUANTILE,
  type Fault,
  fault,
  fieldChanges,
  type GearPlan,
  type PromisedRate,
} from '../../formats/index.js';

const ROUNDING = 1e-9;

/** A rate is confirmed by this many runs, with intervals of this confidence, */
const CONFIRMING_SEEDS = 8;
const CONFIDENCE = 0.95;
/** from this seed on, or from one that lies this many steps further. */
const FIRST_SEED = 201;
const SEEDS_APART = 1_000;
/** The first range, whose lower end is no load, is confirmed at these shares of its highest rate. */
const SHARES_OF_FIRST = [0.01, 0.05, 0.2, 0.5, 1];

/** GearPromising is what is looked at of a plan that promises a latency. */
type GearPromising = Pick<GearPlan, 'promise' | 'slo' | 'objective'> & {
  readonly gears: readonly Pick<GearPlan['gears'][number], 'fromRps' | 'toRps'>[];
};

/**
 * gearPromiseFaults finds where what a plan promises contradicts itself, or is confirmed as no search confirms it. The
 * simulations are not repeated, and a plan without a promise has none of these faults.
 */
export function gearPromiseFaults({ promise, gears, slo, objective }: GearPromising): Fault[] {
  if (promise === undefined) return [];
  const { latencyMs, quantile, confidence, runs, rates } = promise;
  const wanted = {
    latencyMs: objective.kind === 'latency' ? objective.value : slo.latencyMs,
    quantile: slo.quantile ?? DEFAULT_QUANTILE,
    confidence: CONFIDENCE,
    runs: CONFIRMING_SEEDS,
  };
  const said = fieldChanges({ latencyMs, quantile, confidence, runs }, wanted).map(
    ({ path, before, after }) =>
      fault(
        `is ${before ?? 'absent'}; a plan of this SLO is confirmed with ${after ?? 'none'}`,
        `/promise${path}`,
      ),
  );
  const [has, needed] = [rates.map(({ rps }) => rps), ratesOf(gears)];
  const isAlike =
    has.length === needed.length &&
    has.every((rps, i) => Math.abs(rps / (needed[i] as number) - 1) < ROUNDING);
  return [
    ...said,
    ...(isAlike
      ? []
      : [fault(`are ${has.join(', ')}; the ranges ask for ${needed.join(', ')}`, '/promise/rates')]),
    ...rates.flatMap((rate, i) => rateFaults(rate, quantile, `/promise/rates/${i}`)),
  ];
}

/** ratesOf lists the rates at which a plan is confirmed, the lowest first: the ends and the middle of each range. */
function ratesOf(gears: GearPromising['gears']): number[] {
  const rates = gears.flatMap(({ fromRps, toRps }) =>
    fromRps > 0 ? [fromRps, (fromRps + toRps) / 2, toRps] : SHARES_OF_FIRST.map((share) => share * toRps),
  );
  return [...new Set(rates)].sort((a, b) => a - b);
}

function rateFaults({ attainment, firstSeed }: PromisedRate, quantile: number, at: string): Fault[] {
  const { mean, low, high } = attainment;
  const isOrdered = 0 <= low && low <= mean && mean <= high && high <= 1;
  const isOwn = firstSeed >= FIRST_SEED && (firstSeed - FIRST_SEED) % SEEDS_APART === 0;
  return [
    ...(isOrdered && low >= quantile
      ? []
      : [
          fault(
            `has ${low} to ${high} around ${mean} in time, and at least ${quantile} are promised`,
            `${at}/attainment`,
          ),
        ]),
    ...(isOwn
      ? []
      : [
          fault(
            `is ${firstSeed}; rates are confirmed from ${FIRST_SEED} on, by steps of ${SEEDS_APART}`,
            `${at}/firstSeed`,
          ),
        ]),
  ];
}
