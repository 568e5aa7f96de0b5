/** The thread that simulates plans for a search of what they hold. It takes one run after another. */
import type { HoldArrivals, PooledPlan, WarmUp } from '../../formats/index.js';
import { serveJobs } from '../../jobs/index.js';
import type { ChosenScheduler } from '../../serving/index.js';
import { simulatedRates } from '../../simulation/index.js';

/** HoldLoad says who serves the plans, and how requests arrive. It is what a thread starts with. */
export interface HoldLoad {
  readonly scheduler: ChosenScheduler;
  readonly arrivals: HoldArrivals;
  readonly cv?: number | undefined;
}

/** HoldJob is one run of a plan. */
export interface HoldJob {
  readonly plan: PooledPlan;
  readonly durationNs: number;
  readonly warmUp?: WarmUp | undefined;
  /** By model, in requests/s. */
  readonly rps: readonly number[];
  readonly seed: number;
}

/** HoldRun is what the models of a run reached. */
export type HoldRun = readonly { readonly attainment?: number | undefined; readonly arrived: number }[];

serveJobs<HoldJob, HoldRun, never, HoldLoad>(
  async ({ plan, durationNs, warmUp, rps, seed }, { data, interrupted }) => {
    // Whoever asked does not wait for the runs that are left.
    if (interrupted()) return [];
    const models = await simulatedRates(plan, { ...data, durationNs, warmUp })(rps, seed);
    return models.map(({ attainment, arrived }) => ({ attainment, arrived }));
  },
);
