import { dtypeInfo, filledTensor, randomTensor, type Tensors } from '../execution/index.js';
import { counted, type Fault, fault, InputError, option } from '../formats/index.js';
import { streamOf } from '../random/index.js';
import type { PriorityShare } from '../workload/index.js';
import { dimsOf, type Encoded, encodeRequest } from './encode-request.js';
import { LoadTally } from './load-tally.js';
import { inMib, MIB } from './read-answer.js';
import { inputFaults, type RemoteModel } from './remote-model.js';
import type { LoadOptions, TensorsAs } from './types.js';

const DEFAULT_REQUEST_BYTES = 64 * MIB;
/** All different requests for a model take no more than this together, as far as one of them does not. */
const MOST_PREPARED_BYTES = 256 * MIB;
/** The least size of an element of text, as text and as it is sent. */
const TEXT_BYTES = 32;
/** The most characters of a number in JSON, with the comma behind it. */
const JSON_BYTES = 25;
/** A text that holds a request as JSON is no longer than this, far from what the engine can hold. */
const MOST_JSON_BYTES = 256 * MIB;
/** A run sends this many different random requests in turn. */
const RANDOM_REQUESTS = 8;

/** Target is a model under load, with its requests and their outcomes. */
export interface Target {
  readonly model: RemoteModel;
  readonly inputs: readonly Tensors[];
  /** By the level of priority, then in the order of the inputs. */
  readonly requests: readonly (readonly Encoded[])[];
  readonly sloMs: number | undefined;
  readonly tally: LoadTally;
  /** When its requests were to be sent, up to the limit for all. */
  readonly sendsNs: number[];
}

/** Without priorities, all requests are of the default level. */
const ONE_LEVEL: readonly PriorityShare[] = [{ priority: 0, share: 1 }];

/** TargetOptions are the options of a load once its server was asked how it takes tensors. */
export type TargetOptions = LoadOptions & { readonly tensors: TensorsAs };

/**
 * withInputs gives a model with the inputs of the requests that are to be sent, where its server describes none.
 * @throws InputError where nothing says what its inputs are
 */
export function withInputs(model: RemoteModel, { inputs }: Pick<LoadOptions, 'inputs'>): RemoteModel {
  const given = Object.entries(inputs?.[0] ?? {});
  const specs =
    model.inputs.length > 0
      ? model.inputs
      : given.map(([name, { dtype, dims }]) => ({ name, dtype, shape: [...dims] }));
  if (specs.length === 0)
    throw new InputError(
      `load model ${model.name}`,
      [fault(`the server describes no inputs of model ${model.name}`)],
      `Say with ${option('samples')} which requests are sent: requests of the protocol (.json or .jsonl), or a .npz.`,
    );
  return { ...model, inputs: specs };
}

/** halfFaults says which inputs of a model are of a type that JSON does not carry. */
function halfFaults({ inputs }: RemoteModel): Fault[] {
  return inputs
    .filter(({ dtype }) => dtype === 'float16')
    .map(({ name }) =>
      fault(`sends JSON, and ${name} is FP16, which JSON does not carry`, option('tensors')),
    );
}

/**
 * targetOf prepares the load of a model.
 * @param model with the inputs of the requests
 * @throws InputError where the inputs do not fit the model, or requests as JSON cannot carry them
 */
export function targetOf(model: RemoteModel, options: TargetOptions): Target {
  const { tensors: as, rows = 1, seed = 0, priorities = ONE_LEVEL } = options;
  const halves = as === 'json' ? halfFaults(model) : [];
  if (halves.length > 0) throw new InputError(`load model ${model.name}`, halves);
  const inputs = options.inputs ?? randomInputs(model, { ...options, rows, seed });
  const faults = inputs.flatMap((tensors, i) => inputFaults(model, tensors, `inputs[${i}]`));
  if (inputs.length === 0) faults.push(fault('is an empty list', 'inputs'));
  if (faults.length > 0) throw new InputError(`load model ${model.name}`, faults);
  const requests = priorities.map(({ priority }) =>
    inputs.map((tensors) => encodeRequest(model, tensors, { run: `load-${seed}`, tensors: as, priority })),
  );
  return {
    model,
    inputs,
    requests,
    sloMs: options.sloMs ?? model.sloMs,
    tally: new LoadTally(),
    sendsNs: [],
  };
}

/** requestBytes counts what the inputs of a request take as they are sent: of JSON, what they may take. */
export function requestBytes(
  { inputs }: RemoteModel,
  { rows, tensors }: { rows: number; tensors: TensorsAs },
): number {
  const each = inputs.map((spec) => {
    const elements = dimsOf(spec, rows).reduce((product, size) => product * size, 1);
    const bytes = dtypeInfo(spec.dtype)?.bytes;
    return elements * (bytes === undefined ? TEXT_BYTES : tensors === 'json' ? JSON_BYTES : bytes);
  });
  return each.reduce((sum, bytes) => sum + bytes, 0);
}

/** @throws InputError where a request would be larger than is allowed, before any of it is made */
function randomInputs(
  model: RemoteModel,
  {
    rows,
    seed,
    tensors,
    maxRequestBytes = DEFAULT_REQUEST_BYTES,
  }: Pick<TargetOptions, 'tensors' | 'maxRequestBytes'> & { readonly rows: number; readonly seed: number },
): Tensors[] {
  const bytes = requestBytes(model, { rows, tensors });
  if (bytes > maxRequestBytes) {
    const asked = `as the server describes it, a request of ${counted(rows, 'row')} takes ${inMib(bytes)} MiB, and at most ${inMib(maxRequestBytes)} MiB are sent`;
    throw new InputError(
      `load model ${model.name}`,
      [fault(asked)],
      `Raise the limit with ${option('maxRequest')}.`,
    );
  }
  if (tensors === 'json' && bytes > MOST_JSON_BYTES) {
    const asked = `a request of ${counted(rows, 'row')} may take ${inMib(bytes)} MiB as JSON, and at most ${inMib(MOST_JSON_BYTES)} MiB are sent so`;
    throw new InputError(
      `load model ${model.name}`,
      [fault(asked)],
      `Send fewer rows, or ${option('tensors')} binary.`,
    );
  }
  const count = Math.min(RANDOM_REQUESTS, Math.max(1, Math.floor(MOST_PREPARED_BYTES / bytes)));
  const stream = streamOf(seed, `inputs/${model.name}`);
  return Array.from({ length: count }, () =>
    Object.fromEntries(
      model.inputs.map(({ fill, ...spec }) => {
        const dims = dimsOf(spec, rows);
        const value =
          fill === undefined
            ? randomTensor({ dtype: spec.dtype, dims }, stream.uniform)
            : filledTensor(spec.dtype, dims, fill);
        return [spec.name, value];
      }),
    ),
  );
}
