/**
 * This benchmark serves the pipelines of `examples/pipelines` under loads that they were not planned for, with every
 * tuner:
 *
 *     node dist/bench/tuners.js [--only rates,bursts,samples,traces,errors] [--pipelines social-media,image-processing]
 *                               [--tuners none,inferline,kpa] [--seeds 3] [--draws 10] [--json file]
 *
 * - rates: the rate changes from 150 to 250 requests/s within 60 to 0 s, and back (InferLine, Fig. 10).
 * - bursts: the CV of the gaps changes from 1 to 4 at 150 requests/s (Fig. 11).
 * - samples: InferLine's tuner with plans for longer samples, under the planned load and where the rate changes.
 * - traces: published traces of `../shared/traces` as InferLine's §6 makes them. The first quarter is planned for, the
 *   rest is served (Figs. 6 and 12). Every rate is served for 30 s of Poisson arrivals, which is half a minute for a
 *   minute, and for 24 minutes of the day.
 * - errors: executions take 0.8 to 1.2 times as long as planned at the planned load, and profiles that are so far off.
 *
 * It prints the share of requests that missed the SLO, and the cost per hour: the median of the seeds, with least and
 * most. Loads are drawn as often as the planner does by itself unless `--draws` says otherwise. Devices take the 5 s of
 * the examples' cluster to come up.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median } from 'simple-statistics';
import type { SimulateOptions } from '../src/api/index.js';
import type { PipelineMethod } from '../src/formats/index.js';
import { streamOf } from '../src/random/index.js';
import { TUNERS, type TunerName } from '../src/serving/index.js';
import { DrawnArrivals, phasedLoad, traceText } from '../src/workload/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import {
  type AskedPlan,
  gammaLoad,
  PIPELINES,
  PLANNED_RPS,
  percentText,
  type Served,
  serveExample,
  solveExample,
  spreadText,
  UNSEEN_SEED,
} from './pipelines/examples.js';
import { hasRealTraces, REAL_TRACE_FILES, realTraces, writeSplit } from './pipelines/real-traces.js';
import { inputsAt, measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const PARTS = ['rates', 'bursts', 'samples', 'traces', 'errors'] as const;
const USAGE = `node dist/bench/tuners.js [--only ${PARTS.join(',')}] [--pipelines ${PIPELINES.join(',')}] [--tuners ${TUNERS.join(',')}] [--seeds 3] [--draws 10] [--json file]`;
const TRANSITIONS_S = [60, 50, 40, 30, 20, 10, 0];
/** Traces are served on the classes of the examples, and on those of the paper's cluster (§6). */
const CLUSTERS = [
  { name: 'all classes', classes: undefined },
  { name: 'cpu and k80', classes: ['cpu', 'k80'] },
];
/** The rows whose pipeline was planned for what it then serves, and has no tuner. */
const FORESEEN = 'planned for it';

interface Row {
  readonly part: string;
  readonly pipeline: string;
  readonly load: string;
  readonly plan: string;
  readonly tuner: string;
  /** Of each seed. */
  readonly missed: readonly number[];
  readonly perHour: readonly number[];
}

const { values } = benchArguments(USAGE, {
  only: { type: 'string', default: PARTS.join(',') },
  pipelines: { type: 'string', default: PIPELINES.join(',') },
  tuners: { type: 'string', default: TUNERS.join(',') },
  seeds: { type: 'string', default: '3' },
  draws: { type: 'string' },
  json: { type: 'string' },
});
const count = benchNumber(USAGE, '--seeds', values.seeds);
const draws = values.draws === undefined ? undefined : benchNumber(USAGE, '--draws', values.draws);
const seeds = Array.from({ length: count }, (_, i) => UNSEEN_SEED + i);
const only = values.only.split(',');
const pipelines = values.pipelines.split(',');
/** asked gives the tuners of a list that were asked for. */
const asked = (tuners: readonly TunerName[]): TunerName[] =>
  tuners.filter((tuner) => values.tuners.split(',').includes(tuner));
const folder = await mkdtemp(join(tmpdir(), 'inferplan-tuners-'));
const rows: Row[] = [];
try {
  for (const pipeline of pipelines) await bench(pipeline);
} finally {
  await rm(folder, { recursive: true, force: true });
}
saveResult(values.json, {
  bench: 'tuners',
  options: { seeds: count, only, pipelines, draws: draws ?? 'default' },
  inputs: Object.assign({}, ...REAL_TRACE_FILES.map((path) => inputsAt(path))) as Record<string, string>,
  measures: measuresOf(
    rows,
    ({ part, pipeline, load, plan, tuner }) => `${part}, ${pipeline}, ${load}: ${plan}, ${tuner}`,
    { missed: ({ missed }) => missed, 'cost per hour': ({ perHour }) => perHour },
  ),
  rows,
});

async function bench(pipeline: string): Promise<void> {
  if (only.includes('rates')) await benchRates(pipeline);
  if (only.includes('bursts')) await benchBursts(pipeline);
  if (only.includes('samples')) await benchSamples(pipeline);
  if (only.includes('traces')) await benchTraces(pipeline);
  if (only.includes('errors')) await benchErrors(pipeline);
}

async function benchRates(pipeline: string): Promise<void> {
  const cases = TRANSITIONS_S.map((transitionS) => {
    const [rise, length] = [{ rps: 250, durationS: 120, transitionS }, { durationS: 60 }];
    const phases = [{ rps: PLANNED_RPS, ...length }, rise, { rps: PLANNED_RPS, ...length, transitionS }];
    return { load: transitionS === 0 ? 'at once' : `over ${transitionS} s`, phases };
  });
  await benchPhases('rates', pipeline, cases);
}

async function benchBursts(pipeline: string): Promise<void> {
  const cases = [30, 0].map((transitionS) => {
    const steady = { rps: PLANNED_RPS, durationS: 60 };
    const phases = [steady, { ...steady, cv: 4, durationS: 180, transitionS }];
    return { load: transitionS === 0 ? 'at once' : `over ${transitionS} s`, phases };
  });
  await benchPhases('bursts', pipeline, cases);
}

async function benchSamples(pipeline: string): Promise<void> {
  const [rps, tuner] = [PLANNED_RPS, 'inferline' as const];
  if (asked([tuner]).length === 0) return;
  const rise = { rps: 250, durationS: 120, transitionS: 10 };
  const loads = {
    'steady load': [{ rps, durationS: 180 }],
    'rise over 10 s': [{ rps, durationS: 60 }, rise, { rps, durationS: 60, transitionS: 10 }],
  };
  const found: Row[] = [];
  for (const seconds of [60, 600, 3600]) {
    const path = await planned({ pipeline, method: 'inferline', load: gammaLoad(rps, 1, seconds) });
    for (const [load, phases] of Object.entries(loads)) {
      const head = { part: 'samples', pipeline, load, plan: `for ${seconds} s`, tuner };
      found.push(await rowOf(head, path, phased(phases)));
    }
  }
  show(`${pipeline}, by the length of the sample`, found);
}

type Phases = PhasedCase['phases'];

/** phased gives the options of a load of phases. */
function phased(phases: Phases): SimulateOptions {
  const texts = phases.map(({ rps, cv = 1, durationS, transitionS = 0 }) => {
    const over = transitionS === 0 ? '' : `,over=${transitionS}s`;
    return `${durationS}s,rps=${rps},cv=${cv}${over}`;
  });
  return { arrivals: 'gamma', phases: texts };
}

interface PhasedCase {
  readonly load: string;
  readonly phases: readonly {
    readonly rps: number;
    readonly cv?: number;
    readonly durationS: number;
    readonly transitionS?: number;
  }[];
}

async function benchPhases(part: string, pipeline: string, cases: readonly PhasedCase[]): Promise<void> {
  const path = await planned({ pipeline, method: 'inferline', load: gammaLoad(PLANNED_RPS, 1) });
  const found: Row[] = [];
  for (const { load, phases } of cases) {
    const served = phased(phases);
    const head = { part, pipeline, load };
    for (const tuner of asked(TUNERS))
      found.push(await rowOf({ ...head, plan: 'inferline', tuner }, path, served));
    if (asked(TUNERS).includes('none'))
      found.push(await foreseenRow({ ...head, plan: FORESEEN, tuner: 'none' }, phases, served));
  }
  show(`${pipeline}, ${part}`, found);
}

/** foreseenRow plans for the very arrivals that are served: the oracle planner of InferLine's Fig. 10. */
async function foreseenRow(head: Head, phases: Phases, served: SimulateOptions): Promise<Row> {
  const runs: Served[] = [];
  for (const seed of seeds) {
    const stream = streamOf(seed, `arrivals/${head.pipeline}`);
    const drawn = new DrawnArrivals({ process: 'gamma', load: phasedLoad(phases), stream });
    const times: number[] = [];
    while (drawn.next()) times.push(drawn.atNs);
    const trace = join(folder, 'foreseen.csv');
    const text = traceText({ kind: 'arrivals', format: 'arrivals', timesNs: Float64Array.from(times) });
    await writeFile(trace, [...text].join(''));
    const path = await planned({ pipeline: head.pipeline, method: 'inferline', load: { trace } });
    runs.push(await serveExample(path, { ...served, seed, tuner: 'none' }));
  }
  return { ...head, missed: runs.map(({ missed }) => missed), perHour: runs.map(({ perHour }) => perHour) };
}

async function benchTraces(pipeline: string): Promise<void> {
  if (!hasRealTraces()) {
    process.stdout.write('\nThe published traces are not beside the checkout, so none is served.\n');
    return;
  }
  const combinations: [PipelineMethod, readonly TunerName[]][] = [
    ['inferline', TUNERS],
    ['coarse-mean', ['none', 'coarse']],
    ['coarse-peak', ['none', 'coarse']],
  ];
  for (const { name, classes } of CLUSTERS)
    for (const trace of realTraces()) {
      const { sample, rest } = writeSplit(trace, folder);
      const found: Row[] = [];
      for (const [method, tuners] of combinations) {
        if (asked(tuners).length === 0) continue;
        const path = await planned({ pipeline, method, load: { trace: sample }, classes });
        for (const tuner of asked(tuners)) {
          const head = { part: `traces on ${name}`, pipeline, load: trace.name, plan: method, tuner };
          found.push(await rowOf(head, path, { traces: [rest] }));
        }
      }
      show(`${pipeline} on ${name}, ${trace.name}`, found);
      if (asked(['coarse', 'inferline']).length === 2) showRatio(found);
    }
}

/** showRatio compares the baseline with InferLine, as the paper's Fig. 6 does. */
function showRatio(found: readonly Row[]): void {
  const middle = (plan: string, tuner: string, of: (row: Row) => readonly number[]) =>
    median([...of(found.find((row) => row.plan === plan && row.tuner === tuner) as Row)]);
  for (const plan of ['coarse-mean', 'coarse-peak']) {
    const ratio = (of: (row: Row) => readonly number[]) =>
      middle(plan, 'coarse', of) / middle('inferline', 'inferline', of);
    const missed = ratio((row) => row.missed);
    const misses = Number.isFinite(missed) ? `misses ${missed.toFixed(1)} times as many, and ` : '';
    const cost = ratio((row) => row.perHour).toFixed(2);
    process.stdout.write(
      `${plan} with the coarse tuner ${misses}costs ${cost} times as much as inferline with inferline\n`,
    );
  }
}

async function benchErrors(pipeline: string): Promise<void> {
  const load = gammaLoad(PLANNED_RPS, 1);
  const steady = { arrivals: 'gamma' as const, rps: [String(PLANNED_RPS)], cv: 1, duration: 180 };
  const path = await planned({ pipeline, method: 'inferline', load });
  const found: Row[] = [];
  for (const slow of [0.8, 0.9, 1, 1.1, 1.2])
    for (const tuner of asked(['none', 'inferline', 'ds2', 'hpa', 'kpa', 'by-rate'])) {
      const head = { part: 'errors', pipeline, load: `${slow} times as long`, plan: 'inferline', tuner };
      found.push(await rowOf(head, path, { ...steady, slow }));
    }
  for (const scaled of asked(['none']).length === 0 ? [] : [0.8, 1.2]) {
    const other = await planned({ pipeline, method: 'inferline', load, scaled });
    const head = { part: 'errors', pipeline, load: 'as long as they do', tuner: 'none' };
    const plan = `for ${scaled} times as long`;
    found.push(await rowOf({ ...head, plan }, other, { ...steady, slow: 1 / scaled }));
  }
  show(`${pipeline}, errors of the profiles`, found);
}

async function planned(asked: AskedPlan): Promise<string> {
  const { solved } = await solveExample({ ...asked, draws }, folder);
  if (solved === undefined) throw new Error(`There is no plan for ${JSON.stringify(asked)}.`);
  return solved.path;
}

type Head = Omit<Row, 'missed' | 'perHour'>;

async function rowOf(head: Head, path: string, options: SimulateOptions): Promise<Row> {
  const runs = await Promise.all(
    seeds.map((seed) => serveExample(path, { ...options, seed, tuner: head.tuner })),
  );
  return { ...head, missed: runs.map(({ missed }) => missed), perHour: runs.map(({ perHour }) => perHour) };
}

function show(title: string, found: readonly Row[]): void {
  rows.push(...found);
  process.stdout.write(`\n${title}\n`);
  process.stdout.write(
    tableText([
      ['load', 'plan', 'tuner', 'missed', 'cost per hour'],
      ...found.map(({ load, plan, tuner, missed, perHour }) => [
        load,
        plan,
        tuner,
        spreadText(missed, percentText),
        spreadText(perHour, (cost) => cost.toFixed(2)),
      ]),
    ]),
  );
}
