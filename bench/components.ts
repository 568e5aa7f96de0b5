/**
 * This benchmark shows what a component executor costs on one thread of this machine's CPU:
 *
 *     node dist/bench/components.js [--model-mb 100] [--output-mb 1] [--loads 5] [--runs 200] [--cycles 50] [--json file]
 *
 * - How long a run of a small model takes from its request to its answer, alone and while a large model is loaded and
 *   released again and again, from a host cache's bytes and from its file, whose digest is compared or not.
 * - How long a run on an output of some size takes that lies on the device, by its last use and by another, and one whose
 *   input is fetched from the executor and sent to it again, as from another device.
 * - The memory that the child holds after it has loaded, run and released the large model so many times.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GraphBuilder } from '../examples/models/graph.js';
import {
  type BatchTask,
  type ComponentExecutor,
  type ComponentLoadOptions,
  HostCache,
  type ModelBytes,
  startComponentExecutor,
  type TensorData,
} from '../src/execution/index.js';
import { sha256Of } from '../src/formats/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const USAGE =
  'node dist/bench/components.js [--model-mb 100] [--output-mb 1] [--loads 5] [--runs 200] [--cycles 50] [--json file]';
const FLOAT_BYTES = 4;
const MB = 1e6;
const SMALL_WIDTH = 64;

/** Row is one case: how long its runs took, or what the child held after so many cycles. */
interface Row {
  readonly name: string;
  readonly ms?: readonly number[];
  readonly loadMs?: readonly number[];
  readonly heldMb?: readonly number[];
}

interface Sizes {
  readonly width: number;
  readonly floats: number;
  readonly loads: number;
  readonly runs: number;
  readonly cycles: number;
}

async function bench(): Promise<void> {
  const { values } = benchArguments(USAGE, {
    'model-mb': { type: 'string', default: '100' },
    'output-mb': { type: 'string', default: '1' },
    loads: { type: 'string', default: '5' },
    runs: { type: 'string', default: '200' },
    cycles: { type: 'string', default: '50' },
    json: { type: 'string' },
  });
  const number = (name: 'model-mb' | 'output-mb' | 'loads' | 'runs' | 'cycles') =>
    benchNumber(USAGE, `--${name}`, values[name]);
  const sizes: Sizes = {
    width: Math.round(Math.sqrt((number('model-mb') * MB) / FLOAT_BYTES)),
    floats: Math.round((number('output-mb') * MB) / FLOAT_BYTES),
    loads: number('loads'),
    runs: number('runs'),
    cycles: number('cycles'),
  };
  const folder = await mkdtemp(join(tmpdir(), 'inferplan-components-'));
  const rows: Row[] = [];
  try {
    const path = join(folder, 'large.onnx');
    await writeFile(path, product(sizes.width));
    const model = await new HostCache({ limitBytes: 2 ** 32 }).get(path);
    for (const part of [loadsBeside, waysOfInputs, cyclesOf])
      rows.push(...(await withExecutor((executor) => part(executor, model, sizes))));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  if (values.json !== '-') process.stdout.write(tableText([HEADER, ...rows.map(lineOf)]));
  const { json, ...options } = values;
  saveResult(json, {
    bench: 'components',
    options,
    measures: measuresOf(rows, ({ name }) => name, {
      'run ms': ({ ms }) => ms,
      'load ms': ({ loadMs }) => loadMs,
      'held MB': ({ heldMb }) => heldMb,
    }),
    rows,
  });
}

async function withExecutor<Result>(use: (executor: ComponentExecutor) => Promise<Result>): Promise<Result> {
  const executor = await startComponentExecutor({ provider: 'cpu', threads: 1 });
  try {
    return await use(executor);
  } finally {
    await executor.close();
  }
}

async function loadsBeside(
  executor: ComponentExecutor,
  model: ModelBytes,
  { width, loads, runs }: Sizes,
): Promise<Row[]> {
  const small = await loadBytes(executor, product(SMALL_WIDTH), specs(SMALL_WIDTH));
  const x = filled(SMALL_WIDTH);
  const once = async (): Promise<number> => {
    const ms = await timed(() => executor.run(small, [{ id: 1, inputs: { x } }]));
    await executor.drop([1]);
    return ms;
  };
  const alone: number[] = [];
  for (let i = 0; i < runs; i++) alone.push(await once());
  const rows: Row[] = [{ name: 'small model, alone', ms: alone }];
  const digests = { sha256: sha256Of(model.bytes), data: [] };
  for (const [name, source, options] of [
    ['bytes', model, specs(width)],
    ['its file', model.path, specs(width)],
    ['its file, whose digest is compared', model.path, { ...specs(width), digests }],
  ] as const) {
    const [ms, loadMs]: [number[], number[]] = [[], []];
    for (let i = 0; i < loads; i++) {
      let isLoaded = false;
      const startedMs = performance.now();
      const load = executor.load(source, options).then((answer) => {
        isLoaded = true;
        loadMs.push(performance.now() - startedMs);
        return answer;
      });
      while (!isLoaded) ms.push(await once());
      await executor.release((await load).model);
    }
    rows.push({ name: `small model, while a large one is loaded from ${name}`, ms, loadMs });
  }
  return rows;
}

async function waysOfInputs(
  executor: ComponentExecutor,
  _model: ModelBytes,
  { floats, runs }: Sizes,
): Promise<Row[]> {
  const negated = await loadBytes(executor, negation(floats), specs(floats));
  const x = filled(floats);
  const after = async (inputOf: () => Promise<BatchTask['inputs'][string]>): Promise<number[]> => {
    const all: number[] = [];
    for (let i = 0; i < runs; i++) {
      await executor.run(negated, [{ id: 1, inputs: { x } }]);
      all.push(await timed(async () => executor.run(negated, [{ id: 2, inputs: { x: await inputOf() } }])));
      await executor.drop([1, 2]);
    }
    return all;
  };
  const fetched = async () => (await executor.fetch(1, ['y'])).y!;
  return [
    {
      name: 'input on the device, last use',
      ms: await after(async () => ({ kept: 1, name: 'y', isLast: true })),
    },
    { name: 'input on the device', ms: await after(async () => ({ kept: 1, name: 'y' })) },
    { name: 'input fetched and sent', ms: await after(fetched) },
  ];
}

async function cyclesOf(executor: ComponentExecutor, model: ModelBytes, sizes: Sizes): Promise<Row[]> {
  const heldMb = [heldBy(executor)];
  const loadMs: number[] = [];
  for (let i = 0; i < sizes.cycles; i++) {
    const startedMs = performance.now();
    const loaded = await executor.load(model, specs(sizes.width));
    loadMs.push(performance.now() - startedMs);
    await executor.run(loaded.model, [{ id: 1, inputs: { x: filled(sizes.width) } }]);
    if (i === 0) heldMb.push(heldBy(executor));
    await executor.drop([1]);
    await executor.release(loaded.model);
    if (i === 0) heldMb.push(heldBy(executor));
  }
  heldMb.push(heldBy(executor));
  return [{ name: 'held at first, with the large model, without, and after all cycles', loadMs, heldMb }];
}

async function loadBytes(
  executor: ComponentExecutor,
  bytes: Uint8Array,
  options: ComponentLoadOptions,
): Promise<number> {
  return (await executor.load({ path: 'model.onnx', bytes, data: [] }, options)).model;
}

/** product makes a model of one product with a weight of width² floats. */
function product(width: number): Uint8Array {
  const graph = new GraphBuilder('product', 0);
  const x = graph.input('x', 'float32', ['n', width]);
  graph.node('MatMul', [x, graph.weight('w', [width, width], { reach: 1 })], {
    name: 'product',
    output: 'y',
  });
  graph.output('y', ['n', width]);
  return graph.bytes();
}

function negation(width: number): Uint8Array {
  const graph = new GraphBuilder('negation', 0);
  graph.node('Neg', [graph.input('x', 'float32', ['n', width])], { name: 'negation', output: 'y' });
  graph.output('y', ['n', width]);
  return graph.bytes();
}

function specs(width: number): ComponentLoadOptions {
  const of = (name: string) => ({ name, shape: [1, width], batchAxis: 0 });
  return { inputs: [of('x')], outputs: [of('y')] };
}

function filled(width: number): TensorData {
  return { dtype: 'float32', dims: [1, width], data: new Float32Array(width).fill(0.5) };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/** heldBy gives the memory of the child without what it shares with files, in MB; NaN where the system does not tell. */
function heldBy({ pid }: ComponentExecutor): number {
  if (process.platform !== 'linux') return Number.NaN;
  const kib = /^RssAnon:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return (Number(kib) * 1024) / MB;
}

const HEADER = ['', 'runs', 'run p50 ms', 'p99', 'most', 'load p50 ms', 'held MB'];

function lineOf({ name, ms = [], loadMs = [], heldMb = [] }: Row): string[] {
  const of = (values: readonly number[], share: number) => {
    const sorted = values.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]?.toPrecision(3) ?? '';
  };
  return [
    name,
    ms.length === 0 ? '' : String(ms.length),
    ...[of(ms, 0.5), of(ms, 0.99), of(ms, 1), of(loadMs, 0.5)],
    heldMb.map((value) => value.toFixed(0)).join(', '),
  ];
}

await bench();
