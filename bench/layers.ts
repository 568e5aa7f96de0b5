/**
 * This benchmark shows how well layer times add up to a profiled run, and block times to the whole model. It
 * covers every shared model whose run takes 2 ms or more, on one CPU thread at batch 1. A table goes to
 * stderr, JSON to stdout.
 *
 *     node dist/bench/layers.js [models folder] [--all] [--json file] [model…]
 */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Device, startExecutor } from '../src/execution/index.js';
import { type LayerTimes, prepareModel, profileModel, sessionLayerTimes } from '../src/profiler/index.js';
import { benchArguments } from './arguments.js';
import { inputsAt, measuresOf, saveResult } from './results/result.js';

/** DIMS gives the sizes of free dimensions for the models that have them. */
const DIMS: Readonly<Record<string, Record<string, number>>> = {
  yunet_n_dynamic: { height: 320, width: 320 },
  bert_toy: { max_seq_len_in_batch: 64 },
  gpt2_past: { seq_len: 8 },
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
    partition: { blocks: 5 },
  });
  const batch = String(prepared.fixedBatch ?? 1);
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
  };
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
  }),
  rows,
});
