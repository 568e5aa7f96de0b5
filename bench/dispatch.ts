/**
 * This benchmark measures the cost of one dispatch of the reservation scheduler, on the published one-model
 * plans at load factor 0.9:
 *
 *     node dist/bench/dispatch.js [requests, default 1000000] [--json file]
 *
 * It takes a sampling profile of a simulated run: the time of choosing the pipeline, probing, reserving and
 * forming the batch, over the batches dispatched. Releasing reservations counts too, and so do waits that end
 * without a dispatch.
 */
import { existsSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector/promises';
import { basename } from 'node:path';
import { topologyOf } from '../src/plans/index.js';
import { streamOf } from '../src/random/index.js';
import { ReservationCore, type Topology } from '../src/serving/index.js';
import { simulate } from '../src/simulator/index.js';
import { DrawnArrivals, steadyLoad } from '../src/workload/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { profilesIn, publishedInstances, publishedPlan } from './ppipe/plans.js';
import { inputsAt, measuresOf, saveResult } from './results/result.js';

const FOLDER = new URL('../../../shared/data/ppipe/', import.meta.url);
const LOAD = 0.9;
const FILES = ['dispatcher', 'gap-booking', 'reservation-table', 'path'].map((name) => `${name}.js`);
const FUNCTIONS = ['serve', 'dispatch', 'lastMoment', 'waitQuietly', 'togetherWith'];

if (!existsSync(FOLDER)) {
  process.stderr.write('The published plans are not here: nothing to measure.\n');
  process.exit(2);
}
const USAGE = 'node dist/bench/dispatch.js [requests, default 1000000] [--json file]';
const { values, positionals } = benchArguments(USAGE, { json: { type: 'string' } });
await bench(benchNumber(USAGE, 'requests', positionals[0] ?? '1e6'), values.json);

interface Row {
  readonly plan: string;
  readonly nsPerDispatch: number;
  readonly probesPerDispatch: number;
  readonly meanBatch: number;
  readonly cpuNsPerRequest: number;
}

async function bench(requests: number, json: string | undefined): Promise<void> {
  const profileOf = profilesIn(FOLDER);
  const rows: Row[] = [];
  if (json !== '-') process.stdout.write('ns/dispatch  probes/dispatch  mean batch  CPU ns/request  plan\n');
  for (const instance of publishedInstances(FOLDER).filter(({ models }) => models.length === 1)) {
    const plan = publishedPlan(instance, 'reference', { profileOf, only: 0 });
    if (plan === undefined) continue;
    const row = await measured(instance.id, topologyOf(plan), requests);
    rows.push(row);
    if (json !== '-') process.stdout.write(lineOf(row));
  }
  saveResult(json, {
    bench: 'dispatch',
    options: { requests },
    inputs: inputsAt(FOLDER, 'published plans'),
    measures: measuresOf(rows, (row) => row.plan, {
      'ns/dispatch': (row) => row.nsPerDispatch,
      'probes/dispatch': (row) => row.probesPerDispatch,
      'mean batch': (row) => row.meanBatch,
      'CPU ns/request': (row) => row.cpuNsPerRequest,
    }),
    rows,
  });
}

/** measured samples a run after one that warms up the code. */
async function measured(plan: string, topology: Topology, requests: number): Promise<Row> {
  const rps = LOAD * (topology.models[0]?.throughputRps as number);
  const run = () => {
    const load = steadyLoad(rps, requests / rps);
    let core: ReservationCore | undefined;
    simulate({
      topology,
      makeCore: (decisions) => {
        core = new ReservationCore(topology, decisions);
        return core;
      },
      arrivals: new DrawnArrivals({ process: 'poisson', load, stream: streamOf(1, 'arrivals'), model: 0 }),
    });
    return core as unknown as ReservationCore;
  };
  run();
  const { core, totalUs, dispatchUs } = await sampled(run);
  return {
    plan,
    nsPerDispatch: (1e3 * dispatchUs) / core.dispatches,
    probesPerDispatch: core.probes / core.dispatches,
    meanBatch: requests / core.dispatches,
    cpuNsPerRequest: (1e3 * totalUs) / requests,
  };
}

function lineOf({ plan, nsPerDispatch, probesPerDispatch, meanBatch, cpuNsPerRequest }: Row): string {
  const cells = [
    nsPerDispatch.toFixed(0).padStart(11),
    probesPerDispatch.toFixed(2).padStart(15),
    meanBatch.toFixed(2).padStart(10),
    cpuNsPerRequest.toFixed(0).padStart(14),
    plan.slice(0, 60),
  ];
  return `${cells.join('  ')}\n`;
}

async function sampled(run: () => ReservationCore) {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: 200 });
  await session.post('Profiler.start');
  const core = run();
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  return { core, ...shares(profile) };
}

function shares({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile) {
  const isDispatch = new Map(nodes.map(({ id, callFrame }) => [id, belongs(callFrame)]));
  let totalUs = 0;
  let dispatchUs = 0;
  samples.forEach((id, i) => {
    totalUs += timeDeltas[i] as number;
    if (isDispatch.get(id) === true) dispatchUs += timeDeltas[i] as number;
  });
  return { totalUs, dispatchUs };
}

function belongs({ url, functionName }: Profiler.Profile['nodes'][number]['callFrame']): boolean {
  const file = basename(url);
  return FILES.includes(file) || (file === 'reservation.js' && FUNCTIONS.includes(functionName));
}
