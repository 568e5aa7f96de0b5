import type {
  HeldTimes,
  RequestsToBound,
  SampleFigures,
  SimulatedSample,
  ToSimulate,
} from '../../dyorc/index.js';
import type { DeviceTimeShares, SampleOfWorkflow } from '../../formats/index.js';
import { type Subcluster, workflowPolicyOf } from '../../plans/index.js';
import type { WorkflowScheduler } from '../../serving/index.js';
import { RecordedRuns, simulatedWorkflows, type WorkflowRun } from '../../simulation/index.js';
import type { SimulationObserver } from '../../simulator/index.js';
import type { Arrivals } from '../../workload/index.js';

/** simulatedSample serves requests by a plan, and reports what came of them, and for how long devices held what. */
export function simulatedSample({ plan, seed, requests }: ToSimulate): SimulatedSample {
  const recorded = new RecordedRuns(plan.components.map(({ name }) => name));
  const held = new HeldComponents(plan.placement.length, plan.components.length);
  const run = simulatedWorkflows(plan, {
    scheduler: plan.serving.scheduler as WorkflowScheduler,
    arrivals: arrivalsIn(requests),
    runOf: (order) => recorded.of(requests.runs[order] as RequestsToBound['runs'][number]),
    seed,
    policy: workflowPolicyOf(plan.serving),
    ...spanOf(requests),
    observers: (group) => [held.observing(group)],
  });
  held.end(run.endNs);
  return { figures: figuresOf(plan, run), heldNs: held.times };
}

function spanOf({ spanNs }: RequestsToBound): { readonly spanNs?: () => number } {
  return spanNs === undefined ? {} : { spanNs: () => spanNs };
}

/** arrivalsIn gives requests that were drawn as arrivals. */
function arrivalsIn({ atNs, workflows }: RequestsToBound): Arrivals {
  let next = -1;
  return {
    next: () => ++next < atNs.length,
    get atNs() {
      return atNs[next] as number;
    },
    get model() {
      return workflows[next] as number;
    },
  };
}

/** HeldComponents adds up for how long devices hold components, both by their places in a plan. */
class HeldComponents {
  private readonly heldNs: Float64Array;
  /** Since when a device holds a component, Infinity where it does not. */
  private readonly sinceNs: Float64Array;

  constructor(
    devices: number,
    private readonly components: number,
  ) {
    this.heldNs = new Float64Array(devices * components);
    this.sinceNs = new Float64Array(devices * components).fill(Number.POSITIVE_INFINITY);
  }

  readonly times: HeldTimes = (device, component) => this.heldNs[this.cell(device, component)] as number;

  /** observing watches the devices of a group, which hold what they begin with from 0 on. */
  observing({ devices, table }: Subcluster): SimulationObserver {
    const cellOf = (device: number, pool: number): number =>
      this.cell(devices[device] as number, table.pools[pool]?.component as number);
    for (const [device, { holds }] of table.devices.entries())
      for (const pool of holds) this.sinceNs[cellOf(device, pool)] = 0;
    return {
      loaded: (atNs, device, pool) => {
        this.sinceNs[cellOf(device, pool)] = atNs;
      },
      evicted: (atNs, device, pool) => this.left(atNs, cellOf(device, pool)),
    };
  }

  /** end counts what is held at the end. */
  end(atNs: number): void {
    for (const cell of this.sinceNs.keys()) this.left(atNs, cell);
  }

  private left(atNs: number, cell: number): void {
    // A component that leaves before it has come was not held.
    this.heldNs[cell]! += Math.max(0, atNs - (this.sinceNs[cell] as number));
    this.sinceNs[cell] = Number.POSITIVE_INFINITY;
  }

  private cell(device: number, component: number): number {
    return device * this.components + component;
  }
}

function figuresOf(
  { workflows }: ToSimulate['plan'],
  { figures, tasks, guesses }: WorkflowRun,
): SampleFigures {
  const { overall, deviceTime, loads, evictions } = figures;
  const { mean = 0, p50 = 0, p95 = 0, p99 = 0 } = overall.latencyMs ?? {};
  return {
    requests: overall.arrived,
    tasks,
    meanMs: mean,
    p50Ms: p50,
    p95Ms: p95,
    p99Ms: p99,
    dropped: overall.dropped + overall.failed,
    workflows: workflows.map(({ name, sloMs }, w): SampleOfWorkflow => {
      const own = figures.workflows[w] as (typeof figures.workflows)[number];
      const latency = own.latencyMs;
      return {
        name,
        requests: own.arrived,
        ...(latency === undefined
          ? {}
          : { meanMs: latency.mean, p50Ms: latency.p50, p95Ms: latency.p95, p99Ms: latency.p99 }),
        ...(sloMs === undefined || own.arrived === 0 ? {} : { attainment: own.inTime / own.arrived }),
      };
    }),
    deviceTime: sharesOf(deviceTime),
    loads,
    evictions,
    ...(guesses === undefined || guesses.made === 0 ? {} : { rightGuesses: guesses.right / guesses.made }),
  };
}

function sharesOf({ executing, loading, both, idle }: DeviceTimeShares): DeviceTimeShares {
  return { executing, loading, both, idle };
}
