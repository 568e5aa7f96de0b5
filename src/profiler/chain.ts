import { readdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { checkFolder, makeFolderWhole } from '../artifacts/index.js';
import { largestOf } from '../collections/index.js';
import {
  AS_SERVED,
  type Device,
  type Executor,
  MemoryGuard,
  type Optimization,
  startExecutor,
  type TensorData,
  type Tensors,
} from '../execution/index.js';
import { extractPartition } from '../onnx/index.js';
import { distanceOf, numericValues } from './agreement.js';
import { tellingFailures } from './memory-need.js';
import { copyPieces, withScratch, writeData, writeModel } from './source.js';
import type { PreparedModel } from './types.js';

/**
 * Chain is the blocks as files, and how far the chain's outputs are from the whole model's. A difference is the largest
 * of any output element over the largest finite magnitude of that output: 0 where all are equal, and Infinity where
 * shapes, texts, infinities or not-a-numbers differ.
 */
export interface Chain {
  readonly files: string[];
  /** The difference with graph optimizations off, where a chain computes what the whole model does, bit for bit. */
  readonly largestDifference: number;
  /**
   * The difference with all graph optimizations, as blocks are served. ONNX Runtime optimizes the blocks and the whole
   * model differently.
   */
  readonly servedDifference: number;
  /** How far the whole model is from itself between these two levels of optimization. */
  readonly levelsDifference: number;
}

/**
 * extractChain writes every block as an ONNX file of its own, runs them one after another on one request, and compares
 * the outputs with those of the whole model: with graph optimizations off, and with all of them, as in serving. The
 * folder appears whole or not at all. An existing folder is replaced only where it holds nothing but blocks' files
 * (`<number>.onnx`, `<number>.onnx.data`). With boundary `float16` the difference is what rounding at the cuts changes.
 * @param ends exclusive layer index of each block
 * @throws InputError where the folder holds other files or its parent is missing, memory ran out, or ONNX Runtime
 *   failed; MissingError where the device or external data is missing; the signal's reason on abort
 */
export async function extractChain(
  prepared: PreparedModel,
  ends: readonly number[],
  { folder, device, signal }: { folder: string; device: Device; signal?: AbortSignal },
): Promise<Chain> {
  let chain: Chain | undefined;
  await makeFolderWhole(folder, othersThanBlocks, async (inside) => {
    chain = await withChain(prepared, ends, {
      folder: inside,
      device,
      ...(signal ? { signal } : {}),
      use: async ({ files, run, largest }) => {
        const [off, served] = [await run('disabled'), await run(AS_SERVED.optimization)];
        return {
          files: files.map((file) => join(folder, basename(file))),
          largestDifference: largest(off.whole, off.chained),
          servedDifference: largest(served.whole, served.chained),
          levelsDifference: largest(off.whole, served.whole),
        };
      },
    });
  });
  return chain as Chain;
}

/**
 * checkExtractFolder checks that blocks could be extracted to a folder. It is called before layers are measured.
 * @throws InputError where the folder holds other files or its parent is missing
 */
export function checkExtractFolder(folder: string): Promise<void> {
  return checkFolder(folder, othersThanBlocks);
}

const BLOCK_FILE = /^\d+\.onnx(\.data)?$/;

/** othersThanBlocks lists the entries of a folder that are no files with a block's name. */
async function othersThanBlocks(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => !entry.isFile() || !BLOCK_FILE.test(entry.name)).map(({ name }) => name);
}

/** ChainRuns are the blocks as files, and what runs and compares them. */
interface ChainRuns {
  readonly files: readonly string[];
  /** Runs the whole model and the chain at a level of optimization. */
  run(optimization: Optimization): Promise<{ whole: Tensors; chained: Tensors }>;
  /** Gives the largest difference of any output (`difference`). */
  largest(one: Tensors, other: Tensors): number;
}

interface ChainOptions<T> {
  readonly folder: string;
  readonly device: Device;
  readonly signal?: AbortSignal;
  readonly use: (runs: ChainRuns) => Promise<T>;
}

/** withChain writes every block as a file of its own, and lets `use` run them with an executor that ends afterwards. */
async function withChain<T>(
  prepared: PreparedModel,
  ends: readonly number[],
  { folder, device, signal, use }: ChainOptions<T>,
): Promise<T> {
  const task = `run the blocks of ${prepared.name} one after another`;
  return tellingFailures(task, () =>
    withScratch(async (scratch) => {
      await writeData(scratch, prepared.source);
      const blocks: Block[] = [];
      for (const [k, to] of ends.entries()) {
        signal?.throwIfAborted();
        const range = { from: ends[k - 1] ?? 0, to };
        const name = `${String(k).padStart(String(ends.length - 1).length, '0')}.onnx`;
        blocks.push(await writeBlock(prepared, range, { path: join(folder, name), dataFolder: scratch }));
      }
      const wholePath = await writeModel(scratch, 'whole', prepared.model.bytes);
      const wanted = prepared.outputs.map(({ name }) => name);
      const whole = { path: wholePath, inputs: Object.keys(prepared.request), outputs: wanted };
      const executor = await startExecutor(device, { memory: new MemoryGuard(), signal });
      try {
        const given = { request: prepared.request, wanted };
        return await use({
          files: blocks.map(({ path }) => path),
          run: async (optimization) => ({
            whole: await runChain(executor, [whole], { ...given, optimization }),
            chained: await runChain(executor, blocks, { ...given, optimization }),
          }),
          largest: (one, other) =>
            Math.max(0, largestOf(wanted.map((name) => difference(one[name], other[name])))),
        });
      } finally {
        await executor.close();
      }
    }).catch((error: unknown) => {
      // An executor that was ended fails in words of its own.
      signal?.throwIfAborted();
      throw error;
    }),
  );
}

/**
 * boundaryChange measures what converting tensors at every block's boundary changes in the outputs, as
 * `Chain.largestDifference`. It does what `extractChain` does, in a temporary folder, and throws the same.
 */
export function boundaryChange(
  prepared: PreparedModel,
  ends: readonly number[],
  { device, signal }: { readonly device: Device; readonly signal?: AbortSignal | undefined },
): Promise<number> {
  return withScratch(async (scratch) => {
    return await withChain(prepared, ends, {
      folder: scratch,
      device,
      ...(signal ? { signal } : {}),
      use: async ({ run, largest }) => {
        const { whole, chained } = await run('disabled');
        return largest(whole, chained);
      },
    });
  });
}

interface Block {
  readonly path: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

async function writeBlock(
  prepared: PreparedModel,
  range: { from: number; to: number },
  { path, dataFolder }: { path: string; dataFolder: string },
): Promise<Block> {
  const { types, boundary, cuts } = prepared;
  const dataFile = `${basename(path)}.data`;
  const { bytes, inputs, outputs, external } = extractPartition(prepared.model, {
    ...range,
    types,
    boundary,
    cuts,
    dataFile,
  });
  await writeFile(path, bytes);
  await copyPieces(external, { fromFolder: dataFolder, toFile: join(dirname(path), dataFile) });
  const sent = outputs.filter((name) => prepared.tensors.get(name)?.kind !== 'not-a-tensor');
  return { path, inputs, outputs: sent };
}

/** runChain gives the values of `wanted`. It frees the tensors that no later block reads on the way. */
async function runChain(
  executor: Executor,
  blocks: readonly Block[],
  {
    request,
    wanted,
    optimization,
  }: {
    readonly request: Tensors;
    readonly wanted: readonly string[];
    readonly optimization: Optimization;
  },
): Promise<Tensors> {
  const live = new Map(Object.entries(request));
  for (const [k, { path, inputs, outputs }] of blocks.entries()) {
    const { model } = await executor.load(path, { optimization, memoryPattern: false });
    const feeds = Object.fromEntries(inputs.map((name) => [name, live.get(name)!]));
    const made = (await executor.run(model, feeds, outputs)).outputs;
    await executor.release(model);
    for (const [name, value] of Object.entries(made)) live.set(name, value);
    const needed = new Set([...wanted, ...blocks.slice(k + 1).flatMap((block) => block.inputs)]);
    for (const name of live.keys()) if (!needed.has(name)) live.delete(name);
  }
  return Object.fromEntries(live);
}

/** difference compares one output of two runs, as `Chain` says. */
export function difference(whole: TensorData | undefined, chained: TensorData | undefined): number {
  if (whole === undefined || chained === undefined || whole.dims.join() !== chained.dims.join())
    return Number.POSITIVE_INFINITY;
  const [a, b] = [numericValues(whole), numericValues(chained)];
  if (a === undefined || b === undefined)
    return whole.data.every((value, i) => value === chained.data[i]) ? 0 : Number.POSITIVE_INFINITY;
  const { apart, largest } = distanceOf(a, b);
  return apart === 0 ? 0 : apart / (largest || 1);
}
