/**
 * This benchmark serves families of CascadeServe's under loads with spikes, by gear plans and by baselines (§6.4, Figs. 8
 * and 9):
 *
 *     node dist/bench/gear-spikes.js [--step 5] [--json file]
 *
 * Each of some sixty rates of a trace in `../shared/traces` lasts for `--step` seconds of Poisson arrivals, the highest at
 * the rate that was planned for. Plans are made by `plan solve` from files, and served in simulation by the code that
 * serves them. MS+ is also served with `formation=waiting`, by which what waits goes at once, as in the paper's MS+ with
 * Clipper's batching. Cocktail+ is told the rates, and loads models in an assumed 3 s (BERT) or 20 s (Llama): when a rate
 * has changed, as in the paper, and so early that they are there when it does. It prints devices, accuracy, p95, the share of
 * windows of a step whose p95 is within the SLO, and the worst of these.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { simulatePlan } from '../src/api/index.js';
import type { CascadeMethod, SimulationReport } from '../src/formats/index.js';
import { type FamilyModel, rangesOf } from '../src/gearplan/index.js';
import { streamOf } from '../src/random/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { cheapestEnsemble, serveByEnsemble } from './gears/cocktail.js';
import { bertFamily, FAMILY_FILES, hasFamilies, llamaFamily } from './gears/families.js';
import { solveFamily, writeFamily } from './gears/planned-family.js';
import { hasRealTraces, REAL_TRACE_FILES, type RealTrace, realTraces } from './pipelines/real-traces.js';
import { inputsAt, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const USAGE = 'node dist/bench/gear-spikes.js [--step 5] [--json file]';
const QUANTILE = 0.95;
/** Plans have so many ranges of loads, and the ensemble is chosen for the same. */
const RANGES = 20;

/** Family is a workload of the paper's with its SLO, and the systems that serve it. */
interface Family {
  readonly name: string;
  readonly models: readonly FamilyModel[];
  readonly maxRps: number;
  readonly slo: { readonly latencyMs?: number; readonly accuracy?: number };
  /** The longest latency that counts as good where the SLO is an accuracy. */
  readonly goodMs: number;
  readonly loadS: number;
  readonly ensembleAccuracy: number;
  readonly systems: readonly System[];
}

/** System is a planner's method with the devices that it may use. */
interface System {
  readonly method: CascadeMethod;
  readonly devices: number;
}

interface Row {
  readonly family: string;
  readonly trace: string;
  readonly system: string;
  readonly devices: number;
  readonly accuracy: number;
  readonly p95Ms: number;
  readonly good: number;
  readonly worstMs: number;
  readonly worstAccuracy: number;
}

const { values } = benchArguments(USAGE, {
  step: { type: 'string', default: '5' },
  json: { type: 'string' },
});
const stepS = benchNumber(USAGE, '--step', values.step);
if (!hasFamilies() || !hasRealTraces()) {
  process.stderr.write('the published latencies or traces are not there: ../shared/data, ../shared/traces\n');
  process.exit(2);
}
const FAMILIES: readonly Family[] = [
  {
    name: 'BERT',
    models: bertFamily(),
    maxRps: 7600,
    slo: { latencyMs: 400 },
    goodMs: 400,
    loadS: 3,
    ensembleAccuracy: 0.845,
    systems: [
      { method: 'gears', devices: 1 },
      { method: 'gears', devices: 2 },
      { method: 'ms+', devices: 3 },
      { method: 'dynba', devices: 4 },
    ],
  },
  {
    name: 'Llama',
    models: llamaFamily(),
    maxRps: 20,
    slo: { accuracy: 0.6 },
    goodMs: 4000,
    loadS: 20,
    ensembleAccuracy: 0.6,
    systems: [
      { method: 'gears', devices: 6 },
      { method: 'gears', devices: 9 },
      { method: 'ms+', devices: 12 },
      { method: 'dynba', devices: 16 },
    ],
  },
];
const folder = await mkdtemp(join(tmpdir(), 'inferplan-spikes-'));
try {
  const rows: Row[] = [];
  for (const family of FAMILIES) {
    await writeFamily(join(folder, family.name), family.models);
    for (const trace of realTraces().filter(({ name }) => !name.includes('10 June')))
      rows.push(...(await served(family, trace)));
  }
  const inputs = Object.assign({}, ...[...FAMILY_FILES, ...REAL_TRACE_FILES].map((path) => inputsAt(path)));
  saveResult(values.json, { bench: 'gear-spikes', options: { stepS }, inputs, measures: [], rows });
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** served serves a trace by all systems of a family. */
async function served(family: Family, trace: RealTrace): Promise<Row[]> {
  const most = Math.max(...trace.rps);
  // A little below the highest planned rate, so that chance seldom takes a step beyond it.
  const rps = trace.rps.map((rate) => (0.95 * family.maxRps * rate) / most);
  const counts = rps.map((rate) => Math.round(rate * stepS));
  const load = join(folder, family.name, 'load.csv');
  await writeFile(load, `interval_s,count\n${counts.map((count) => `${stepS},${count}\n`).join('')}`);
  const rows: Row[] = [];
  for (const system of family.systems) rows.push(...(await byPlan({ family, trace, load }, system)));
  rows.push(...byEnsemble({ family, trace, rps, counts }));
  const requests = counts.reduce((sum, count) => sum + count, 0);
  const share = requests / (counts.length * stepS) / family.maxRps;
  process.stdout.write(
    `\n${family.name}, ${trace.name}, up to ${family.maxRps} requests/s: ${requests} requests, at ${(100 * share).toFixed(0)} % of that in the mean\n`,
  );
  process.stdout.write(
    tableText([
      [
        'system',
        'devices',
        'accuracy',
        'p95 ms',
        `steps within ${family.goodMs} ms`,
        'worst step',
        'least accuracy',
      ],
      ...rows.map((row) => [
        row.system,
        row.devices.toFixed(1),
        `${(100 * row.accuracy).toFixed(2)} %`,
        row.p95Ms.toFixed(0),
        `${(100 * row.good).toFixed(0)} %`,
        `${row.worstMs.toFixed(0)} ms`,
        `${(100 * row.worstAccuracy).toFixed(2)} %`,
      ]),
    ]),
  );
  return rows;
}

async function byPlan(
  { family, trace, load }: { readonly family: Family; readonly trace: RealTrace; readonly load: string },
  { method, devices }: System,
): Promise<Row[]> {
  const { name, models, maxRps, slo } = family;
  const asked = { devices, maxRps, ranges: RANGES, slo, planner: { method } };
  const plan = await solveFamily(join(folder, name), models, asked);
  if (plan === undefined) {
    process.stdout.write(`${name}, ${method} on ${devices} devices: no plan was found\n`);
    return [];
  }
  const systems: { system: string; policy: string[] }[] = [{ system: method, policy: [] }];
  if (method === 'ms+') systems.push({ system: "ms+, Clipper's batching", policy: ['formation=waiting'] });
  const rows: Row[] = [];
  for (const { system, policy } of systems) {
    const options = { traces: [load], windows: stepS, seed: 1, policy };
    const { report } = await simulatePlan(join(folder, name, 'plan.json'), options);
    rows.push({ family: name, trace: trace.name, system, devices, ...figuresOf(report, family) });
  }
  return rows;
}

function figuresOf(
  report: SimulationReport,
  { goodMs }: Family,
): Omit<Row, 'family' | 'trace' | 'system' | 'devices'> {
  const windows = (report.cascade?.windows ?? []).filter(({ p95Ms }) => p95Ms !== undefined);
  const p95s = windows.map(({ p95Ms = 0 }) => p95Ms);
  return {
    accuracy: report.cascade?.accuracy ?? 0,
    p95Ms: report.overall.latencyMs?.p95 ?? 0,
    good: p95s.filter((ms) => ms <= goodMs).length / p95s.length,
    worstMs: Math.max(...p95s),
    worstAccuracy: Math.min(...windows.map(({ accuracy = 1 }) => accuracy)),
  };
}

/** byEnsemble serves the same rates by Cocktail+, with an ensemble that has the accuracy of the SLO or an assumed one. */
function byEnsemble({
  family,
  trace,
  rps,
  counts,
}: {
  readonly family: Family;
  readonly trace: RealTrace;
  readonly rps: readonly number[];
  readonly counts: readonly number[];
}): Row[] {
  const { name, models, maxRps, goodMs, loadS, ensembleAccuracy: accuracy } = family;
  const ranges = rangesOf({ maxRps, ranges: RANGES });
  const asked = { accuracy, latencyNs: 1e6 * goodMs, quantile: QUANTILE, ranges };
  const ensemble = cheapestEnsemble(models, asked);
  if (ensemble === undefined) return [];
  const { uniform } = streamOf(1, 'spikes/arrivals');
  const arrivalsNs = Float64Array.from(
    counts.flatMap((count, step) => Array.from({ length: count }, () => 1e9 * stepS * (step + uniform()))),
  ).sort();
  return [false, true].map((ahead) => {
    const load = { rps, stepNs: 1e9 * stepS, loadNs: 1e9 * loadS, ahead, arrivalsNs };
    const { endedNs, meanDevices } = serveByEnsemble(ensemble, load);
    const p95s: number[] = [];
    let from = 0;
    for (const count of counts) {
      if (count > 0) p95s.push(p95MsOf(endedNs, arrivalsNs, [from, from + count]));
      from += count;
    }
    return {
      family: name,
      trace: trace.name,
      system: ahead ? 'cocktail+, loaded ahead' : 'cocktail+',
      devices: meanDevices,
      accuracy: ensemble.accuracy,
      p95Ms: p95MsOf(endedNs, arrivalsNs, [0, endedNs.length]),
      good: p95s.filter((ms) => ms <= goodMs).length / p95s.length,
      worstMs: Math.max(...p95s),
      worstAccuracy: ensemble.accuracy,
    };
  });
}

function p95MsOf(
  endedNs: Float64Array,
  arrivalsNs: Float64Array,
  [from, to]: readonly [number, number],
): number {
  const times = endedNs
    .slice(from, to)
    .map((ns, i) => ns - (arrivalsNs[from + i] as number))
    .sort();
  return (times[Math.ceil(QUANTILE * times.length) - 1] as number) / 1e6;
}
