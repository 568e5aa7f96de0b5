/** The thread that simulates plans for a search of what they hold. It takes one plan after another. */
import type { HoldArrivals, PooledPlan } from '../../artifacts/index.js';
import { type HeldRates, heldRates, type RateSearch } from '../../hold/index.js';
import { serveJobs } from '../../jobs/index.js';
import type { ChosenScheduler } from '../../serving/index.js';
import { simulatedRates } from '../../simulation/index.js';

/** HoldLoad says who serves the plans, and how requests arrive. It is what a thread starts with. */
export interface HoldLoad {
  readonly scheduler: ChosenScheduler;
  readonly arrivals: HoldArrivals;
  readonly cv?: number | undefined;
}

/** HoldJob asks which rates a plan holds. */
export interface HoldJob {
  readonly plan: PooledPlan;
  readonly search: RateSearch;
  readonly durationNs: number;
}

serveJobs<HoldJob, HeldRates, never, HoldLoad>(({ plan, search, durationNs }, { data }) =>
  heldRates(simulatedRates(plan, { ...data, durationNs }), search),
);
