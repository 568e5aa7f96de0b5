import { type Fault, fault, type PooledPlan } from '../../formats/index.js';
import { atNoMargin } from '../../hold/index.js';
import { loadHighs } from '../../lp/index.js';
import { attainmentOverRuns, type RunsFigure } from '../../metrics/index.js';
import { boundPooled } from '../../milp/index.js';
import { promisePool } from './hold.js';
import type { LoadedProblem } from './pooled.js';

const ROUNDING = 1e-9;
/** An LP that is solved again may differ by this share. */
const LP_ROUNDING = 1e-6;

/**
 * repeatedPromiseFaults simulates the runs again that confirm what a plan holds, by their seeds, and solves the LPs again that
 * bound what any plan holds and serves. It reports where the plan has other shares in time, or a bound that is tighter than the
 * LP proves. A looser one is what an LP gives that little work was allowed (`--work`).
 *
 * It takes the time of eight simulations of at most 400,000 requests each.
 * @param plan with no fault that `promiseFaults` finds
 */
export async function repeatedPromiseFaults(
  plan: PooledPlan,
  loaded: Pick<LoadedProblem, 'problem' | 'serving'>,
): Promise<Fault[]> {
  if (plan.hold === undefined) return [];
  return [...(await boundFaults(plan, loaded)), ...(await runFaults(plan, loaded))];
}

async function runFaults(
  plan: PooledPlan,
  loaded: Pick<LoadedProblem, 'problem' | 'serving'>,
): Promise<Fault[]> {
  const { runs, models } = plan.hold as NonNullable<PooledPlan['hold']>;
  const rps = plan.models.map(({ heldRps = 0 }) => heldRps);
  const run = { plan, durationNs: Math.round(1e9 * runs.durationS), warmUp: runs.warmUp, rps };
  const pool = await promisePool(loaded, runs);
  try {
    const found = await Promise.all(runs.seeds.map((seed) => pool.run({ ...run, seed })));
    return models.flatMap(({ simulated }, m) => {
      if (rps[m] === 0) return [];
      const values = found.map((reached) => reached[m]?.attainment ?? 1);
      const arrived = found.reduce((sum, reached) => sum + (reached[m]?.arrived ?? 0), 0);
      const again = attainmentOverRuns(values, arrived);
      if (simulated !== undefined && alike(simulated, again)) return [];
      const said = `is ${rps[m]}; at that rate the runs of hold have ${figures(again)} in time, and the plan says ${simulated === undefined ? 'nothing' : figures(simulated)}`;
      return [fault(said, `/models/${m}/heldRps`)];
    });
  } finally {
    await pool.close();
  }
}

type Figures = Pick<RunsFigure, 'mean' | 'least' | 'most' | 'low' | 'high'>;

function alike(one: Figures, other: Figures): boolean {
  return (['mean', 'least', 'most', 'low', 'high'] as const).every(
    (figure) => Math.abs(one[figure] - other[figure]) <= ROUNDING,
  );
}

function figures({ mean, least, most, low, high }: Figures): string {
  return `${mean} (interval ${low} to ${high}, runs ${least} to ${most})`;
}

async function boundFaults(plan: PooledPlan, { problem }: Pick<LoadedProblem, 'problem'>): Promise<Fault[]> {
  const highs = await loadHighs();
  const { bound, models } = plan.hold as NonNullable<PooledPlan['hold']>;
  const bounded = [
    { path: '/hold/bound', is: bound, shares: models.map(({ attainment }) => attainment) },
    { path: '/objective/bound', is: plan.objective.bound, shares: models.map(() => 1) },
  ];
  return bounded.flatMap(({ path, is, shares }) => {
    const proved = boundPooled(atNoMargin(problem, shares), { highs });
    if (proved === undefined) return [];
    const tighter = problem.planner.objective === 'throughput' ? 1 - is / proved : is / proved - 1;
    return tighter > LP_ROUNDING ? [fault(`is ${is}; the LP with no margin proves ${proved}`, path)] : [];
  });
}
