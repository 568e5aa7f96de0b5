/**
 * This benchmark shows how well layer times add up to a profiled run, and how far the latencies that a plan takes
 * partitions for are from what they take. Every span of two or more of ten blocks is extracted and timed, in rotation
 * with the whole model. This is done twice, and how far the two timings are from each other says how much of that is
 * the machine's noise. It covers every shared model whose run takes 2 ms or more, on one CPU thread at batch 1. A table
 * goes to stderr, JSON to stdout.
 *
 *     node dist/bench/layers.js [models folder] [--all] [--json file] [model…]
 */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unitsOf } from '../src/checks/index.js';
import { type Device, startExecutor } from '../src/execution/index.js';
import { layersBeforeBlocks, type PlannedPartition, type Profile } from '../src/formats/index.js';
import {
  type LayerTimes,
  type PreparedModel,
  prepareModel,
  profileModel,
  sessionLayerTimes,
  timeSpans,
} from '../src/profiler/index.js';
import { benchArguments } from './arguments.js';
import { inputsAt, measuresOf, saveResult } from './results/result.js';

/** DIMS gives the sizes of free dimensions for the models that have them. */
const DIMS: Readonly<Record<string, Record<string, number>>> = {
  yunet_n_dynamic: { height: 320, width: 320 },
  bert_toy: { max_seq_len_in_batch: 64 },
  gpt2_past: { seq_len: 4 },
};
const DEVICE: Device = { provider: 'cpu', threads: 1 };
const SHORTEST_US = 2000;

interface Row {
  model: string;
  layers: number;
  /** The number of layers with a time of their own. The others were folded away. */
  timed: number;
  runUs: number;
  kernelsOverRun: number;
  layersOverRun: number;
  unmapped: number;
  blocks: number;
  blockSumOverWhole: number;
  predictedOverWhole: number;
  /** How far planned latencies of several blocks are from measured ones, in % of the latter. */
  medianOffPercent: number;
  p90OffPercent: number;
  mostOffPercent: number;
  /** How far a second timing of the same spans is from the first, in % of the latter. */
  medianRepeatPercent: number;
  p90RepeatPercent: number;
}

async function measure(folder: string, name: string, all: boolean): Promise<Row | undefined> {
  const dims = DIMS[name] ?? {};
  const prepared = await prepareModel(join(folder, `${name}.onnx`), {
    dims,
    device: DEVICE,
  });
  const times = await inOneSession(prepared.model.bytes, (path) =>
    timesOf({ model: prepared.model, path, feeds: prepared.request }),
  );
  if (times.runUs < SHORTEST_US && !all) return undefined;
  const profile = await profileModel(prepared, {
    devices: [{ className: 'cpu', device: DEVICE }],
    batchSizes: [1],
    partition: { blocks: 10 },
  });
  const batch = String(prepared.fixedBatch ?? 1);
  const { off, repeat } = await offsOf(prepared, profile, Number(batch));
  return {
    model: name,
    layers: prepared.layers.length,
    timed: times.layerUs.filter((us) => us > 0).length,
    runUs: Math.round(times.runUs),
    kernelsOverRun: round(times.kernelsOverRun),
    layersOverRun: round(times.accountedFor),
    unmapped: round(times.unmapped),
    blocks: profile.blocks.length,
    blockSumOverWhole: profile.measurement?.blockSumOverWhole?.cpu?.['1']?.[batch] ?? Number.NaN,
    predictedOverWhole: profile.measurement?.predictedOverWhole?.cpu?.['1']?.[batch] ?? Number.NaN,
    medianOffPercent: atShare(off, 0.5),
    p90OffPercent: atShare(off, 0.9),
    mostOffPercent: atShare(off, 1),
    medianRepeatPercent: atShare(repeat, 0.5),
    p90RepeatPercent: atShare(repeat, 0.9),
  };
}

/**
 * offsOf gives by how many percent each planned latency of several blocks differs from the measured one, and a second
 * measured one from the first, both ascending. What was measured is scaled by the whole model's latency, because the
 * machine may have become slower since.
 */
async function offsOf(
  prepared: PreparedModel,
  profile: Profile,
  batch: number,
): Promise<{ off: number[]; repeat: number[] }> {
  const ends = layersBeforeBlocks(profile.blocks);
  const spans = ends.flatMap((from, first) =>
    ends.slice(first + 2).map((to, k) => ({ from, to, blocks: [first, first + 2 + k] as [number, number] })),
  );
  const device = { className: 'cpu', device: DEVICE };
  const profiledUs = profile.devices.cpu?.wholeLatencyUs?.['1']?.[batch] ?? Number.NaN;
  const timeAll = async (): Promise<number[]> => {
    const timed = await timeSpans(prepared, { device, virtual: 1, spansAt: new Map([[batch, spans]]) });
    const { us, wholeUs } = timed.get(batch) as { us: readonly number[]; wholeUs: number };
    return us.map((one) => (one * profiledUs) / wholeUs);
  };
  const measured = await timeAll();
  const again = await timeAll();
  // The whole model is what the others are scaled by.
  const counted = spans.flatMap(({ blocks }, i) =>
    blocks[1] - blocks[0] === profile.blocks.length ? [] : [i],
  );
  const percents = (figureOf: (i: number) => number) =>
    counted
      .map((i) => 100 * Math.abs(figureOf(i) / (measured[i] as number) - 1))
      .toSorted((one, other) => one - other);
  const plannedUs = (i: number) => {
    const partition = { blocks: spans[i]?.blocks, device: 'cpu', virtual: 1 } as PlannedPartition;
    return unitsOf(partition, profile, 'block').latencyUs(batch) ?? Number.NaN;
  };
  return { off: percents(plannedUs), repeat: percents((i) => again[i] as number) };
}

/** atShare is the figure at a share of an ascending list, to a tenth. */
function atShare(sorted: readonly number[], share: number): number {
  return Math.round(10 * (sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN)) / 10;
}

async function timesOf(work: Parameters<typeof sessionLayerTimes>[1]): Promise<LayerTimes> {
  const executor = await startExecutor(DEVICE);
  try {
    return await sessionLayerTimes(executor, work);
  } finally {
    await executor.close();
  }
}

async function inOneSession<T>(bytes: Uint8Array, use: (path: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'inferplan-bench-'));
  try {
    const path = join(folder, 'model.onnx');
    await writeFile(path, bytes);
    return await use(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function round(ratio: number): number {
  return Math.round(ratio * 1000) / 1000;
}

const { values, positionals } = benchArguments(
  'node dist/bench/layers.js [models folder, default ../shared/models] [--all: short ones too] [--json file] [model…]',
  { all: { type: 'boolean', default: false }, json: { type: 'string' } },
);
const [folder = '../shared/models', ...chosen] = positionals;
const names =
  chosen.length > 0
    ? chosen
    : (await readdir(folder)).flatMap((file) => (file.endsWith('.onnx') ? [file.slice(0, -5)] : [])).sort();
const rows: Row[] = [];
for (const name of names) {
  try {
    const row = await measure(folder, name, values.all);
    if (row !== undefined) rows.push(row);
    console.error(row ?? `${name}: less than ${SHORTEST_US} µs`);
  } catch (error) {
    console.error(`${name}: ${(error as Error).message}`);
  }
}
console.error();
new console.Console(process.stderr).table(rows);
if (values.json !== '-') console.log(JSON.stringify(rows, null, 2));
saveResult(values.json, {
  bench: 'layers',
  options: { all: values.all, models: chosen },
  inputs: Object.assign({}, ...rows.map(({ model }) => inputsAt(join(folder, `${model}.onnx`)))),
  measures: measuresOf(rows, ({ model }) => model, {
    'run µs': (row) => row.runUs,
    'kernels over run': (row) => row.kernelsOverRun,
    'layers over run': (row) => row.layersOverRun,
    unmapped: (row) => row.unmapped,
    'blocks over whole': (row) => row.blockSumOverWhole,
    'predicted over whole': (row) => row.predictedOverWhole,
    'planned off by, median %': (row) => row.medianOffPercent,
    'planned off by, p90 %': (row) => row.p90OffPercent,
    'planned off by, most %': (row) => row.mostOffPercent,
    'timed again off by, median %': (row) => row.medianRepeatPercent,
    'timed again off by, p90 %': (row) => row.p90RepeatPercent,
  }),
  rows,
});
