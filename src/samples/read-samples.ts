import {
  decodedText,
  type Fault,
  fault,
  InputError,
  readWhole,
  sha256Of,
  type TensorSpec,
  type ToldFaults,
} from '../artifacts/index.js';
import type { TensorData, Tensors } from '../execution/index.js';
import { type Json, parseJson, partOf, WireFault } from '../protocol/index.js';
import {
  type AskedModel,
  countRows,
  fitsInput,
  readInferRequest,
  readJsonRequest,
  rowsOfRequest,
  shapeOf,
} from '../runtime/index.js';
import { csvRequests } from './csv-requests.js';
import { readNpy } from './npy.js';
import { readNpz } from './npz.js';
import { SampleFault } from './sample-fault.js';

/** SampleFile is a file of samples that was read. */
export interface SampleFile {
  readonly path: string;
  readonly sha256: string;
}

/** ReadSamples holds the requests of files, row by row: the inputs of each row by name. */
export interface ReadSamples {
  readonly rows: readonly Tensors[];
  readonly files: readonly SampleFile[];
}

/** Larger files are taken for a mistake: all samples are held at once. */
const MOST_BYTES = 2 ** 30;

/** How many faulty requests of one file are told. */
const MOST_TOLD = 20;

/**
 * readSamples reads sample requests for models: arrays of NumPy (`.npz`: one for each input, named like it; `.npy`: of the
 * only input), a request on each line of CSV (`csvRequests`), or requests of the Open Inference Protocol (`.json`: one or a
 * list of them; `.jsonl`: one on a line).
 * @param inputs what clients send
 * @param told where every fault of every file is added
 */
export async function readSamples(
  paths: readonly string[],
  inputs: readonly TensorSpec[],
  told: ToldFaults,
): Promise<ReadSamples> {
  const model: AskedModel = {
    ...{ name: 'the samples', inputs: [...inputs], outputs: [], maxRows: Number.POSITIVE_INFINITY },
  };
  const rows: Tensors[] = [];
  const files: SampleFile[] = [];
  for (const path of paths) {
    try {
      const bytes = await readWhole(path, MOST_BYTES);
      const found = samplesIn(bytes, path, model);
      told.add(
        ...found.faults.map(({ path: at, message }) => fault(message, at === '' ? path : `${path} ${at}`)),
      );
      rows.push(...found.rows);
      files.push({ path, sha256: sha256Of(bytes) });
    } catch (error) {
      told.addOfFile(path, error);
    }
  }
  return { rows, files };
}

interface Found {
  readonly rows: readonly Tensors[];
  readonly faults: readonly Fault[];
}

const nothing = (message: string, at = ''): Found => ({ rows: [], faults: [fault(message, at)] });

function samplesIn(bytes: Uint8Array, path: string, model: AskedModel): Found {
  const ending = /\.[^./\\]*$/.exec(path.toLowerCase())?.[0];
  switch (ending) {
    case '.npy':
      return fromArray(bytes, model);
    case '.npz':
      return fromArchive(bytes, model);
    case '.csv':
      return fromCsv(bytes, path, model);
    case '.json':
      return fromJson(bytes, path, model);
    case '.jsonl':
    case '.ndjson':
      return fromLines(bytes, path, model);
    default:
      return nothing(
        'is not known as a file of samples: name one that ends in .npz, .npy, .csv, .json or .jsonl',
      );
  }
}

function fromArray(bytes: Uint8Array, model: AskedModel): Found {
  const names = model.inputs.map(({ name }) => name);
  if (names.length !== 1)
    return nothing(
      `is one array, and a request has ${names.join(', ')}: save these with np.savez(file, ${names.map((name) => `${name}=…`).join(', ')})`,
    );
  const read = tried(() => readNpy(bytes));
  return typeof read === 'string' ? nothing(read) : fromTensors({ [names[0] as string]: read }, model, []);
}

function fromArchive(bytes: Uint8Array, model: AskedModel): Found {
  const archive = tried(() => readNpz(bytes));
  if (typeof archive === 'string') return nothing(archive);
  const faults: Fault[] = [];
  const tensors: Record<string, TensorData> = {};
  for (const { name, bytes: content } of archive) {
    if (!model.inputs.some((input) => input.name === name)) {
      const takes = model.inputs.map((input) => input.name).join(', ');
      faults.push(fault(`is no input; those are ${takes}`, name));
      continue;
    }
    const read = tried(() => readNpy(content));
    if (typeof read === 'string') faults.push(fault(read, name));
    else tensors[name] = read;
  }
  const given = new Set(archive.map(({ name }) => name));
  faults.push(
    ...model.inputs.flatMap(({ name }) =>
      given.has(name) ? [] : [fault('lacks an array of this name', name)],
    ),
  );
  return fromTensors(tensors, model, faults);
}

/** tried gives what `read` reads, or in words why it cannot. */
function tried<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    if (error instanceof SampleFault) return error.message;
    throw error;
  }
}

function fromTensors(tensors: Tensors, model: AskedModel, known: readonly Fault[]): Found {
  const faults = [...known, ...model.inputs.flatMap((spec) => misfits(tensors[spec.name], spec))];
  const count = faults.length > 0 ? 0 : countRows(model, tensors, faults);
  return faults.length > 0 ? { rows: [], faults } : { rows: rowsOfRequest(model, tensors, count), faults };
}

function misfits(tensor: TensorData | undefined, spec: TensorSpec): Fault[] {
  if (tensor === undefined) return [];
  const { name, dtype } = spec;
  const needed = `it must be [${shapeOf(spec).join(', ')}], where -1 is the number of requests`;
  return [
    ...(tensor.dtype === dtype
      ? []
      : [fault(`is ${tensor.dtype}; it must be ${dtype}: save array.astype('${dtype}')`, name)]),
    ...(fitsInput(tensor.dims, spec)
      ? []
      : [fault(`its shape is [${tensor.dims.join(', ')}]; ${needed}`, name)]),
  ];
}

function fromJson(bytes: Uint8Array, path: string, model: AskedModel): Found {
  let json: Json;
  try {
    json = parseJson(Buffer.from(decodedText(bytes, path)));
  } catch (error) {
    if (error instanceof WireFault) return nothing(`it ${error.message}`);
    throw error;
  }
  const { value } = json;
  if (!Array.isArray(value)) return fromRequests([{ at: '', json }], model);
  return fromRequests(
    value.map((_, i) => ({ at: `/${i}`, json: partOf(json, i) })),
    model,
  );
}

function fromLines(bytes: Uint8Array, path: string, model: AskedModel): Found {
  const lines = decodedText(bytes, path).split('\n');
  const requests = lines.map((line, i) => ({ at: `line ${i + 1}`, bytes: Buffer.from(line) }));
  return fromRequests(
    requests.filter((_, i) => lines[i]?.trim() !== ''),
    model,
  );
}

function fromCsv(bytes: Uint8Array, path: string, model: AskedModel): Found {
  const { requests, faults } = csvRequests(decodedText(bytes, path), model.inputs);
  const read = fromRequests(requests, model);
  return { rows: read.rows, faults: [...faults, ...read.faults] };
}

function fromRequests(
  requests: readonly ({ readonly at: string } & ({ readonly bytes: Uint8Array } | { readonly json: Json }))[],
  model: AskedModel,
): Found {
  const rows: Tensors[] = [];
  const faults: Fault[] = [];
  let wrong = 0;
  for (const { at, ...request } of requests) {
    try {
      const read =
        'json' in request ? readJsonRequest(model, request.json) : readInferRequest(model, request.bytes);
      rows.push(...rowsOfRequest(model, read.inputs, read.rows));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      wrong += 1;
      if (wrong > MOST_TOLD) continue;
      faults.push(...error.faults.map((one) => fault(one.message, [at, one.path].filter(Boolean).join(' '))));
    }
  }
  if (wrong > MOST_TOLD) faults.push(fault(`has ${wrong - MOST_TOLD} further requests that cannot be read`));
  return { rows, faults };
}
