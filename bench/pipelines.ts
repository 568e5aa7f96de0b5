/**
 * This benchmark plans the four pipelines of `examples/pipelines` by every method, and simulates the plans on traces that
 * they were not planned for:
 *
 *     node dist/bench/pipelines.js [--seeds 5] [--json file]
 *
 * It prints cost, attainment and planning time by method; then the cost by SLO, rate and burstiness; and what becomes of
 * the plans where executions take 0.8 to 1.2 times as long as planned.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { mean } from 'simple-statistics';
import { stringify } from 'yaml';
import { simulatePlan, solveSpec } from '../src/api/index.js';
import { loadArtifact, type PipelineMethod, type PipelineSpec } from '../src/artifacts/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const USAGE = 'node dist/bench/pipelines.js [--seeds 5] [--json file]';
const EXAMPLES = resolve(import.meta.dirname, '../../examples/pipelines');
const PIPELINES = ['image-processing', 'video-monitoring', 'social-media', 'tf-cascade'];
const METHODS: readonly PipelineMethod[] = ['inferline', 'exact', 'coarse-mean', 'coarse-peak'];
/** Plans are made for seed 1. */
const FIRST_SEED = 2;

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
  seeds: { type: 'string', default: '5' },
  json: { type: 'string' },
});
const seeds = benchNumber(USAGE, '--seeds', values.seeds);
const folder = await mkdtemp(join(tmpdir(), 'inferplan-pipelines-'));
try {
  await bench();
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function bench(): Promise<void> {
  const methods = await all(PIPELINES.flatMap((pipeline) => METHODS.map((method) => ({ pipeline, method }))));
  show('by method: 60 s at 150 requests/s, CV 1', methods, ({ pipeline, method }) => [pipeline, method]);
  const hours = await all(
    PIPELINES.map((pipeline) => ({ pipeline, method: 'inferline', seconds: 3600 })),
    0,
  );
  show('an hour at 150 requests/s', hours, ({ pipeline, method }) => [pipeline, method]);
  const swept = await all(
    [100, 150, 200, 250, 300, 400, 500].flatMap((sloMs) =>
      [1, 4].flatMap((cv) =>
        (['inferline', 'coarse-peak'] as const).map((method) => ({
          pipeline: 'social-media',
          method,
          sloMs,
          cv,
        })),
      ),
    ),
  );
  show('social-media by SLO and burstiness', swept, ({ sloMs, cv, method }) => [
    `${sloMs} ms, CV ${cv}`,
    method,
  ]);
  const rates = await all(
    [50, 150, 300, 600].flatMap((rps) =>
      [1, 4].map((cv) => ({ pipeline: 'social-media', method: 'inferline' as const, rps, cv })),
    ),
  );
  show('social-media by rate and burstiness', rates, ({ rps, cv, method }) => [`${rps}/s, CV ${cv}`, method]);
  const slowed = await all(
    PIPELINES.map((pipeline) => ({ pipeline, method: 'inferline' })),
    seeds,
    [0.8, 1, 1.2],
  );
  process.stdout.write('\nattainment where executions take so many times as long as planned\n');
  process.stdout.write(
    tableText([
      ['pipeline', '0.8', '1', '1.2'],
      ...slowed.map(({ pipeline, attainments }) => [
        pipeline,
        ...[0, 1, 2].map((k) => percent(mean(attainments.slice(k * seeds, (k + 1) * seeds)))),
      ]),
    ]),
  );
  saveResult(values.json, {
    bench: 'pipelines',
    options: { seeds },
    inputs: {},
    measures: measuresOf(methods, ({ pipeline, method }) => `${pipeline} ${method}`, {
      'solve s': ({ solveS }) => solveS,
      'cost per hour': ({ hourlyCost = Number.NaN }) => hourlyCost,
    }),
    rows: [...methods, ...hours, ...swept, ...rates, ...slowed],
  });
}

async function all(asked: readonly Asked[], runs = seeds, slow = [1]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const one of asked) rows.push(await rowOf(one, runs, slow));
  return rows;
}

async function rowOf(asked: Asked, runs: number, slow: readonly number[]): Promise<Row> {
  const { pipeline, method, sloMs, rps = 150, cv = 1, seconds = 60 } = asked;
  const { value } = await loadArtifact(join(EXAMPLES, `${pipeline}.yaml`), ['pipeline']);
  const spec: PipelineSpec = {
    ...value,
    cluster: join(EXAMPLES, 'cluster.yaml'),
    stages: value.stages.map((stage) => ({ ...stage, profile: join(EXAMPLES, stage.profile) })),
    sloMs: sloMs ?? value.sloMs,
    load: { arrivals: 'gamma', rps, cv, duration: `${seconds}s` },
    planner: { method },
  };
  const [specPath, output] = [join(folder, 'spec.yaml'), join(folder, 'plan.json')];
  await writeFile(specPath, stringify(spec));
  const startedMs = performance.now();
  const solved = await solveSpec(specPath, { output });
  const solveS = (performance.now() - startedMs) / 1e3;
  if (solved.outcome !== 'pipeline-plan') return { ...asked, seconds, solveS, attainments: [] };
  const attainments: number[] = [];
  for (const slowdown of slow)
    for (let seed = FIRST_SEED; seed < FIRST_SEED + runs; seed++) {
      const load = { rps: [String(rps)], arrivals: 'gamma' as const, cv, duration: seconds };
      const { report } = await simulatePlan(output, { ...load, seed, slow: slowdown });
      attainments.push(report.models[0]?.requests.attainment as number);
    }
  const { hourlyCost, objective } = solved.plan;
  return {
    ...{ ...asked, seconds, solveS, attainments },
    ...(hourlyCost === undefined ? {} : { hourlyCost }),
    ...(objective === undefined ? {} : { gap: objective.gap }),
  };
}

function show(title: string, rows: readonly Row[], head: (row: Row) => readonly string[]): void {
  process.stdout.write(`\n${title}\n`);
  process.stdout.write(
    tableText([
      ['case', 'method', 'per hour', 'gap', 'unseen attainment', 'least', 'solve s'],
      ...rows.map((row) => [
        ...head(row),
        row.hourlyCost?.toFixed(2) ?? 'no plan',
        row.gap === undefined ? '' : percent(row.gap),
        ...(row.attainments.length === 0
          ? ['', '']
          : [percent(mean([...row.attainments])), percent(Math.min(...row.attainments))]),
        row.solveS.toFixed(2),
      ]),
    ]),
  );
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}
