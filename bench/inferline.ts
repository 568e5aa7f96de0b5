/**
 * This benchmark measures InferLine's Estimator: `node dist/bench/inferline.js [--requests 1080000] [--repeat 7]
 * [--json file]`. A pipeline of four stages, shaped like the published social-media pipeline with invented latencies,
 * serves an hour of Poisson arrivals at 300 requests/s. All stages are served anew, and then only what a change of one
 * stage reaches. Figures are medians of CPU milliseconds.
 */
import { medianSorted } from 'simple-statistics';
import { estimatorOf, type PlanningProblem, type Sample } from '../src/inferline/index.js';
import { readStageGraph } from '../src/plans/index.js';
import { streamOf } from '../src/random/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const USAGE = 'node dist/bench/inferline.js [--requests 1080000] [--repeat 7] [--json file]';
const RPS = 300;
const BATCHES = [1, 2, 4, 8, 16, 32];

const { values } = benchArguments(USAGE, {
  requests: { type: 'string', default: '1080000' },
  repeat: { type: 'string', default: '7' },
  json: { type: 'string' },
});
const requests = benchNumber(USAGE, '--requests', values.requests);
const repeat = Math.max(1, benchNumber(USAGE, '--repeat', values.repeat));

const { graph } = readStageGraph({
  stages: [
    { name: 'language', next: [{ to: 'translation', probability: 0.4 }] },
    { name: 'translation', next: ['topic'] },
    { name: 'image', next: ['topic'] },
    { name: 'topic' },
  ],
});
const stage = (firstMs: number, rowMs: number) => ({
  candidates: [
    {
      device: 'gpu',
      batches: BATCHES,
      hourlyCost: 1,
      latencyNs: Float64Array.from({ length: 32 }, (_, i) => Math.round(1e6 * (firstMs + rowMs * i))),
    },
  ],
});
const problem: PlanningProblem = {
  graph,
  stages: [stage(4, 1), stage(20, 5), stage(10, 3), stage(5, 1.5)],
  objectives: [{ attainment: 0.99, sloNs: 300e6 }],
  counts: {},
};
const estimator = estimatorOf(problem, sampleOf());
const settings = (image: number, language: number) => ({
  candidate: new Int32Array(4),
  batch: Int32Array.of(4, 8, 8, 8),
  replicas: Int32Array.of(language, 2, image, 2),
});
let turn = 0;
const cases: Record<string, () => void> = {
  'all four stages': () => estimator.estimate(turn++ % 2 === 0 ? settings(3, 2) : settings(4, 3)),
  'one stage and the one behind it': () => estimator.estimate(settings(turn++ % 2 === 0 ? 3 : 4, 2)),
};
const measured = Object.entries(cases).map(([name, run]) => {
  run();
  return { name, cpuMs: Array.from({ length: repeat }, () => cpuMsOf(run)).sort((a, b) => a - b) };
});
process.stdout.write(
  tableText([
    ['estimate', 'median CPU ms', 'least', 'most'],
    ...measured.map(({ name, cpuMs }) => [
      name,
      medianSorted(cpuMs).toFixed(0),
      (cpuMs[0] as number).toFixed(0),
      (cpuMs.at(-1) as number).toFixed(0),
    ]),
  ]),
);
saveResult(values.json, {
  bench: 'inferline',
  options: { requests, repeat },
  inputs: {},
  measures: measuresOf(measured, ({ name }) => name, { 'CPU ms': ({ cpuMs }) => cpuMs }),
  rows: measured,
});

function cpuMsOf(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e3;
}

function sampleOf(): Sample {
  const stream = streamOf(1, 'arrivals');
  let now = 0;
  const atNs = Float64Array.from({ length: requests }, () => {
    now += Math.ceil((1e9 / RPS) * stream.exponential());
    return now;
  });
  const verdict = streamOf(1, 'verdicts');
  const verdicts = Int32Array.from({ length: requests }, () => (verdict.uniform() < 0.4 ? 1 : 0));
  return { atNs, verdicts: [verdicts, undefined, undefined, undefined] };
}
