import type { NoPlan } from '../../../src/formats/index.js';
import type { PooledProblem } from '../../../src/milp/index.js';
import type { Refutation } from '../refuter.js';
import { type MadeSpec, problemOf } from './random-spec.js';
import { bestOf, withCounts, withModels } from './values.js';

/** So far below a bound nothing may be. */
const BELOW = 1 - 1e-6;

/** falseRemedies takes what is told of an infeasible spec, and makes of it specs that should have a plan, or none. */
export function falseRemedies(made: MadeSpec, problem: PooledProblem, told: NoPlan): Refutation[] {
  const best = bestOf(problem);
  return [
    ...(best === undefined ? [] : [{ claim: 'the spec is infeasible', found: `there is a plan of ${best}` }]),
    ...unmetSlos(made, told),
    ...shorterSlos(made, told),
    ...servedMore(problem, told),
  ];
}

function withSlos({ spec, profiles }: MadeSpec, sloMs: (m: number) => number | undefined): PooledProblem {
  const models = spec.models.map((model, m) => ({ ...model, sloMs: sloMs(m) ?? model.sloMs }));
  return problemOf({ spec: { ...spec, models }, profiles });
}

function unmetSlos(made: MadeSpec, { models }: NoPlan): Refutation[] {
  const told = models.map(({ feasibleSloMs }) => feasibleSloMs);
  if (told.some((sloMs) => sloMs === undefined)) return [];
  if (bestOf(withSlos(made, (m) => told[m])) !== undefined) return [];
  return [{ claim: `SLOs of ${told.join(', ')} ms have a plan`, found: 'of all plans none is feasible' }];
}

/** A model whose SLO is shorter than any pipeline meets has no plan, however many GPUs there are. */
function shorterSlos(made: MadeSpec, { models }: NoPlan): Refutation[] {
  return models.flatMap(({ name, smallestFeasibleSloMs: least }, m) => {
    if (least === undefined) return [];
    const problem = withSlos(made, (k) => (k === m ? least * BELOW : undefined));
    const alone = { ...problem, models: [{ ...problem.models[m], minShare: {} }] } as PooledProblem;
    const rules = { objective: 'throughput', wholeGpusPer: 'pool', virtualPer: 'gpu' } as const;
    const asked = { ...alone, planner: { ...alone.planner, ...rules } };
    const best = bestOf(withCounts(asked, () => 2));
    if (best === undefined) return [];
    return [{ claim: `${name} meets no SLO below ${least} ms`, found: `it serves ${best}/s just below` }];
  });
}

/** servedMore tries the rates that are told to be too high, and the GPUs that are told to be too few. */
function servedMore(problem: PooledProblem, { reasons }: NoPlan): Refutation[] {
  return reasons.flatMap(({ servedShare: share, missing }) => {
    if (share === undefined || share <= 0) return [];
    const faults: Refutation[] = [];
    const more = share / BELOW;
    const lower = withModels(problem, ({ rps }) => (rps === undefined ? {} : { rps: rps * more }));
    if (more < 1 && bestOf(lower) !== undefined)
      faults.push({
        claim: `at most ${share} of the rates can be served`,
        found: `a plan serves ${more} of them`,
      });
    if (missing === undefined) return faults;
    const fewer = withCounts(problem, (name, count) => count + Math.max(0, (missing[name] ?? 0) - 1));
    const isTiny = Object.values(missing).every((count) => count <= 2);
    if (isTiny && bestOf(fewer) !== undefined)
      faults.push({
        claim: `at least ${JSON.stringify(missing)} are missing`,
        found: 'one less of each is enough',
      });
    return faults;
  });
}
