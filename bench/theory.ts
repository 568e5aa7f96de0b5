/**
 * This benchmark compares simulated waits with those of queueing theory: `node dist/bench/theory.js [--scale 1] [--seed
 * 1] [--json file]`.
 *
 * There is one pool with batches of one row. No request is dropped, and none waits for company. Each case is so long
 * that three standard deviations of its mean wait are 1 % of it; `--scale` multiplies the length.
 */
import { streamOf } from '../src/random/index.js';
import { StageLocalCore } from '../src/serving/index.js';
import { type SimulationView, simulate } from '../src/simulator/index.js';
import { DrawnArrivals, steadyLoad } from '../src/workload/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { measuresOf, saveResult } from './results/result.js';
import { topologyWith } from './simulate/topologies.js';

interface Case {
  readonly queue: 'M/M/1' | 'M/D/1' | 'M/D/c';
  readonly servers: number;
  readonly utilisation: number;
  readonly requests: number;
}

const CASES: readonly Case[] = [
  { queue: 'M/M/1', servers: 1, utilisation: 0.3, requests: 1.4e6 },
  { queue: 'M/M/1', servers: 1, utilisation: 0.5, requests: 1.8e6 },
  { queue: 'M/D/1', servers: 1, utilisation: 0.5, requests: 0.8e6 },
  { queue: 'M/D/1', servers: 1, utilisation: 0.7, requests: 1.6e6 },
  { queue: 'M/D/c', servers: 2, utilisation: 0.6, requests: 1.2e6 },
  { queue: 'M/D/c', servers: 5, utilisation: 0.7, requests: 4.3e6 },
];
const SERVICE_MS = 1;
const SERVICE_NS = 1e6;

const USAGE = 'node dist/bench/theory.js [--scale 1] [--seed 1] [--json file]';
const { values } = benchArguments(USAGE, {
  scale: { type: 'string', default: '1' },
  seed: { type: 'string', default: '1' },
  json: { type: 'string' },
});
const scale = benchNumber(USAGE, '--scale', values.scale);
const seed = benchNumber(USAGE, '--seed', values.seed);
const rows = CASES.map((c) => {
  const measured = meanWait(c, scale, seed);
  const exact = exactWait(c);
  return { ...c, measured, exact, error: measured / exact - 1 };
});
if (values.json !== '-') process.stdout.write(rows.map(line).join(''));
saveResult(values.json, {
  bench: 'theory',
  options: { scale, seed },
  measures: measuresOf(rows, ({ queue, servers, utilisation }) => `${queue} c=${servers} ρ=${utilisation}`, {
    'mean wait in services': ({ measured }) => measured,
  }),
  rows,
});

function line({ queue, servers, utilisation, measured, exact, error }: (typeof rows)[number]): string {
  const told = `${queue} c=${servers} ρ=${utilisation}: mean wait ${measured.toFixed(5)} services`;
  return `${told}, theory ${exact.toFixed(5)}, ${(100 * error).toFixed(2)} %\n`;
}

/** meanWait simulates a queue and gives the mean time from arrival to start, in services. */
function meanWait({ queue, servers, utilisation, requests }: Case, scale: number, seed: number): number {
  const topology = topologyWith(1e9, [[{ devices: servers, batch: 1, fixedMs: 0, perRowMs: SERVICE_MS }]]);
  const rps = (utilisation * servers * 1e9) / SERVICE_NS;
  const services = streamOf(seed, 'services');
  const watched: { view?: SimulationView } = {};
  let waitedNs = 0;
  const summary = simulate({
    topology,
    makeCore: (decisions) =>
      new StageLocalCore(topology, decisions, {
        drop: { kind: 'never' },
        formation: { kind: 'eager' },
        order: { kind: 'fifo' },
        correction: { kind: 'none' },
      }),
    arrivals: new DrawnArrivals({
      process: 'poisson',
      load: steadyLoad(rps, (scale * requests) / rps),
      stream: streamOf(seed, 'arrivals'),
    }),
    observers: [
      {
        begun: (view) => {
          watched.view = view;
        },
        started: (batch, _pool, _device, _size, _handedNs, startNs) => {
          const { core, requestOf, arrivedAt } = watched.view!;
          waitedNs += startNs - arrivedAt(requestOf(core.batchTask(batch, 0)));
        },
      },
    ],
    ...(queue === 'M/M/1'
      ? { execution: (_pool: number, _size: number, ns: number) => ns * services.exponential() }
      : {}),
  });
  return waitedNs / summary.requests / SERVICE_NS;
}

function exactWait({ queue, servers, utilisation }: Case): number {
  switch (queue) {
    case 'M/M/1':
      return utilisation / (1 - utilisation);
    case 'M/D/1':
      return utilisation / (2 * (1 - utilisation));
    case 'M/D/c':
      return meanWaitMDc(servers, utilisation);
  }
}

/**
 * meanWaitMDc computes the mean wait of M/D/c (Crommelin 1932). After one service time, all who were being served have
 * left, and all who arrived in it are present. So the number in the system at multiples of the service is a chain, N' =
 * max(N − c, 0) + Poisson(cρ). Its stationary mean holds at any time, and Little's law turns it into the wait.
 */
function meanWaitMDc(servers: number, utilisation: number): number {
  const states = 400;
  const steps = 400;
  const mean = servers * utilisation;
  const coming = [Math.exp(-mean)];
  for (let k = 1; k < states; k++) coming.push((coming[k - 1]! * mean) / k);
  let now = new Float64Array(states);
  now[0] = 1;
  for (let step = 0; step < steps; step++) {
    const next = new Float64Array(states);
    for (let n = 0; n < states; n++) {
      const left = Math.max(n - servers, 0);
      for (let k = 0; left + k < states; k++) next[left + k]! += now[n]! * coming[k]!;
    }
    now = next;
  }
  return now.reduce((sum, p, n) => sum + p * n, 0) / mean - 1;
}
