import type { CascadeSpec, GearPlan, NoPlan } from '../../../src/formats/index.js';
import { solveSpec } from '../../../src/specs/index.js';
import type { Dice } from '../../seeded/dice.js';
import { heldByOneModel } from '../gears/one-model.js';
import {
  accuracyOf,
  type RandomCascade,
  type RandomModel,
  randomCascade,
  writeCascade,
} from '../gears/random-cascade.js';
import { shortfallAt } from '../gears/served-shares.js';
import type { Refutation, Refuted } from '../refuter.js';

const ROUNDING = 1e-9;
/** The rates of the first range, whose lower end is no load, as shares of its highest. */
const SHARES_OF_FIRST = [0.001, 0.01, 0.1, 0.5, 1];

/**
 * refuter plans a random family, and serves the plan at the bottom, in the middle and at the top of every range. A promise is
 * refuted where 16 runs of seeds that no search saw, of 8,000 requests each, half of them begun with full queues, have a mean
 * whose interval of 99.999 % lies below the promised share, by a thousandth at least.
 */
export async function refuter(dice: Dice, folder: string): Promise<Refuted> {
  const made = randomCascade(dice);
  const solved = await solveSpec(await writeCascade(made, folder), {});
  const { slo, load, planner } = made.spec;
  const what = JSON.stringify({
    slo,
    load,
    planner,
    models: made.models.map(({ latencyUs }) => latencyUs.length),
  });
  if (solved.outcome !== 'gear-plan') {
    const changes = toldChanges(made.spec, solved.document as NoPlan);
    const told = changes.length === 0 ? '' : ', change told';
    const isNone = solved.outcome === 'infeasible';
    const refutations = [
      ...(isNone ? planOfNone(made) : []),
      ...(await toldRefutations(made, changes, folder)),
    ];
    return { what, outcome: `${solved.outcome}${told}`, refutations };
  }
  const { plan } = solved;
  return {
    what,
    outcome: plan.promise === undefined ? 'without a promise' : plan.status,
    refutations: [
      ...countFaults(plan, made.spec),
      ...accuracyFaults(plan, made.models),
      ...lateRates(plan, made.models),
    ],
  };
}

/** planOfNone finds a model that serves all loads alone, where the spec is said to be infeasible. */
function planOfNone({ models, spec }: RandomCascade): Refutation[] {
  const found = models.find(
    (model) => accuracyOf(model) >= (spec.slo.accuracy ?? 0) + ROUNDING && heldByOneModel(model, spec),
  );
  if (found === undefined) return [];
  return [{ claim: 'the spec is infeasible', found: `${found.name} alone serves every load in time` }];
}

/** ToldChange is a change of a spec of which an answer without a plan says that it would do. */
interface ToldChange {
  readonly claim: string;
  readonly spec: CascadeSpec;
}

function toldChanges(spec: CascadeSpec, { models, reasons }: NoPlan): ToldChange[] {
  const { cluster, slo } = spec;
  const latencies = models.flatMap(({ feasibleSloMs }) => feasibleSloMs ?? []);
  const counts = reasons.flatMap(({ missing = {}, available = {} }) =>
    Object.entries(missing).map(([name, more]) => ({ name, count: (available[name] ?? 0) + more })),
  );
  return [
    ...latencies.map((latencyMs) => ({
      claim: `a latency of ${latencyMs} ms would do`,
      spec: { ...spec, slo: { ...slo, latencyMs } },
    })),
    ...counts.flatMap(({ name, count }) => {
      if (typeof cluster === 'string') return [];
      const devices = { ...cluster.devices, [name]: { ...cluster.devices[name], count } };
      return [{ claim: `${count} ${name} would do`, spec: { ...spec, cluster: { ...cluster, devices } } }];
    }),
  ];
}

/** toldRefutations solves a spec with each change that is told, one after another. */
async function toldRefutations(
  { models }: RandomCascade,
  changes: readonly ToldChange[],
  folder: string,
): Promise<Refutation[]> {
  const refutations: Refutation[] = [];
  for (const { claim, spec } of changes) {
    const { outcome } = await solveSpec(await writeCascade({ models, spec }, folder), {});
    if (outcome !== 'gear-plan') refutations.push({ claim, found: `solving it ends as ${outcome}` });
  }
  return refutations;
}

function lateRates(plan: GearPlan, models: readonly RandomModel[]): Refutation[] {
  const { promise, gears, slo } = plan;
  if (promise === undefined) {
    const isAsked = slo.latencyMs !== undefined || plan.objective.kind === 'latency';
    return isAsked ? [{ claim: 'the latency is promised', found: 'the plan has no promise' }] : [];
  }
  const { latencyMs, quantile } = promise;
  const rates = gears.flatMap(({ fromRps, toRps }) =>
    fromRps === 0 ? SHARES_OF_FIRST.map((share) => share * toRps) : [fromRps, (fromRps + toRps) / 2, toRps],
  );
  return [...new Set(rates)].flatMap((rps) => {
    const short = shortfallAt(plan, models, { rps, latencyMs, quantile });
    if (short === undefined) return [];
    const found = `at ${rps}/s ${short.mean} are, ${short.high} at most`;
    return [{ claim: `${quantile} are within ${latencyMs} ms at every load`, found }];
  });
}

/** countFaults counts the devices that hold models, by the placement alone. */
function countFaults(plan: GearPlan, { cluster }: CascadeSpec): Refutation[] {
  if (typeof cluster === 'string') return [];
  const used = plan.placement.reduce((sum, { count = 1 }) => sum + count, 0);
  const most = Object.values(cluster.devices)[0]?.count ?? used;
  return used <= most
    ? []
    : [{ claim: `the plan is for ${most} devices`, found: `its placement has ${used}` }];
}

/** accuracyFaults sends every sample through every gear, and adds up what is right over the shares of time. */
function accuracyFaults(plan: GearPlan, models: readonly RandomModel[]): Refutation[] {
  const samples = models[0]?.isRight.length ?? 0;
  let accuracy = 0;
  for (const { cascade, share } of plan.gears) {
    let right = 0;
    for (let sample = 0; sample < samples; sample++) {
      for (const { stage, threshold = Number.NEGATIVE_INFINITY } of cascade) {
        const model = models.find(({ name }) => name === stage) as RandomModel;
        if ((model.certainty[sample] as number) < threshold) continue;
        if (model.isRight[sample] === true) right += 1;
        break;
      }
    }
    accuracy += (share * right) / samples;
  }
  const least = plan.slo.accuracy ?? 0;
  return [
    ...(Math.abs(accuracy - plan.accuracy) <= ROUNDING
      ? []
      : [{ claim: `the accuracy is ${plan.accuracy}`, found: `its samples give ${accuracy}` }]),
    ...(accuracy >= least - ROUNDING
      ? []
      : [{ claim: `an accuracy of ${least} is promised`, found: `its samples give ${accuracy}` }]),
  ];
}
