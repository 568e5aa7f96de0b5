import { fault, InputError, option } from '../artifacts/index.js';
import { dtypeInfo, filledTensor, randomTensor, type Tensors } from '../execution/index.js';
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
/** What an element of text takes at least, as text and as it is sent. */
const TEXT_BYTES = 32;
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
 * @throws InputError where nothing says what its inputs are, or where they are of a type that the requests cannot carry
 */
function withInputs(model: RemoteModel, { inputs, tensors: as }: TargetOptions): RemoteModel {
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
  const faults = specs
    .filter(({ dtype }) => as === 'json' && dtype === 'float16')
    .map(({ name }) =>
      fault(`sends JSON, and ${name} is FP16, which JSON does not carry`, option('tensors')),
    );
  if (faults.length > 0) throw new InputError(`load model ${model.name}`, faults);
  return { ...model, inputs: specs };
}

/** targetOf prepares the load of a model. @throws InputError where the inputs do not fit the model */
export function targetOf(described: RemoteModel, options: TargetOptions): Target {
  const { tensors: as, rows = 1, seed = 0, priorities = ONE_LEVEL } = options;
  const model = withInputs(described, options);
  const inputs = options.inputs ?? randomInputs(model, { ...options, rows, seed });
  const faults = inputs.flatMap((tensors, i) => inputFaults(model, tensors, `inputs[${i}]`));
  if (inputs.length === 0) faults.push(fault('is an empty list', 'inputs'));
  if (faults.length > 0) throw new InputError(`load model ${model.name}`, faults);
  const requests = priorities.map(({ priority }) =>
    inputs.map((tensors, i) =>
      encodeRequest(model, tensors, { id: `load-${seed}-${priority}-${i}`, tensors: as, priority }),
    ),
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

/** requestBytes counts what the inputs of a request take. */
function requestBytes({ inputs }: RemoteModel, rows: number): number {
  const each = inputs.map((spec) => {
    const elements = dimsOf(spec, rows).reduce((product, size) => product * size, 1);
    return elements * (dtypeInfo(spec.dtype)?.bytes ?? TEXT_BYTES);
  });
  return each.reduce((sum, bytes) => sum + bytes, 0);
}

/** @throws InputError where a request would be larger than is allowed, before any of it is made */
function randomInputs(
  model: RemoteModel,
  {
    rows,
    seed,
    maxRequestBytes = DEFAULT_REQUEST_BYTES,
  }: { readonly rows: number; readonly seed: number; readonly maxRequestBytes?: number },
): Tensors[] {
  const bytes = requestBytes(model, rows);
  if (bytes > maxRequestBytes) {
    const asked = `as the server describes it, a request of ${rows} rows takes ${inMib(bytes)} MiB, and at most ${inMib(maxRequestBytes)} MiB are sent`;
    throw new InputError(
      `load model ${model.name}`,
      [fault(asked)],
      `Raise the limit with ${option('maxRequest')}.`,
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
