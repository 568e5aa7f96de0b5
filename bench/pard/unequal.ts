/**
 * This program serves the workloads of PARD's evaluation by stages on two classes of GPU, of which the second takes so
 * many times as long:
 *
 *     node dist/bench/pard/unequal.js [--ratio 2] [--seconds 120] [--seeds 5] [--load 0.5] [--only lv-tweet] [--json file]
 *
 * Each stage has the 2080 Ti of its example, those on standby too, but half of their throughput comes from the slow class. No
 * tuner changes them. The mean rate is so much of what the devices can serve at once, and the traces are made. Every batch
 * takes what its own device takes. What schedulers believe of it differs:
 * - mean: all devices of a stage are of one class, with the mean latencies by share of throughput: the paper's PARD.
 * - slowest: all are of the slow class.
 * - known: which device is of which class.
 * The drop rate counts late requests. The invalid rate is of device time. Differences are to PARD under `mean`, seed by seed,
 * with two standard errors.
 */
import type { OtherReplicas, PipelinePlan, PlannedStage, StagePlacement } from '../../src/formats/index.js';
import { applicationsOf, planOf, planTopologyOf } from '../../src/plans/index.js';
import { streamsOf, uniformAt } from '../../src/random/index.js';
import { makeCore, type Pool, type StageTopology } from '../../src/serving/index.js';
import { arrivalsOf, traceWorkload } from '../../src/simulation/index.js';
import { simulate } from '../../src/simulator/index.js';
import { benchArguments, benchNumber } from '../arguments.js';
import { measuresOf, saveResult } from '../results/result.js';
import { tableText } from '../results/table.js';
import { pairedSpread, percentText, pointsText, spreadOf } from './figures/spread.js';
import { type RunCounts, WatchedRun } from './figures/watched-run.js';
import { madeRates, TRACE_VARIATIONS, type TraceName } from './made-traces.js';
import {
  APPLICATIONS,
  type ApplicationName,
  applicationPlan,
  countTrace,
  servedWorkload,
} from './workloads.js';

const USAGE =
  'node dist/bench/pard/unequal.js [--ratio 2] [--seconds 120] [--seeds 5] [--load 0.5] [--only lv-tweet] [--json file]';
const SLOW = 'slow';

type Belief = 'mean' | 'slowest' | 'known';

/** Server is a scheduler with what it believes of the devices. */
interface Server {
  readonly scheduler: string;
  readonly policy?: readonly string[];
  readonly belief: Belief;
}

const SERVERS: readonly Server[] = [
  { scheduler: 'pard', belief: 'mean' },
  { scheduler: 'pard', belief: 'slowest' },
  { scheduler: 'pard', belief: 'known' },
  { scheduler: 'pard', policy: ['dispatch=least-work'], belief: 'mean' },
  { scheduler: 'pard', policy: ['dispatch=least-work'], belief: 'known' },
  { scheduler: 'room-first', belief: 'mean' },
  { scheduler: 'room-first', belief: 'known' },
  { scheduler: 'stage-local', belief: 'known' },
  { scheduler: 'nexus', belief: 'mean' },
  { scheduler: 'nexus', belief: 'known' },
  { scheduler: 'clipper++', belief: 'mean' },
  { scheduler: 'clipper++', belief: 'known' },
];

interface Row {
  readonly workload: string;
  readonly server: string;
  /** By seed. */
  readonly dropRates: readonly number[];
  readonly invalidRates: readonly number[];
}

const { values } = benchArguments(USAGE, {
  ratio: { type: 'string', default: '2' },
  seconds: { type: 'string', default: '120' },
  seeds: { type: 'string', default: '5' },
  load: { type: 'string', default: '0.5' },
  only: { type: 'string', default: '^(tm|lv)-' },
  json: { type: 'string' },
});
const ratio = benchNumber(USAGE, '--ratio', values.ratio);
const seconds = benchNumber(USAGE, '--seconds', values.seconds);
const load = benchNumber(USAGE, '--load', values.load);
const seeds = Array.from({ length: benchNumber(USAGE, '--seeds', values.seeds) }, (_, seed) => seed);
const traces = Object.keys(TRACE_VARIATIONS) as TraceName[];
const workloads = APPLICATIONS.flatMap((application) =>
  traces.map((trace) => ({ application, trace })),
).filter(({ application, trace }) => new RegExp(values.only).test(`${application}-${trace}`));
const rows: Row[] = [];
for (const { application, trace } of workloads) {
  const own = await rowsOf(application, trace);
  rows.push(...own);
  show(own);
}
const { json, ...options } = values;
saveResult(json, {
  bench: 'pard-unequal',
  options,
  measures: measuresOf(rows, ({ workload, server }) => `${workload}, ${server}`, {
    'drop rate': ({ dropRates }) => dropRates,
    'invalid rate': ({ invalidRates }) => invalidRates,
  }),
  rows,
});

async function rowsOf(application: ApplicationName, trace: TraceName): Promise<Row[]> {
  const plan = onTwoClasses(await applicationPlan(application));
  return SERVERS.map((server): Row => {
    const runs = seeds.map((seed) => served(plan, trace, { seed, server }));
    return {
      workload: `${application}-${trace}`,
      server: [server.scheduler, ...(server.policy ?? []), server.belief].join(', '),
      dropRates: runs.map(({ arrived, inTime }) => (arrived - inTime) / arrived),
      invalidRates: runs.map(({ usedNs, wastedNs }) => wastedNs / usedNs),
    };
  });
}

/** onTwoClasses moves half of the throughput of each stage to devices of a slow class, and has all in use. */
function onTwoClasses(plan: PipelinePlan): PipelinePlan {
  const placement: StagePlacement[] = [];
  const stages = plan.stages.map(({ standby = 0, ...stage }): PlannedStage => {
    const all = stage.replicas + standby;
    const replicas = Math.ceil(all / 2);
    const slow = Math.round((all - replicas) * ratio);
    const seat = (name: string, count: number) => {
      const server = `${name}-${placement.length}`;
      placement.push({ server, gpu: 0, count, class: name, virtual: 1, stages: [stage.name] });
    };
    seat(stage.device, replicas);
    if (slow === 0) return { ...stage, replicas };
    seat(SLOW, slow);
    const other: OtherReplicas = {
      device: SLOW,
      virtual: 1,
      replicas: slow,
      throughputRps: stage.throughputRps / ratio,
      latencyUsByBatch: stage.latencyUsByBatch.map((us) => (us === null ? null : us * ratio)),
    };
    return { ...stage, replicas, others: [other] };
  });
  const { tuner: _, ...serving } = plan.serving;
  const most = 1000;
  const cluster = {
    devices: { [stages[0]?.device as string]: { perServer: most }, [SLOW]: { perServer: most } },
  };
  const throughputRps = Math.min(
    ...stages.map(({ replicas, throughputRps: own, others = [], scaleFactor }) => {
      const rps = others.reduce((sum, one) => sum + one.replicas * one.throughputRps, replicas * own);
      return rps / scaleFactor;
    }),
  );
  return { ...plan, stages, placement, serving, cluster, throughputRps };
}

function served(
  plan: PipelinePlan,
  trace: TraceName,
  { seed, server }: { readonly seed: number; readonly server: Server },
): RunCounts {
  const rates = countTrace(madeRates(trace, seconds, seed), load * plan.throughputRps);
  const workload = traceWorkload(rates);
  const { scheduler, belief, policy = [] } = server;
  const setup = servedWorkload({ plan, workload, seed }, { scheduler, policy });
  const topology = planTopologyOf(plan, { transfers: 'links', rules: 'own' });
  const believed = believedTopology(topology, belief);
  const { fates } = planOf(plan).world(plan);
  const verdict = fates?.((purpose) => uniformAt(seed, purpose));
  const watched = new WatchedRun(topology.pools.length, seconds);
  simulate({
    topology: believed,
    arrivals: arrivalsOf(workload, applicationsOf(plan), seed),
    observers: [watched],
    execution: (pool, size, plannedNs, device) => {
      const { classes } = topology.pools[pool] as Pool;
      const own = classes?.[topology.devices[device]?.poolClass ?? 0];
      return own?.latencyNs[size - 1] ?? plannedNs;
    },
    ...(verdict === undefined ? {} : { verdict }),
    makeCore: (decisions) =>
      makeCore(setup.scheduler, believed, { decisions, streams: streamsOf(seed, 'core') }),
  });
  return watched.counts();
}

function believedTopology(topology: StageTopology, belief: Belief): StageTopology {
  if (belief === 'known') return topology;
  const pools = topology.pools.map(({ classes, ...pool }): Pool => {
    const slowest = classes?.at(-1)?.latencyNs;
    return belief === 'slowest' && slowest !== undefined ? { ...pool, latencyNs: slowest } : pool;
  });
  const devices = topology.devices.map(({ poolClass: _, ...device }) => device);
  return { ...topology, pools, devices };
}

function show(own: readonly Row[]): void {
  const [paper] = own as [Row, ...Row[]];
  const cells = own.map((row) => [
    row.server,
    percentText(spreadOf(row.dropRates)),
    row === paper ? '' : pointsText(pairedSpread(row.dropRates, paper.dropRates)),
    percentText(spreadOf(row.invalidRates)),
  ]);
  process.stdout.write(`${paper.workload}\n`);
  process.stdout.write(tableText([['scheduler, belief', 'drop %', 'to the paper', 'invalid %'], ...cells]));
}
