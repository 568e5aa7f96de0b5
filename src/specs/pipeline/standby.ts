import { countedPlan } from '../../checks/index.js';
import { itemAt, largestOf } from '../../collections/index.js';
import { type PipelineLoad, type PipelinePlan, type PipelineSpec, ToldFaults } from '../../formats/index.js';
import { SAMPLE_SEED } from '../../inferline/index.js';
import { type DevicesOf, grantedStandby, standbyOf, withStandby } from '../../pipeline/index.js';
import { applicationsOf, chosenTuner, heldTogether, plannedScheduler } from '../../plans/index.js';
import type { SimulationSetup } from '../../simulation/index.js';
import { rescaledTrace, type Trace } from '../../workload/index.js';
import { type DrawnLoad, drawnWorkload, requestsInDraw } from './pipeline-sample.js';

/** Standby devices are for the load of the plan at twice its rate: at the rate itself, the plan has what it needs. */
const LOAD_FACTOR = 2;
/** No search has drawn with these seeds: a spec asks for 100 draws at most. */
const STANDBY_SEED = SAMPLE_SEED + 200;
const MOST_DRAWS = 5;
/** A load with more requests than this is drawn less often. */
const MANY_REQUESTS = 200_000;

/** StandbyOrigin is what standby devices are planned from, besides a plan. */
interface StandbyOrigin {
  readonly spec: PipelineSpec;
  readonly trace?: Trace | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((doing: string) => void) | undefined;
}

/** lacksStandby says whether a plan has a tuner, and a load to plan its standby devices for, which its spec does not fix. */
function lacksStandby({ serving, load, rps }: PipelinePlan, spec: PipelineSpec): boolean {
  const { tuner = { kind: 'none' } } = serving;
  const fixed = [...spec.stages, ...(spec.shared ?? [])].some(({ standby }) => standby !== undefined);
  return tuner.kind !== 'none' && !fixed && load !== undefined && rps !== undefined;
}

/**
 * plannedStandby adds the standby devices that the tuner of a plan needs when its load doubles. The tuner is simulated over
 * such loads with all devices that the cluster may have for it, and each set gets what it had in use at most. The same
 * devices are then simulated, deployed and served.
 */
export async function plannedStandby(plan: PipelinePlan, origin: StandbyOrigin): Promise<PipelinePlan> {
  if (!lacksStandby(plan, origin.spec)) return plan;
  origin.onProgress?.('simulating its tuner');
  const draws = drawsOf(plan, origin.trace);
  const granted = grantedStandby(plan, await mostInUse(plan, { ...origin, draws }));
  return countedPlan(withStandby(plan, granted, { loadFactor: LOAD_FACTOR, seed: STANDBY_SEED, draws }));
}

/** standbyAgain gives a plan the standby devices of another, where it is to have some, without simulating its tuner. */
export async function standbyAgain(
  plan: PipelinePlan,
  before: PipelinePlan,
  { spec, trace }: StandbyOrigin,
): Promise<PipelinePlan> {
  if (!lacksStandby(plan, spec)) return plan;
  const found = { loadFactor: LOAD_FACTOR, seed: STANDBY_SEED, draws: drawsOf(plan, trace) };
  return withStandby(plan, standbyOf(before), found);
}

function drawsOf({ load }: PipelinePlan, trace: Trace | undefined): number {
  if (trace?.kind === 'arrivals') return 1;
  const enough = Math.floor(MANY_REQUESTS / (LOAD_FACTOR * requestsInDraw(load as PipelineLoad, trace)));
  return Math.max(1, Math.min(MOST_DRAWS, enough));
}

/** mostInUse simulates the tuner, and gives the most devices that each set had in use at a time. */
async function mostInUse(
  plan: PipelinePlan,
  { trace, signal, draws }: StandbyOrigin & { readonly draws: number },
): Promise<DevicesOf> {
  // Only plans with a tuner need the room.
  const { SimulationPool } = await import('../../simulation/index.js');
  const pool = new SimulationPool(await setupOf(plan, trace), { signal });
  try {
    const runs = await pool.runAll(
      Array.from({ length: draws }, (_, draw) => {
        const seed = STANDBY_SEED + draw;
        return { name: `the tuner under seed ${seed}`, job: { seed } };
      }),
    );
    signal?.throwIfAborted();
    const mostOf = (stage: string): number => {
      const i = plan.stages.findIndex(({ name }) => name === stage);
      return Math.max(0, largestOf(runs.map(({ figures }) => figures.pools[i]?.inUse?.most ?? 0)));
    };
    return new Map(heldTogether(plan).map((names) => [itemAt(names, 0), largestOf(names.map(mostOf))]));
  } finally {
    await pool.close();
  }
}

/** setupOf makes the simulation of a plan with all devices that its tuner may have, at a multiple of its load. */
async function setupOf(plan: PipelinePlan, trace: Trace | undefined): Promise<SimulationSetup> {
  const { traceWorkload } = await import('../../simulation/index.js');
  const told = new ToldFaults();
  const { serving, sloMs, kind, applications } = plan;
  const asked = { options: {}, leastSloNs: 1e6 * sloMs, kind, applications };
  const chosen = plannedScheduler(serving, asked, told);
  const tuned = chosen && chosenTuner(plan, chosen, { onlyStandby: false });
  told.addAll(tuned?.faults ?? []);
  if (tuned === undefined || told.count > 0) throw told.error(`tune ${plan.name}`);
  const rps = LOAD_FACTOR * (plan.rps as number);
  const shares = applicationsOf(plan).map(({ weight }) => weight);
  const workload =
    trace === undefined
      ? drawnWorkload({ ...(plan.load as DrawnLoad), rps }, shares)
      : traceWorkload(rescaledTrace(trace, { meanRps: rps }), shares);
  return {
    plan: tuned.plan,
    scheduler: tuned.scheduler,
    workload,
    seed: STANDBY_SEED,
    exact: false,
    execution: { slow: 1 },
    transfers: 'links',
  };
}
