import { itemAt } from '../collections/index.js';
import { freeMemory, type TensorData, type Tensors } from '../execution/index.js';
import { exposeTensors, extractPartition } from '../onnx/index.js';
import { measuredBytes } from './memory-need.js';
import { lightened, writeModel } from './source.js';
import type { PreparedModel } from './types.js';

/** Up to this size, found values are kept; larger ones are found again for the blocks that need them. */
const KEPT_BYTES = 32 * 2 ** 20;

/** BlockFile is a block, or a span of several, as an ONNX file: nodes [from, to) of the model. */
export interface BlockFile {
  readonly from: number;
  readonly to: number;
  readonly path: string;
  readonly inputs: readonly string[];
}

/** RunOnce runs a model once, on the model's own request, and gives the tensors that are fetched. */
export type RunOnce = (path: string, fetches: readonly string[]) => Promise<Tensors>;

/** NodeSpan names the nodes [from, to) of a model. */
export type NodeSpan = Pick<BlockFile, 'from' | 'to'>;

/**
 * blockSpans lists the nodes of every block, and then, for three blocks or more, those of every pair of neighbours.
 * `ends` are as in `blocksAt`.
 */
export function blockSpans(ends: readonly number[]): NodeSpan[] {
  const starts = [0, ...ends];
  const blocks = ends.map((to, k) => ({ from: itemAt(starts, k), to }));
  const pairs = ends.slice(1).map((to, k) => ({ from: itemAt(starts, k), to }));
  return ends.length < 3 ? blocks : [...blocks, ...pairs];
}

/**
 * writeSpanFiles writes spans as `nodes-<from>-<to>.onnx` in a folder. Spans with external tensors expect `model.data`
 * beside them (`writeData`).
 */
export async function writeSpanFiles(
  prepared: PreparedModel,
  spans: readonly NodeSpan[],
  folder: string,
): Promise<BlockFile[]> {
  const files: BlockFile[] = [];
  const { model, types, cuts } = prepared;
  for (const { from, to } of spans) {
    const { bytes, inputs } = extractPartition(model, { from, to, types, cuts });
    files.push({ from, to, inputs, path: await writeModel(folder, `nodes-${from}-${to}`, bytes) });
    // Large weights would else wait for the garbage collector while the next spans are extracted.
    freeMemory(bytes);
  }
  return files;
}

/**
 * BlockFeeds gives the model's own tensors for one request at the inputs of blocks. They are the request's tensors, or
 * they come from a run of the model with its inner tensors exposed. Values of at most 32 MiB in all are found at once
 * and kept. Larger ones are found for the blocks that are asked for, and only the caller holds them.
 */
export class BlockFeeds {
  private readonly keeps: boolean;
  private kept: ReadonlyMap<string, TensorData> | undefined;

  constructor(
    private readonly prepared: PreparedModel,
    private readonly files: readonly BlockFile[],
    private readonly at: { readonly folder: string; readonly runOnce: RunOnce },
  ) {
    const bytesOf = measuredBytes(prepared.tensors, 1);
    const names = new Set(files.flatMap(({ inputs }) => inputs));
    this.keeps = [...names].reduce((sum, name) => sum + bytesOf(name), 0) <= KEPT_BYTES;
  }

  /** Gives each block's feeds for one request. */
  async of(blocks: readonly number[]): Promise<Map<number, Tensors>> {
    const values = this.kept ?? (await this.find(this.keeps ? [...this.files.keys()] : blocks));
    if (this.keeps) this.kept = values;
    return new Map(
      blocks.map((block) => {
        const { inputs } = itemAt(this.files, block);
        return [block, Object.fromEntries(inputs.map((name) => [name, values.get(name)!]))];
      }),
    );
  }

  private async find(blocks: readonly number[]): Promise<Map<string, TensorData>> {
    const { prepared, at } = this;
    const values = new Map(Object.entries(prepared.request));
    const names = new Set(blocks.flatMap((block) => itemAt(this.files, block).inputs));
    const inner = [...names].filter((name) => !values.has(name));
    if (inner.length === 0) return values;
    // The weights go to a file that ONNX Runtime maps, so that neither process holds a copy of them.
    const light = await lightened(prepared.model, at.folder);
    const path = await writeModel(at.folder, 'exposed', exposeTensors(light, inner));
    for (const [name, value] of Object.entries(await at.runOnce(path, inner))) values.set(name, value);
    return values;
  }
}
