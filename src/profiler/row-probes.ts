import { itemAt } from '../collections/index.js';
import {
  ExecutionError,
  elementCount,
  filledTensor,
  firstLine,
  OutOfMemoryError,
  randomTensor,
  splitBatch,
  type TensorData,
  type TensorMaker,
  type Tensors,
} from '../execution/index.js';
import type { Probe, UnknownNode } from '../onnx/index.js';
import { agree } from './agreement.js';
import { type Trial, withProbes } from './find-tensors.js';
import { samplePicks } from './sampling.js';

/** Of an inner tensor, at most this many elements of a request are compared. */
const MOST_ELEMENTS = 2 ** 18;
/** Spikes and high values pass any threshold that is meant for values between 0 and 1 or near them. */
const SPIKE = 50;
const HIGH = { low: 4, high: 8 };
const LOW = { low: -8, high: -4 };
const SIGNED = { low: -3, high: 3 };

/**
 * KINDS are the kinds of requests: rows that pass thresholds in different numbers of places, rows that pass none, and
 * rows without any difference inside.
 */
const KINDS = {
  noise: randomTensor,
  signed: reals(SIGNED),
  zeros: (tensor) => filledTensor(tensor.dtype, tensor.dims, 0),
  ones: (tensor) => filledTensor(tensor.dtype, tensor.dims, 1),
  high: reals(HIGH),
  low: reals(LOW),
  // At the last place, so that where the largest value is differs from that of equal values by more than chance.
  spike: (tensor) => peaked(tensor, new Set([elementCount(tensor.dims) - 1])),
  spikes: spikes(5),
} as const satisfies Record<string, TensorMaker>;
type Kind = keyof typeof KINDS;

/** Each kind is run together with others that differ strongly, in more than one order, at several batch sizes. */
const BATCHES: readonly (readonly Kind[])[] = [
  ['high', 'low'],
  ['low', 'high'],
  ['zeros', 'ones'],
  ['spikes', 'zeros', 'noise'],
  ['zeros', 'noise', 'spikes'],
  ['low', 'signed', 'ones', 'spike'],
  ['spike', 'high', 'zeros', 'signed', 'spikes'],
];

function reals(range: { low: number; high: number }): TensorMaker {
  return (tensor, nextUnit) =>
    tensor.dtype.startsWith('float') ? randomTensor(tensor, nextUnit, range) : randomTensor(tensor, nextUnit);
}

/** spikes makes zeros with a large value (1 of integers) at places that are drawn. */
function spikes(count: number): TensorMaker {
  return (tensor, nextUnit) => {
    const size = elementCount(tensor.dims);
    return peaked(tensor, new Set(Array.from({ length: count }, () => Math.floor(nextUnit() * size))));
  };
}

function peaked(tensor: Parameters<TensorMaker>[0], places: ReadonlySet<number>): TensorData {
  const high = tensor.dtype.startsWith('float') ? SPIKE : 1;
  let at = 0;
  return randomTensor(tensor, () => (places.has(at++) ? 1 : 0), { low: 0, high });
}

/** RowRequests makes requests of a kind, and joins requests into the feeds of a batch. */
export interface RowRequests {
  readonly of: (kind: TensorMaker, which: number) => Tensors;
  readonly joined: (requests: readonly Tensors[]) => Tensors;
}

/** WatchedTensor is a tensor that must hold the rows of a batch in a row along an axis, if it has one. */
export interface WatchedTensor {
  readonly name: string;
  readonly dims: readonly number[];
  readonly axis: number | undefined;
}

/** ShownNode is a node of which runs are to show that it keeps rows apart. */
type ShownNode = Pick<UnknownNode, 'told' | 'inputs' | 'outputs'>;

interface Watched {
  readonly tensors: readonly WatchedTensor[];
  readonly nodes: readonly ShownNode[];
  /** Tensors of which nothing is to be shown: inputs, and what follows from none or from filled ones. */
  readonly same: ReadonlySet<string>;
  readonly requests: RowRequests;
}

type Alone = ReadonlyMap<Kind, { readonly feeds: Tensors; readonly values: readonly TensorData[] }>;

/** RunFault says why runs do not show that rows keep apart, and the tensor or node where that was seen, if any was. */
interface RunFault {
  readonly why: string;
  readonly tensor?: string;
  readonly node?: ShownNode;
}

/**
 * rowsInRuns runs a model on requests of many kinds, each alone and several together, and says where a row of a batch is
 * not what its request has alone, or that no request changed what a node takes or gives, so that nothing is shown: rows
 * that are exchanged while they are equal are exchanged when they differ, too.
 */
export async function rowsInRuns(trial: Trial, watched: Watched): Promise<RunFault | undefined> {
  const { tensors, requests } = watched;
  const probes = tensors.map(({ name, dims, axis }): Probe => {
    const picks = samplePicks(dims, { mostElements: MOST_ELEMENTS, whole: axis });
    return { tensor: name, asks: 'elements', picks };
  });
  return await withProbes(trial, probes, async (run) => {
    const alone = await runAlone(run, requests);
    for (const batch of BATCHES) {
      const kinds = batch.filter((kind) => alone.has(kind));
      const fault = kinds.length < 2 ? undefined : await together(run, kinds, { alone, tensors, requests });
      if (fault === 'too large') break;
      if (fault !== undefined) return fault;
    }
    return silentNode(watched, alone);
  });
}

/** runAlone runs a request of each kind; kinds that the model does not run on are left out. */
async function runAlone(
  run: (feeds: Tensors) => Promise<TensorData[]>,
  requests: RowRequests,
): Promise<Alone> {
  const alone = new Map<Kind, { feeds: Tensors; values: TensorData[] }>();
  for (const [which, kind] of (Object.keys(KINDS) as Kind[]).entries()) {
    const feeds = requests.of(KINDS[kind], which);
    const values = await run(feeds).catch((error: unknown) => {
      if (error instanceof ExecutionError) return undefined;
      throw error;
    });
    if (values !== undefined) alone.set(kind, { feeds, values });
  }
  return alone;
}

async function together(
  run: (feeds: Tensors) => Promise<TensorData[]>,
  kinds: readonly Kind[],
  { alone, tensors, requests }: Pick<Watched, 'tensors' | 'requests'> & { readonly alone: Alone },
): Promise<RunFault | 'too large' | undefined> {
  const rows = kinds.map((kind) => alone.get(kind)!);
  const batch = `${kinds.length} requests at once (${kinds.join(', ')})`;
  let given: readonly TensorData[];
  try {
    given = await run(requests.joined(rows.map(({ feeds }) => feeds)));
  } catch (error) {
    if (!(error instanceof ExecutionError)) throw error;
    // Larger batches that do not fit in memory are reported when they are measured.
    if (error instanceof OutOfMemoryError && kinds.length > 2) return 'too large';
    return { why: `the model does not run on ${batch}, and runs on each alone: ${firstLine(error.message)}` };
  }
  for (const [at, { name, axis }] of tensors.entries()) {
    if (axis === undefined) continue;
    const wanted = rows.map(({ values }) => itemAt(values, at));
    if (!sameRows(wanted, itemAt(given, at), axis))
      return { why: `of ${batch}, ${name} does not hold what each has alone`, tensor: name };
  }
  return undefined;
}

/** sameRows compares row by row, so that large values in one row hide no difference in another. */
function sameRows(alone: readonly TensorData[], together: TensorData, axis: number): boolean {
  const sizes = alone.map(({ dims }) => dims[axis] ?? 0);
  if (together.dims[axis] !== sizes.reduce((sum, size) => sum + size, 0)) return false;
  const parts = splitBatch(together, axis, sizes);
  return alone.every((row, at) => agree(row, itemAt(parts, at)));
}

/** silentNode finds a node that was given or gave the same for all requests, where requests might differ. */
function silentNode({ tensors, nodes, same }: Watched, alone: Alone): RunFault | undefined {
  const varying = new Set(tensors.flatMap(({ name }, at) => (varies(alone, at) ? [name] : [])));
  const isSilent = (name: string) => !varying.has(name) && !same.has(name);
  for (const node of nodes) {
    const untouched = node.inputs.find(isSilent);
    if (untouched !== undefined)
      return { node, why: `${UNDECIDED}, as no request that was tried changed what it takes (${untouched})` };
    if (node.outputs.every(isSilent))
      return {
        node,
        why: `${UNDECIDED}, as no request that was tried changed what it gives (${node.outputs.join(', ')})`,
      };
  }
  return undefined;
}

const UNDECIDED = 'runs do not decide it';

function varies(alone: Alone, at: number): boolean {
  const [first, ...others] = [...alone.values()].map(({ values }) => itemAt(values, at));
  return first !== undefined && others.some((other) => !agree(first, other));
}
