import type { PooledPlan } from '../../../src/formats/index.js';
import type { PlanExplanation, PooledProblem } from '../../../src/milp/index.js';
import type { Refutation } from '../refuter.js';
import { type MadeSpec, problemOf } from './random-spec.js';
import { bestOf, isBetter, withCounts } from './values.js';

/** The SLO of the next plan is told this far below the one that a plan needs. */
const JUST_BELOW = 1e-6;
const ROUNDING = 1e-6;

/** falseExplanations solves by brute force what an explanation says of other clusters and SLOs. */
export function falseExplanations(
  made: MadeSpec,
  plan: PooledPlan,
  { classes, models }: PlanExplanation,
): Refutation[] {
  const problem = problemOf(made);
  const { value } = plan.objective;
  const counted = classes.flatMap(({ name, oneMore, oneLess }) => [
    ...off(`one ${name} more gives ${oneMore}`, gainOf(problem, { name, by: 1, value }), oneMore),
    ...off(`one ${name} less gives ${oneLess}`, gainOf(problem, { name, by: -1, value }), oneLess),
  ]);
  const slos = models.flatMap((model, m) => {
    const { name, tighterSloMs, tighterValue, looserSloMs, looserValue } = model;
    const at = (sloMs: number) => bestOf(withSlo(made, m, sloMs));
    const faults: Refutation[] = [];
    if (tighterSloMs !== undefined) {
      const held = at(tighterSloMs * (1 + JUST_BELOW));
      if (held === undefined || isBetter(problem, value, held))
        faults.push({
          claim: `the plan holds to an SLO of ${tighterSloMs} ms of ${name}`,
          found: `the best is ${held}`,
        });
      const below = at(tighterSloMs * (1 - JUST_BELOW));
      faults.push(
        ...off(`below ${tighterSloMs} ms of ${name} the best is ${tighterValue}`, below, tighterValue),
      );
    }
    if (looserSloMs !== undefined) {
      const best = at(looserSloMs);
      faults.push(
        ...off(`from ${looserSloMs} ms of ${name} on the best is ${looserValue}`, best, looserValue),
      );
    }
    return faults;
  });
  return [...counted, ...slos];
}

function withSlo({ spec, profiles }: MadeSpec, m: number, sloMs: number): PooledProblem {
  const models = spec.models.map((model, k) => (k === m ? { ...model, sloMs } : model));
  return problemOf({ spec: { ...spec, models }, profiles });
}

function gainOf(
  problem: PooledProblem,
  { name, by, value }: { name: string; by: number; value: number },
): number | undefined {
  const { count, taken = 0 } = problem.cluster.devices[name] as { count: number; taken?: number };
  if (count - taken + by < 0) return undefined;
  const best = bestOf(withCounts(problem, (other, own) => (other === name ? own + by : own)));
  return best === undefined ? undefined : best - value;
}

function off(claim: string, found: number | undefined, told: number | undefined): Refutation[] {
  if (found === told) return [];
  const isClose =
    found !== undefined && told !== undefined && Math.abs(found - told) <= ROUNDING * (1 + Math.abs(found));
  return isClose ? [] : [{ claim, found: `brute force says ${found}` }];
}
