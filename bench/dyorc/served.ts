import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import type { OpenCluster, WorkflowPlan, WorkflowSpec } from '../../src/formats/index.js';
import { uniformAt } from '../../src/random/index.js';
import type { WorkflowScheduler } from '../../src/serving/index.js';
import { RecordedRuns, simulatedWorkflows, type WorkflowLoad } from '../../src/simulation/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { runsOfRequests } from '../../src/workload/index.js';
import { arrivalsOf, type Load } from './azure-load.js';

const EXAMPLES = fileURLToPath(new URL('../../../examples/workflows/', import.meta.url));

/** Asked changes an example: how many devices it has, and in how many groups. */
export interface Asked {
  readonly devices?: number;
  readonly subclusters?: number;
  /** What its devices have else than in the example. */
  readonly device?: Partial<OpenCluster['devices'][string]>;
}

/** planOfExample solves an example of examples/workflows, with other devices where that is asked for. */
export async function planOfExample(
  name: string,
  { devices, subclusters, device = {} }: Asked = {},
): Promise<WorkflowPlan> {
  const spec = parse(readFileSync(join(EXAMPLES, `${name}.yaml`), 'utf8')) as WorkflowSpec;
  const cluster = parse(readFileSync(join(EXAMPLES, 'cluster.yaml'), 'utf8')) as OpenCluster;
  const [own] = Object.values(cluster.devices);
  if (own === undefined) throw new Error('the cluster of the examples has no class');
  const share = (devices ?? own.count ?? 1) / (own.count ?? 1);
  Object.assign(own, device, { count: devices ?? own.count ?? 1 });
  const folder = mkdtempSync(join(tmpdir(), 'inferplan-dyorc-'));
  try {
    const load = spec.load as Extract<NonNullable<WorkflowSpec['load']>, { rps: number }>;
    const path = join(folder, 'spec.json');
    const changed = {
      ...spec,
      cluster,
      load: { ...load, rps: load.rps * share },
      components: spec.components.map((one) => ({ ...one, profile: join(EXAMPLES, one.profile) })),
      planner: { ...spec.planner, ...(subclusters === undefined ? {} : { subclusters }) },
    };
    writeFileSync(path, JSON.stringify(changed));
    const solved = await solveSpec(path, {});
    if (!('plan' in solved) || solved.plan.kind !== 'workflow-plan') throw new Error(`${name} has no plan`);
    return solved.plan;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Served is what a scheduler made of a load. */
export interface Served {
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly dropped: number;
  readonly tasks: number;
  readonly loads: number;
  readonly meanBatch: number;
  readonly deviceTime: {
    readonly executing: number;
    readonly loading: number;
    readonly both: number;
    readonly idle: number;
  };
  /** The share of next calls that were as expected, where anything was. */
  readonly right: number | undefined;
  /** The share of next calls of which at least the component was as expected. */
  readonly rightComponents: number | undefined;
  /** Processor time of the whole run. */
  readonly cpuUs: number;
  /** The mean latency of the requests that came in each tenth of the time. */
  readonly tenthsMs: readonly number[];
}

/** ServedLoad is what comes, and in what the scheduler differs from its own rules. */
export interface ServedLoad extends Pick<WorkflowLoad, 'seed' | 'policy' | 'isForeseen'> {
  readonly load: Load;
}

/** served simulates a plan under a scheduler with a load. */
export function served(
  plan: WorkflowPlan,
  scheduler: WorkflowScheduler,
  { load, seed, ...rules }: ServedLoad,
): Served {
  const recorded = new RecordedRuns(plan.components.map(({ name }) => name));
  const drawn = runsOfRequests(
    plan.workflows.map(({ name, chain }) => ({ name, chain: chain as NonNullable<typeof chain> })),
    uniformAt(seed, 'requests'),
  );
  const spanNs = Math.max(1, ...load.atNs.slice(-1));
  const tenths = Array.from({ length: 10 }, () => ({ sumMs: 0, count: 0 }));
  const before = process.cpuUsage();
  const { figures, tasks, guesses } = simulatedWorkflows(plan, {
    ...rules,
    scheduler,
    seed,
    arrivals: arrivalsOf(load),
    spanNs: () => spanNs,
    exact: true,
    runOf: (order, workflow) => {
      const found = drawn(order, workflow);
      if (!('run' in found)) throw new Error('a chain is too long');
      return recorded.of(found.run);
    },
    observers: () => [
      {
        ended: (atNs, _model, _request, arrivedNs) => {
          const tenth = tenths[Math.min(9, Math.floor((10 * arrivedNs) / spanNs))];
          if (tenth === undefined) return;
          tenth.sumMs += (atNs - arrivedNs) / 1e6;
          tenth.count += 1;
        },
      },
    ],
  });
  const { user, system } = process.cpuUsage(before);
  const { overall, deviceTime, loads, pools } = figures;
  const batches = pools.reduce((sum, pool) => sum + pool.batches, 0);
  return {
    meanMs: overall.latencyMs?.mean ?? 0,
    p50Ms: overall.latencyMs?.p50 ?? 0,
    p95Ms: overall.latencyMs?.p95 ?? 0,
    p99Ms: overall.latencyMs?.p99 ?? 0,
    dropped: overall.dropped,
    tasks,
    loads,
    deviceTime,
    cpuUs: user + system,
    meanBatch: pools.reduce((sum, pool) => sum + pool.rows, 0) / Math.max(1, batches),
    right: guesses === undefined ? undefined : guesses.right / guesses.made,
    rightComponents: guesses === undefined ? undefined : guesses.rightComponents / guesses.made,
    tenthsMs: tenths.map(({ sumMs, count }) => (count === 0 ? 0 : sumMs / count)),
  };
}
