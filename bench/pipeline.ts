/**
 * This benchmark serves a pipeline of five models on two executors, one of which holds three of them, and compares what
 * it gives with the simulation of the same arrivals and verdicts:
 *
 *     node dist/bench/pipeline.js [--load 0.3,0.6,0.9,2] [--seconds 10] [--seed 0] [--slowdown 4] [--json file]
 *
 * It builds and profiles the models first. The executors are emulated slower devices, so that the server and its client
 * have cores of their own. `--load` counts in the rate up to which no device has more work than time.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vitExported } from '../examples/models/exported-vit.js';
import { mobilenetv2 } from '../examples/models/mobilenetv2.js';
import { resnet18 } from '../examples/models/resnet18.js';
import { unet } from '../examples/models/unet.js';
import { deployPlan, profileModelFile } from '../src/api/index.js';
import { startExecutor, type TensorData } from '../src/execution/index.js';
import { type PipelinePlan, ToldFaults } from '../src/formats/index.js';
import { driveLoad, type LoadReport } from '../src/loadgen/index.js';
import { quantileOfSorted } from '../src/metrics/index.js';
import { pipelineTopologyOf, plannedScheduler } from '../src/plans/index.js';
import { streamOf, streamsOf } from '../src/random/index.js';
import { startServer } from '../src/runtime/index.js';
import { type ChosenScheduler, makeCore } from '../src/serving/index.js';
import { OutcomeCode, simulate } from '../src/simulator/index.js';
import { solveSpec } from '../src/specs/index.js';
import { arrivals, arrivalsAt } from '../src/workload/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const USAGE =
  'node dist/bench/pipeline.js [--load 0.3,0.6,0.9,2] [--seconds 10] [--seed 0] [--slowdown 4] [--json file]';
const PIXELS = 64;
const IMAGES = 32;
const BATCHES = [1, 2, 4];
const SLO_MS = 500;
const SMALL = { image: PIXELS, widthMultiplier: 0.5 };
const MODELS: Readonly<Record<string, () => Uint8Array>> = {
  detect: () => vitExported({ image: PIXELS, classes: 4 }),
  clean: () => unet({ ...SMALL, classes: 3, seed: 1 }),
  sharpen: () => unet({ ...SMALL, classes: 3, seed: 2 }),
  count: () => resnet18({ ...SMALL, classes: 5 }),
  tag: () => mobilenetv2({ ...SMALL, classes: 5 }),
};

interface Figures {
  readonly attainment: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

interface Row {
  readonly load: number;
  readonly rps: number;
  readonly live: Figures;
  readonly simulated: Figures;
  readonly report: LoadReport;
}

interface Bench {
  readonly folder: string;
  readonly images: readonly TensorData[];
  /** What detect says of each image: the first two logits. */
  readonly logits: readonly Float32Array[];
  readonly device: string;
}

await bench();

async function bench(): Promise<void> {
  const { values } = benchArguments(USAGE, {
    load: { type: 'string', default: '0.3,0.6,0.9,2' },
    seconds: { type: 'string', default: '10' },
    seed: { type: 'string', default: '0' },
    slowdown: { type: 'string', default: '4' },
    json: { type: 'string' },
  });
  const number = (name: 'seconds' | 'seed' | 'slowdown') => benchNumber(USAGE, `--${name}`, values[name]);
  const folder = await mkdtemp(join(tmpdir(), 'inferplan-bench-pipeline-'));
  try {
    const prepared = await prepare(folder, `cpu:1,slowdown=${number('slowdown')}`);
    const { plan, bounds } = await deploy(prepared);
    const server = await startServer(join(folder, 'bundle'), { port: 0 });
    const rows: Row[] = [];
    for (const load of values.load.split(',').map((text) => benchNumber(USAGE, '--load', text))) {
      const order = { rps: load * plan.throughputRps, durationS: number('seconds'), seed: number('seed') };
      const inputs = prepared.images.map((image) => ({ pixel_values: image }));
      const report = await driveLoad(server.url, { ...order, inputs });
      const simulated = simulation(plan, { ...order, logits: prepared.logits, bounds });
      rows.push({ load, rps: order.rps, live: liveFigures(report), simulated, report });
    }
    await server.close();
    if (values.json !== '-') process.stdout.write(tableOf(rows, plan));
    saveResult(values.json, {
      bench: 'pipeline',
      options: { load: values.load, seconds: values.seconds, seed: values.seed, slowdown: values.slowdown },
      measures: measuresOf(rows, ({ load }) => `load ${load}`, {
        attainment: ({ live }) => live.attainment,
        'simulated attainment': ({ simulated }) => simulated.attainment,
        'p95 ms': ({ live }) => live.p95Ms,
        'simulated p95 ms': ({ simulated }) => simulated.p95Ms,
      }),
      rows,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** prepare builds and profiles the models, and runs detect on every image. */
async function prepare(folder: string, device: string): Promise<Bench> {
  for (const [name, make] of Object.entries(MODELS)) {
    await writeFile(join(folder, `${name}.onnx`), make());
    await profileModelFile(join(folder, `${name}.onnx`), {
      devices: [`slow=${device}`],
      batch: BATCHES,
      blocks: '1',
      minMs: 200,
      output: join(folder, `${name}.json`),
    });
    process.stderr.write(`profiled ${name}\n`);
  }
  const { uniform } = streamOf(0, 'images');
  const dims = [1, 3, PIXELS, PIXELS];
  const images = Array.from({ length: IMAGES }, () => ({
    dtype: 'float32',
    dims,
    data: Float32Array.from({ length: 3 * PIXELS ** 2 }, () => 2 * uniform() - 1),
  }));
  const executor = await startExecutor({ provider: 'cpu', threads: 1 }, { virtual: 1, name: 'detect' });
  const { model } = await executor.load(join(folder, 'detect.onnx'));
  const logits: Float32Array[] = [];
  for (const image of images) {
    const { outputs } = await executor.run(model, { pixel_values: image });
    logits.push(outputs.logits?.data as Float32Array);
  }
  await executor.close();
  return { folder, images, logits, device };
}

/** deploy solves and deploys the pipeline. Each condition holds for half of the images. */
async function deploy({ folder, logits }: Bench): Promise<{ plan: PipelinePlan; bounds: number[] }> {
  const bounds = [0, 1].map((i) => {
    const sorted = Float64Array.from(logits, (row) => row[i] as number).sort();
    return sorted[IMAGES / 2] as number;
  });
  const when = (index: number) => `when: { output: logits, index: ${index}, atLeast: ${bounds[index]} }`;
  const spec = `kind: pipeline
name: looks
cluster: { devices: { slow: { count: 2 } } }
stages:
  - { name: detect, profile: detect.json, batch: 4, next: [
      { to: clean, probability: 0.5, ${when(0)} }, { to: sharpen, probability: 0.5 },
      { to: tag, probability: 0.5, ${when(1)} } ] }
  - { name: clean, profile: clean.json, batch: 4, next: [count], inputs: { image: request.pixel_values } }
  - { name: sharpen, profile: sharpen.json, batch: 4, next: [count], inputs: { image: request.pixel_values } }
  - { name: count, profile: count.json, batch: 4, inputs: { image: [clean.mask_logits, sharpen.mask_logits] } }
  - { name: tag, profile: tag.json, batch: 4, inputs: { image: request.pixel_values } }
exclusive: [[clean, sharpen]]
shared:
  - { device: slow, stages: [detect, clean, sharpen], replicas: 1 }
  - { device: slow, stages: [count, tag], replicas: 1 }
sloMs: ${SLO_MS}
planner: { method: given }
`;
  await writeFile(join(folder, 'spec.yaml'), spec);
  const output = join(folder, 'plan.json');
  const solved = await solveSpec(join(folder, 'spec.yaml'), { output });
  if (solved.outcome !== 'pipeline-plan') throw new Error(`no plan: ${JSON.stringify(solved)}`);
  await deployPlan(output, { output: join(folder, 'bundle') });
  return { plan: solved.plan, bounds };
}

interface Simulated {
  readonly rps: number;
  readonly durationS: number;
  readonly seed: number;
  readonly logits: readonly Float32Array[];
  readonly bounds: readonly number[];
}

/** simulation simulates the arrivals that the client sends with this seed, and what detect says of their images. */
function simulation(plan: PipelinePlan, { rps, durationS, seed, logits, bounds }: Simulated): Figures {
  const topology = pipelineTopologyOf(plan, { transfers: 'none' });
  const leastSloNs = SLO_MS * 1e6;
  const chosen = plannedScheduler(
    plan.serving,
    { options: {}, leastSloNs },
    new ToldFaults(),
  ) as ChosenScheduler;
  const stream = streamOf(seed, 'arrivals');
  const latenciesMs: number[] = [];
  let inTime = 0;
  let ended = 0;
  const detect = plan.stages.findIndex(({ name }) => name === 'detect');
  simulate({
    topology,
    makeCore: (decisions) => makeCore(chosen, topology, { decisions, streams: streamsOf(1, 'core') }),
    arrivals: arrivalsAt(arrivals({ process: 'poisson', rps, durationS, stream })),
    verdict: (order, _row, stage) => {
      if (stage !== detect) return 0;
      const [first, second] = logits[order % IMAGES] as Float32Array;
      const [low, high] = bounds as [number, number];
      return ((first as number) >= low ? 1 : 2) | ((second as number) >= high ? 4 : 0);
    },
    observers: [
      {
        ended: (atNs, _model, _request, arrivedAtNs, outcome) => {
          ended += 1;
          if (outcome === OutcomeCode.inTime) inTime += 1;
          if (outcome === OutcomeCode.inTime || outcome === OutcomeCode.late)
            latenciesMs.push((atNs - arrivedAtNs) / 1e6);
        },
      },
    ],
  });
  const sorted = Float64Array.from(latenciesMs).sort();
  const quantile = (share: number) => quantileOfSorted(sorted, share) ?? Number.NaN;
  return { attainment: inTime / ended, p50Ms: quantile(0.5), p95Ms: quantile(0.95) };
}

function liveFigures({ attainment = 0, latencyMs }: LoadReport): Figures {
  return { attainment, p50Ms: latencyMs?.p50 ?? Number.NaN, p95Ms: latencyMs?.p95 ?? Number.NaN };
}

function tableOf(rows: readonly Row[], { throughputRps, longestPath }: PipelinePlan): string {
  const columns: readonly (readonly [string, (row: Row) => string])[] = [
    ['load', ({ load }) => load.toFixed(2)],
    ['rps', ({ rps }) => rps.toFixed(1)],
    ['sent', ({ report }) => String(report.sent)],
    ['dropped', ({ report }) => String(report.dropped)],
    ['attainment', ({ live }) => live.attainment.toFixed(4)],
    ['simulated', ({ simulated }) => simulated.attainment.toFixed(4)],
    ['p50 ms', ({ live }) => live.p50Ms.toFixed(1)],
    ['simulated', ({ simulated }) => simulated.p50Ms.toFixed(1)],
    ['p95 ms', ({ live }) => live.p95Ms.toFixed(1)],
    ['simulated', ({ simulated }) => simulated.p95Ms.toFixed(1)],
  ];
  const lines = [columns.map(([name]) => name), ...rows.map((row) => columns.map(([, cell]) => cell(row)))];
  const path = `the longest path takes ${(longestPath.latencyUs / 1e3).toFixed(1)} ms of ${SLO_MS} ms`;
  return `${throughputRps.toFixed(1)} requests per second at load 1; ${path}\n${tableText(lines)}`;
}
