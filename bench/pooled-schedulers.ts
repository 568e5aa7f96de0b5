/**
 * This program compares the schedulers that can be the default of pooled plans: the share of requests in time on three plans, at
 * several multiples of their load, where executions take what is planned, where they vary, and where one device never comes up:
 *
 *     node dist/bench/pooled-schedulers.js [policy …] [--schedulers reservation,reactive,stage-local,room-first,pard]
 *         [--loads 0.5,0.8,0.95,1,1.1,1.3] [--seconds 60] [--seed 1] [--seeds 5] [--jitter 0.05,0.3] [--against stage-local] [--only down]
 *         [--json file]
 *
 * The plans are examples/pooled and PPipe's published plans for the first instance with one model and the first with three.
 * Arrivals are Poisson's. All schedulers get the same requests and, where the device of one seed is down, lack the same one:
 * that whose number is the seed, counted round. A row is the mean over seeds, and ! marks a scheduler that is worse than
 * `--against` by more than two standard errors of the differences seed by seed.
 */
import { resolve } from 'node:path';
import { loadArtifact } from '../src/artifacts/index.js';
import { type PooledPlan, ToldFaults } from '../src/formats/index.js';
import { applicationsOf, plannedScheduler, planTopologyOf } from '../src/plans/index.js';
import { streamsOf } from '../src/random/index.js';
import { makeCore } from '../src/serving/index.js';
import { arrivalsOf, executionOf } from '../src/simulation/index.js';
import { simulate } from '../src/simulator/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { profilesIn, publishedInstances, publishedPlan } from './ppipe/plans.js';
import { measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const USAGE =
  'node dist/bench/pooled-schedulers.js [policy …] [--schedulers reservation,reactive,stage-local,room-first,pard] [--loads 0.5,0.8,0.95,1,1.1,1.3] [--seconds 60] [--seed 1] [--seeds 5] [--jitter 0.05,0.3] [--against stage-local] [--only down] [--json file]';
const EXAMPLE = resolve(import.meta.dirname, '../../examples/pooled/expected-plan.json');
const PUBLISHED = new URL('../../../shared/data/ppipe/', import.meta.url);
const MS = 1e6;

interface World {
  readonly name: string;
  readonly jitterCv?: number;
  /** Whether one device never comes up. */
  readonly lacksDevice: boolean;
}

interface Row {
  readonly plan: string;
  readonly world: string;
  readonly load: number;
  readonly scheduler: string;
  /** The share in time, by seed. */
  readonly inTime: readonly number[];
}

const { values, positionals } = benchArguments(USAGE, {
  schedulers: { type: 'string', default: 'reservation,reactive,stage-local,room-first,pard' },
  loads: { type: 'string', default: '0.5,0.8,0.95,1,1.1,1.3' },
  seconds: { type: 'string', default: '60' },
  seed: { type: 'string', default: '1' },
  seeds: { type: 'string', default: '5' },
  jitter: { type: 'string', default: '0.05,0.3' },
  against: { type: 'string', default: 'stage-local' },
  only: { type: 'string', default: '' },
  json: { type: 'string' },
});
const schedulers = [...values.schedulers.split(','), ...positionals];
const loads = values.loads.split(',').map((load) => benchNumber(USAGE, '--loads', load));
const seconds = benchNumber(USAGE, '--seconds', values.seconds);
const jitters = values.jitter.split(',').map((cv) => benchNumber(USAGE, '--jitter', cv));
const firstSeed = benchNumber(USAGE, '--seed', values.seed);
const seeds = Array.from({ length: benchNumber(USAGE, '--seeds', values.seeds) }, (_, i) => firstSeed + i);
const worlds: readonly World[] = [undefined, ...jitters].flatMap((jitterCv) =>
  [false, true].map((lacksDevice) => ({
    name: `${lacksDevice ? 'a device down' : 'all up'}, ${jitterCv === undefined ? 'as planned' : `varying by ${jitterCv}`}`,
    ...(jitterCv === undefined ? {} : { jitterCv }),
    lacksDevice,
  })),
);
const rows: Row[] = [];
for (const [name, plan] of await plans())
  for (const world of worlds.filter((one) => new RegExp(values.only).test(`${name}, ${one.name}`)))
    for (const load of loads)
      for (const scheduler of schedulers) {
        const inTime = seeds.map((seed) => shareInTime(plan, { world, load, scheduler, seed }));
        rows.push({ plan: name, world: world.name, load, scheduler, inTime });
      }
if (values.json !== '-') show();
const { json, ...options } = values;
saveResult(json, {
  bench: 'pooled-schedulers',
  options,
  measures: measuresOf(
    rows,
    ({ plan, world, load, scheduler }) => `${plan}, ${world}, ${load}, ${scheduler}`,
    { 'in time': ({ inTime }) => inTime },
  ),
  rows,
});

async function plans(): Promise<[string, PooledPlan][]> {
  const example = (await loadArtifact(EXAMPLE, ['pooled-plan'])).value;
  const instances = publishedInstances(PUBLISHED);
  const profileOf = profilesIn(PUBLISHED);
  const found = [1, 3].map((count): [string, PooledPlan] => {
    const instance = instances.find(({ models }) => models.length === count);
    const plan = instance && publishedPlan(instance, 'reference', { profileOf });
    if (plan === undefined) throw new Error(`there is no published plan of ${count} models`);
    return [`PPipe, ${count === 1 ? 'one model' : `${count} models`}`, plan];
  });
  return [['examples/pooled', example], ...found];
}

interface Asked {
  readonly world: World;
  readonly load: number;
  readonly scheduler: string;
  readonly seed: number;
}

function shareInTime(plan: PooledPlan, { world, load, scheduler, seed }: Asked): number {
  const told = new ToldFaults();
  const leastSloNs = MS * Math.min(...plan.models.map(({ sloMs }) => sloMs));
  const [name, ...policy] = scheduler.split(',');
  const asked = { options: { scheduler: name, policy }, leastSloNs, kind: plan.kind };
  const chosen = plannedScheduler(undefined, asked, told);
  if (chosen === undefined) throw told.error(`serve by ${scheduler}`);
  const topology = planTopologyOf(plan, { transfers: 'links', rules: 'own' });
  const rps = plan.models.map(({ throughputRps }) => load * throughputRps);
  const workload = { kind: 'drawn' as const, process: 'poisson' as const, durationNs: 1e9 * seconds, rps };
  const jitter = world.jitterCv === undefined ? undefined : { kind: 'cv' as const, cv: world.jitterCv };
  const execution = executionOf({ slow: 1, ...(jitter && { jitter }) }, topology, seed);
  const down = world.lacksDevice ? seed % topology.devices.length : -1;
  const { requests, inTime } = simulate({
    topology,
    arrivals: arrivalsOf(workload, applicationsOf(plan), seed),
    ...(execution && { execution }),
    makeCore: (decisions) => {
      const core = makeCore(chosen, topology, { decisions, streams: streamsOf(seed, 'core') });
      const up = core.deviceUp.bind(core);
      core.deviceUp = (at, device) => {
        if (device !== down) up(at, device);
      };
      return core;
    },
  });
  return inTime / requests;
}

function show(): void {
  const found = new Map<string, Row[]>();
  for (const row of rows) {
    const key = `${row.plan}, ${row.world}, ${row.load}`;
    found.set(key, [...(found.get(key) ?? []), row]);
  }
  for (const [i, name] of schedulers.entries()) process.stdout.write(`${i + 1}: ${name}\n`);
  process.stdout.write(
    tableText([
      ['in time, %', ...schedulers.map((_, i) => `${i + 1}`)],
      ...[...found].map(([key, ofSchedulers]) => {
        const base = ofSchedulers.find(({ scheduler }) => scheduler === values.against);
        return [key, ...ofSchedulers.map(({ inTime }) => cell(inTime, base?.inTime))];
      }),
    ]),
  );
  for (const load of loads)
    for (const world of worlds.filter(({ name }) => rows.some((row) => row.world === name))) {
      const means = schedulers.map((name) => {
        const own = rows.filter(
          (row) => row.scheduler === name && row.load === load && row.world === world.name,
        );
        return `${name} ${percent(mean(own.map(({ inTime }) => mean(inTime))))}`;
      });
      process.stdout.write(`mean of the plans at ${load}, ${world.name}: ${means.join(', ')}\n`);
    }
}

function cell(shares: readonly number[], base: readonly number[] = shares): string {
  const differences = shares.map((share, i) => share - (base[i] as number));
  const isWorse = mean(differences) < -2 * standardError(differences);
  return `${percent(mean(shares))} ± ${percent(2 * standardError(shares))}${isWorse ? '!' : ''}`;
}

function percent(share: number): string {
  return (100 * share).toFixed(2);
}

function mean(list: readonly number[]): number {
  return list.reduce((sum, value) => sum + value, 0) / list.length;
}

function standardError(list: readonly number[]): number {
  const middle = mean(list);
  const squares = list.reduce((sum, value) => sum + (value - middle) ** 2, 0);
  return Math.sqrt(squares / Math.max(1, list.length - 1) / list.length);
}
