/**
 * This benchmark measures the cost of one dispatch of the reservation scheduler, on the published one-model
 * plans at load factor 0.9:
 *
 *     node dist/bench/dispatch.js [requests, default 1000000]
 *
 * It takes a sampling profile of a simulated run: the time of choosing the pipeline, probing, reserving and
 * forming the batch, over the batches dispatched. Releasing reservations counts too, and so do waits that end
 * without a dispatch.
 */
import { existsSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector/promises';
import { basename } from 'node:path';
import { streamOf } from '../src/random/index.js';
import { ReservationCore, topologyOf } from '../src/serving/index.js';
import { simulate } from '../src/simulator/index.js';
import { DrawnArrivals, steadyLoad } from '../src/workload/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { profilesIn, publishedInstances, publishedPlan } from './ppipe/plans.js';

const FOLDER = new URL('../../../shared/data/ppipe/', import.meta.url);
const LOAD = 0.9;
const FILES = ['dispatcher', 'gap-booking', 'reservation-table', 'path'].map((name) => `${name}.js`);
const FUNCTIONS = ['serve', 'dispatch', 'lastMoment', 'waitQuietly', 'togetherWith'];

if (!existsSync(FOLDER)) {
  process.stderr.write('The published plans are not here: nothing to measure.\n');
  process.exit(2);
}
const USAGE = 'node dist/bench/dispatch.js [requests, default 1000000]';
const { positionals } = benchArguments(USAGE, {});
await bench(benchNumber(USAGE, 'requests', positionals[0] ?? '1e6'));

async function bench(requests: number): Promise<void> {
  const profileOf = profilesIn(FOLDER);
  process.stdout.write('ns/dispatch  probes/dispatch  mean batch  CPU ns/request  plan\n');
  for (const instance of publishedInstances(FOLDER).filter(({ models }) => models.length === 1)) {
    const plan = publishedPlan(instance, 'reference', profileOf, 0);
    if (plan === undefined) continue;
    const topology = topologyOf(plan);
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
    const cells = [
      ((1e3 * dispatchUs) / core.dispatches).toFixed(0).padStart(11),
      (core.probes / core.dispatches).toFixed(2).padStart(15),
      (requests / core.dispatches).toFixed(2).padStart(10),
      ((1e3 * totalUs) / requests).toFixed(0).padStart(14),
      instance.id.slice(0, 60),
    ];
    process.stdout.write(`${cells.join('  ')}\n`);
  }
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
