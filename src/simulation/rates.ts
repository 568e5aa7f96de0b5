import type { PooledPlan, WarmUp } from '../formats/index.js';
import type { RunFigures } from '../metrics/index.js';
import type { ChosenScheduler } from '../serving/index.js';
import type { ArrivalProcess } from '../workload/index.js';
import { runSimulation } from './run.js';
import { drawnWarmUp } from './warm-up.js';

/** RatesRun says how a plan is simulated at rates that are still to be given. */
export interface RatesRun {
  readonly scheduler: ChosenScheduler;
  readonly arrivals: ArrivalProcess;
  readonly cv?: number | undefined;
  readonly durationNs: number;
  readonly warmUp?: WarmUp | undefined;
}

/**
 * simulatedRates gives a function that simulates a plan at the rates of its models, in requests/s, under a seed, and
 * gives the figures of each model. Executions take what the plan says, and transfers the time of its cluster's links.
 */
export function simulatedRates(
  plan: PooledPlan,
  { scheduler, arrivals: process, cv, durationNs, warmUp }: RatesRun,
): (rps: readonly number[], seed: number) => Promise<RunFigures['models']> {
  const more = {
    ...(cv === undefined ? {} : { cv }),
    ...(warmUp === undefined ? {} : { warmUp: drawnWarmUp(plan.models, warmUp) }),
  };
  return async (rps, seed) => {
    const workload = { kind: 'drawn' as const, process, ...more, durationNs, rps };
    const execution = { slow: 1 };
    const setup = { plan, transfers: 'links' as const, scheduler, execution, workload, seed, exact: false };
    return (await runSimulation(setup, {})).figures.models;
  };
}
