/**
 * This benchmark plans the four pipelines of `examples/pipelines` by every method, and simulates the plans on traces that
 * they were not planned for:
 *
 *     node dist/bench/pipelines.js [--only methods,hours,swept,slowed] [--methods inferline,exact]
 *                                  [--seeds 5] [--draws 10] [--swept social-media,image-processing]
 *                                  [--json file]
 *
 * - methods: cost, attainment and planning time by method (`--methods`, all by default), at a CV of 1 and of 4
 *   (InferLine, Fig. 5).
 * - hours: the time to plan an hour.
 * - swept: the cost of two pipelines by SLO, rate and burstiness (Fig. 9).
 * - slowed: what becomes of the plans where executions take 0.8 to 1.2 times as long as planned.
 *
 * Loads are drawn as often as the planner does by itself unless `--draws` says otherwise; InferLine plans for one draw.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mean } from 'simple-statistics';
import type { PipelineMethod } from '../src/formats/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import {
  gammaLoad,
  PIPELINES,
  PLANNED_RPS,
  percentText,
  serveExample,
  solveExample,
  UNSEEN_SEED,
} from './pipelines/examples.js';
import { measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const PARTS = ['methods', 'hours', 'swept', 'slowed'] as const;
const METHODS: readonly PipelineMethod[] = ['inferline', 'exact', 'coarse-mean', 'coarse-peak'];
const USAGE = `node dist/bench/pipelines.js [--only ${PARTS.join(',')}] [--methods ${METHODS.join(',')}] [--seeds 5] [--draws 10] [--swept social-media,image-processing] [--json file]`;
const SWEPT_METHODS: readonly PipelineMethod[] = ['inferline', 'coarse-mean', 'coarse-peak'];
/** The share of requests that a plan is made to hold. */
const OBJECTIVE = 0.99;

interface Asked {
  readonly pipeline: string;
  readonly method: PipelineMethod;
  readonly sloMs?: number;
  readonly rps?: number;
  readonly cv?: number;
  readonly seconds?: number;
}

interface Row extends Asked {
  readonly seconds: number;
  readonly hourlyCost?: number;
  readonly gap?: number;
  readonly solveS: number;
  /** Of each seed that was not planned for. */
  readonly attainments: readonly number[];
}

const { values } = benchArguments(USAGE, {
  only: { type: 'string', default: PARTS.join(',') },
  methods: { type: 'string', default: METHODS.join(',') },
  seeds: { type: 'string', default: '5' },
  draws: { type: 'string' },
  swept: { type: 'string', default: 'social-media,image-processing' },
  json: { type: 'string' },
});
const seeds = benchNumber(USAGE, '--seeds', values.seeds);
const draws = values.draws === undefined ? undefined : benchNumber(USAGE, '--draws', values.draws);
const only = values.only.split(',');
const methods = METHODS.filter((method) => values.methods.split(',').includes(method));
const swept = values.swept.split(',');
const folder = await mkdtemp(join(tmpdir(), 'inferplan-pipelines-'));
try {
  await bench();
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function bench(): Promise<void> {
  const rows: Row[] = [];
  const shown = async (title: string, asked: readonly Asked[], runs = seeds) => {
    const found = await all(asked, runs);
    show(title, found);
    rows.push(...found);
  };
  if (only.includes('methods'))
    for (const cv of [1, 4]) {
      const asked = PIPELINES.flatMap((pipeline) => methods.map((method) => ({ pipeline, method, cv })));
      await shown(`by method: 60 s at 150 requests/s, CV ${cv}`, asked);
    }
  const hours = PIPELINES.map((pipeline) => ({ pipeline, method: 'inferline' as const, seconds: 3600 }));
  if (only.includes('hours')) await shown('an hour at 150 requests/s', hours, 0);
  if (only.includes('swept')) for (const pipeline of swept) await sweep(pipeline, shown);
  const slowed = only.includes('slowed') ? await slowedRows() : [];
  saveResult(values.json, {
    bench: 'pipelines',
    options: { seeds, swept, only, methods, draws: draws ?? 'default' },
    inputs: {},
    measures: measuresOf(rows, nameOf, {
      'solve, CPU s': ({ solveS }) => solveS,
      'cost per hour': ({ hourlyCost }) => hourlyCost,
      attainment: ({ attainments }) => attainments,
    }),
    rows: [...rows, ...slowed],
  });
}

async function sweep(
  pipeline: string,
  shown: (title: string, asked: readonly Asked[]) => Promise<void>,
): Promise<void> {
  const by = (more: readonly Pick<Asked, 'sloMs' | 'rps'>[]) =>
    more.flatMap((one) =>
      [1, 4].flatMap((cv) => SWEPT_METHODS.map((method) => ({ pipeline, method, cv, ...one }))),
    );
  const slos = [100, 150, 200, 250, 300, 400, 500].map((sloMs) => ({ sloMs }));
  await shown(`${pipeline} by SLO and burstiness`, by(slos));
  await shown(`${pipeline} by rate and burstiness`, by([50, 100, 150, 200, 300].map((rps) => ({ rps }))));
}

async function slowedRows(): Promise<Row[]> {
  const asked = PIPELINES.map((pipeline) => ({ pipeline, method: 'inferline' as const }));
  const rows = await all(asked, seeds, [0.8, 1, 1.2]);
  showSlowed(rows);
  return rows;
}

async function all(asked: readonly Asked[], runs: number, slow = [1]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const one of asked) rows.push(await rowOf(one, runs, slow));
  return rows;
}

async function rowOf(asked: Asked, runs: number, slow: readonly number[]): Promise<Row> {
  const { rps = PLANNED_RPS, cv = 1, seconds = 60 } = asked;
  const { solved, solveS } = await solveExample(
    { ...asked, draws, load: gammaLoad(rps, cv, seconds) },
    folder,
  );
  if (solved === undefined) return { ...asked, seconds, solveS, attainments: [] };
  const load = { rps: [String(rps)], arrivals: 'gamma' as const, cv, duration: seconds };
  const attainments: number[] = [];
  for (const slowdown of slow) {
    const served = Array.from({ length: runs }, (_, i) =>
      serveExample(solved.path, { ...load, seed: UNSEEN_SEED + i, slow: slowdown }),
    );
    attainments.push(...(await Promise.all(served)).map(({ missed }) => 1 - missed));
  }
  const { hourlyCost, objective } = solved.plan;
  return {
    ...asked,
    seconds,
    solveS,
    attainments,
    ...(hourlyCost === undefined ? {} : { hourlyCost }),
    ...(objective === undefined ? {} : { gap: objective.gap }),
  };
}

function nameOf({ pipeline, method, sloMs, rps = PLANNED_RPS, cv = 1, seconds }: Row): string {
  const slo = sloMs === undefined ? '' : `, ${sloMs} ms`;
  return `${pipeline}, ${rps}/s, CV ${cv}, ${seconds} s${slo}, ${method}`;
}

function show(title: string, rows: readonly Row[]): void {
  process.stdout.write(`\n${title}\n`);
  process.stdout.write(
    tableText([
      [
        'case',
        'per hour',
        'to inferline',
        'gap',
        'unseen attainment',
        'least',
        'holds',
        'traces held',
        'solve, CPU s',
      ],
      ...rows.map((row) => [
        nameOf(row),
        row.hourlyCost?.toFixed(2) ?? 'no plan',
        timesInferline(row, rows),
        row.gap === undefined ? '' : percentText(row.gap),
        ...(row.attainments.length === 0
          ? ['', '', '', '']
          : [
              percentText(mean([...row.attainments])),
              percentText(Math.min(...row.attainments)),
              mean([...row.attainments]) >= OBJECTIVE ? 'yes' : 'no',
              `${row.attainments.filter((share) => share >= OBJECTIVE).length} of ${row.attainments.length}`,
            ]),
        row.solveS.toFixed(2),
      ]),
    ]),
  );
}

/** timesInferline says how many times as much as InferLine's plan for the same case a plan costs. */
function timesInferline(row: Row, rows: readonly Row[]): string {
  const own = rows.find((one) => nameOf({ ...row, method: 'inferline' }) === nameOf(one));
  if (row.method === 'inferline' || own?.hourlyCost === undefined || row.hourlyCost === undefined) return '';
  return (row.hourlyCost / own.hourlyCost).toFixed(2);
}

function showSlowed(rows: readonly Row[]): void {
  process.stdout.write('\nattainment where executions take so many times as long as planned\n');
  process.stdout.write(
    tableText([
      ['pipeline', '0.8', '1', '1.2'],
      ...rows.map(({ pipeline, attainments }) => [
        pipeline,
        ...[0, 1, 2].map((k) => percentText(mean(attainments.slice(k * seeds, (k + 1) * seeds)))),
      ]),
    ]),
  );
}
