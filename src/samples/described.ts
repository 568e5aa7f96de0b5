import { decodedText } from '../artifacts/index.js';
import { dtypeOfOip } from '../execution/index.js';
import { fault, type TensorSpec, type ToldFaults } from '../formats/index.js';
import { parseJson, WireFault } from '../protocol/index.js';
import { npyHeader } from './npy.js';
import { readNpz } from './npz.js';
import { endingOf, sampleBytes } from './sample-bytes.js';
import { SampleFault } from './sample-fault.js';

const UNNAMED =
  'does not name the inputs, and the server does not describe them: give requests of the protocol (.json or .jsonl), or a .npz';

/**
 * inputsOfSamples gives the inputs that the first of some files of samples says of itself, for a model that nobody
 * describes: the arrays of `.npz`, or the tensors of the first request in `.json`, `.jsonl` or `.ndjson`. Axis 0 counts
 * requests.
 * @param told where every fault is added
 */
export async function inputsOfSamples(paths: readonly string[], told: ToldFaults): Promise<TensorSpec[]> {
  const [path] = paths;
  if (path === undefined) return [];
  try {
    const inputs = await inputsIn(path);
    if (inputs.length === 0) told.add(fault(UNNAMED, path));
    return inputs;
  } catch (error) {
    if (error instanceof SampleFault || error instanceof WireFault) told.add(fault(error.message, path));
    else told.addOfFile(path, error);
    return [];
  }
}

async function inputsIn(path: string): Promise<TensorSpec[]> {
  const ending = endingOf(path);
  if (!['.npz', '.json', '.jsonl', '.ndjson'].includes(ending)) return [];
  const bytes = await sampleBytes(path);
  if (ending === '.npz')
    return readNpz(bytes).map(({ name, head }) => {
      const { dtype, dims } = npyHeader(head);
      return spec(name, dtype, dims);
    });
  const text = decodedText(bytes, path);
  const lines = ending === '.json' ? text : (text.split('\n').find((line) => line.trim() !== '') ?? '{}');
  const { value } = parseJson(Buffer.from(lines));
  const request = (Array.isArray(value) ? value[0] : value) as { inputs?: unknown } | null | undefined;
  return Array.isArray(request?.inputs) ? request.inputs.map(inputOf) : [];
}

/** inputOf gives the input that a tensor of a request is for. @throws SampleFault where it says too little of itself */
function inputOf(tensor: unknown, i: number): TensorSpec {
  const { name, datatype, shape } = (tensor ?? {}) as Record<string, unknown>;
  const dtype = typeof datatype === 'string' ? dtypeOfOip(datatype) : undefined;
  const isShape = Array.isArray(shape) && shape.length > 0 && shape.every(Number.isSafeInteger);
  if (typeof name === 'string' && dtype !== undefined && isShape) return spec(name, dtype, shape as number[]);
  const which = typeof name === 'string' ? name : `${i}`;
  throw new SampleFault(
    `input ${which} of its first request lacks a name, a datatype of the protocol or a shape, and the server does not describe the inputs`,
  );
}

function spec(name: string, dtype: string, [, ...dims]: readonly number[]): TensorSpec {
  return { name, dtype, shape: [1, ...dims], batchAxis: 0 };
}
