/**
 * This program prints how many requests each scheduler keeps in time on a plan under a load, beside what no policy can
 * exceed:
 *
 *     node dist/bench/pard/oracle.js plan.json [--rps 200] [--duration 60] [--arrivals poisson] [--cv 1] [--seed 1]
 *         [--seeds 1] [--slow 1] [--schedulers fifo,reactive,stage-local] [--json file]
 *
 * The load and the fates of requests are those that a simulation with the same options and seed draws. The bound counts all
 * devices of the plan as up all the time, those on standby too.
 */
import { type SimulateOptions, simulatePlan } from '../../src/api/index.js';
import { applicationsOf, planOf, planTopologyOf } from '../../src/plans/index.js';
import { uniformAt } from '../../src/random/index.js';
import { arrivalsOf, prepareSimulation } from '../../src/simulation/index.js';
import { ARRIVAL_PROCESSES, type ArrivalProcess } from '../../src/workload/index.js';
import { benchArguments, benchNumber } from '../arguments.js';
import { measuresOf, saveResult } from '../results/result.js';
import { tableText } from '../results/table.js';
import { inTimeBound } from './oracle/bound.js';
import { offlineProblem } from './oracle/of-topology.js';
import type { OfflineProblem } from './oracle/problem.js';

const USAGE =
  'node dist/bench/pard/oracle.js plan.json [--rps 200] [--duration 60] [--arrivals poisson] [--cv 1] [--seed 1] [--seeds 1] [--slow 1] [--schedulers fifo,reactive,stage-local] [--json file]';

type Asked = SimulateOptions & { readonly seed: number };

interface Row {
  readonly seed: number;
  readonly requests: number;
  /** No policy has more in time. */
  readonly bound: number;
  readonly boundS: number;
  readonly inTime: Readonly<Record<string, number>>;
}

const { values, positionals } = benchArguments(USAGE, {
  rps: { type: 'string' },
  duration: { type: 'string', default: '60' },
  arrivals: { type: 'string', default: 'poisson' },
  cv: { type: 'string' },
  seed: { type: 'string', default: '1' },
  seeds: { type: 'string', default: '1' },
  slow: { type: 'string', default: '1' },
  schedulers: { type: 'string', default: 'fifo,reactive,stage-local' },
  json: { type: 'string' },
});
const [plan] = positionals;
const arrivalProcess = ARRIVAL_PROCESSES.find((name) => name === values.arrivals);
if (plan === undefined || arrivalProcess === undefined) {
  process.stderr.write(`usage: ${USAGE}\n`);
  process.exit(2);
}
const schedulers = values.schedulers.split(',');
const slow = benchNumber(USAGE, '--slow', values.slow);
const firstSeed = benchNumber(USAGE, '--seed', values.seed);
const rows: Row[] = [];
for (let i = 0; i < benchNumber(USAGE, '--seeds', values.seeds); i++)
  rows.push(await rowOf(plan, settingsOf(arrivalProcess, firstSeed + i)));
if (values.json !== '-') show(rows);
const { json, ...options } = values;
saveResult(json, {
  bench: 'pard-oracle',
  options: { plan, ...options },
  measures: measuresOf(rows, ({ seed }) => `seed ${seed}`, {
    'bound, in time': ({ bound }) => bound,
    ...Object.fromEntries(schedulers.map((name) => [`${name}, in time`, ({ inTime }: Row) => inTime[name]!])),
  }),
  rows,
});

function settingsOf(arrivals: ArrivalProcess, seed: number): Asked {
  return {
    seed,
    slow,
    arrivals,
    duration: benchNumber(USAGE, '--duration', values.duration),
    ...(values.rps === undefined ? {} : { rps: [values.rps] }),
    ...(values.cv === undefined ? {} : { cv: benchNumber(USAGE, '--cv', values.cv) }),
  };
}

async function rowOf(path: string, settings: Asked): Promise<Row> {
  const problem = await problemOf(path, settings);
  const before = process.cpuUsage();
  const bound = inTimeBound(problem);
  const { user, system } = process.cpuUsage(before);
  const inTime: Record<string, number> = {};
  for (const scheduler of schedulers) {
    const { report } = await simulatePlan(path, { ...settings, scheduler });
    inTime[scheduler] = report.overall.inTime;
  }
  const requests = problem.arrivalNs.length;
  return { seed: settings.seed, requests, bound, boundS: (user + system) / 1e6, inTime };
}

/** problemOf makes the offline problem of a plan and a load, with the arrivals and fates that a simulation draws. */
async function problemOf(path: string, settings: Asked): Promise<OfflineProblem> {
  const { setup } = await prepareSimulation(path, { ...settings, scheduler: 'stage-local' });
  const { workload, transfers, seed } = setup;
  const topology = planTopologyOf(setup.plan, { transfers, rules: 'own' });
  const arrivals = arrivalsOf(workload, applicationsOf(setup.plan), seed);
  const arrivalNs: number[] = [];
  while (arrivals.next()) arrivalNs.push(arrivals.atNs);
  const { fates } = planOf(setup.plan).world(setup.plan);
  const verdict = fates?.((purpose) => uniformAt(seed, purpose));
  return offlineProblem(topology, { arrivalNs: Float64Array.from(arrivalNs), verdict, slow });
}

function show(all: readonly Row[]): void {
  const share = (of: number, requests: number) => `${of} (${((100 * of) / requests).toFixed(2)} %)`;
  process.stdout.write(
    tableText([
      ['seed', 'requests', 'bound', 'bound, CPU s', ...schedulers],
      ...all.map(({ seed, requests, bound, boundS, inTime }) => [
        ...[`${seed}`, `${requests}`, share(bound, requests), boundS.toFixed(2)],
        ...schedulers.map((name) => share(inTime[name]!, requests)),
      ]),
    ]),
  );
}
