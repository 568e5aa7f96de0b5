import { decodedText, inSteps, pause } from '../artifacts/index.js';
import { itemAt, pushAll } from '../collections/index.js';
import { dtypeInfo, elementCount, type TensorData, type Tensors } from '../execution/index.js';
import {
  type Fault,
  fault,
  faultAt,
  InputError,
  MOST_FAULTS,
  moreFaults,
  sha256Of,
  type TensorSpec,
  type ToldFaults,
} from '../formats/index.js';
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
import { npyHeader, readNpy } from './npy.js';
import { readNpz } from './npz.js';
import { endingOf, sampleBytes } from './sample-bytes.js';
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

/** A sample may have many values. */
const REQUESTS_IN_A_STEP = 64;
/** Of this many samples at most each is held by itself, in some hundred bytes beside its own. */
const MOST_SAMPLES = 500_000;

/**
 * readSamples reads sample requests for models: arrays of NumPy (`.npz`: one for each input, named like it; `.npy`: of the
 * only input), a request on each line of CSV (`csvRequests`), or requests of the Open Inference Protocol (`.json`: one or a
 * list of them; `.jsonl`: one on a line).
 * @param inputs what clients send
 * @param labels how many labels there are, where samples are labelled: arrays that say they have more are not unpacked
 * @param told where every fault of every file is added
 */
export async function readSamples(
  paths: readonly string[],
  { inputs, labels }: { readonly inputs: readonly TensorSpec[]; readonly labels?: LabelCount | undefined },
  told: ToldFaults,
): Promise<ReadSamples> {
  const model: AskedModel = {
    name: 'the samples',
    inputs: [...inputs],
    outputs: [],
    maxRows: Number.POSITIVE_INFINITY,
  };
  const rows: Tensors[] = [];
  const files: SampleFile[] = [];
  for (const path of paths) {
    try {
      const bytes = await sampleBytes(path);
      const found = await samplesIn(bytes, path, { model, labels, before: rows.length });
      told.addAll(found.faults.map((one) => faultAt(one, one.path === '' ? path : `${path} ${one.path}`)));
      pushAll(rows, found.rows);
      await pause();
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

/** LabelCount is how many labels a file has. */
export interface LabelCount {
  readonly path: string;
  readonly count: number;
}

/** Room is what samples are read for: the model that they are sent to, and how many there are before them. */
interface Room {
  readonly model: AskedModel;
  readonly labels: LabelCount | undefined;
  readonly before: number;
}

const nothing = (message: string, at = ''): Found => ({ rows: [], faults: [fault(message, at)] });

async function samplesIn(bytes: Uint8Array, path: string, room: Room): Promise<Found> {
  const found = await samplesOf(bytes, path, room);
  const said = found.faults.length > 0 ? undefined : tooMany(found.rows.length, room);
  return said === undefined ? found : nothing(said);
}

async function samplesOf(bytes: Uint8Array, path: string, room: Room): Promise<Found> {
  const { model } = room;
  switch (endingOf(path)) {
    case '.npy':
      return fromArray(bytes, room);
    case '.npz':
      return fromArchive(bytes, room);
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

function fromArray(bytes: Uint8Array, room: Room): Found {
  const { model } = room;
  const names = model.inputs.map(({ name }) => name);
  if (names.length !== 1)
    return nothing(
      `is one array, and a request has ${names.join(', ')}: save these with np.savez(file, ${names.map((name) => `${name}=…`).join(', ')})`,
    );
  const [spec] = model.inputs as [TensorSpec];
  const faults = arrayFaults({ head: bytes, size: bytes.length }, spec, room);
  if (faults.length > 0) return { rows: [], faults };
  const read = tried(() => readNpy(bytes));
  return typeof read === 'string' ? nothing(read) : fromTensors({ [itemAt(names, 0)]: read }, model, []);
}

async function fromArchive(bytes: Uint8Array, room: Room): Promise<Found> {
  const { model } = room;
  const archive = await readNpz(bytes).catch(saidBySample);
  if (typeof archive === 'string') return nothing(archive);
  const faults: Fault[] = [];
  const tensors: Record<string, TensorData> = {};
  for (const { name, head, size, unpacked } of archive) {
    const spec = model.inputs.find((input) => input.name === name);
    if (spec === undefined) {
      const takes = model.inputs.map((input) => input.name).join(', ');
      faults.push(fault(`is no input; those are ${takes}`, name));
      continue;
    }
    const wrong = arrayFaults({ head, size }, spec, room);
    pushAll(faults, wrong);
    if (wrong.length > 0) continue;
    const read = await unpacked().then(readNpy).catch(saidBySample);
    if (typeof read === 'string') faults.push(fault(read, name));
    else tensors[name] = read;
  }
  const given = new Set(archive.map(({ name }) => name));
  pushAll(
    faults,
    model.inputs.flatMap(({ name }) => (given.has(name) ? [] : [fault('lacks an array of this name', name)])),
  );
  return fromTensors(tensors, model, faults);
}

/** arrayFaults says what is wrong with what an array says of itself, before it is unpacked. */
function arrayFaults(
  { head, size }: { readonly head: Uint8Array; readonly size: number },
  spec: TensorSpec,
  room: Room,
): Fault[] {
  const header = tried(() => npyHeader(head));
  if (typeof header === 'string') return [fault(header, spec.name)];
  const { dtype, dims, from } = header;
  const faults = misfits({ dtype, dims }, spec);
  if (faults.length > 0) return faults;
  const { batchAxis } = spec;
  const rows = batchAxis === undefined ? 1 : itemAt(dims, batchAxis) / itemAt(spec.shape, batchAxis);
  const said = tooMany(rows, room);
  if (said !== undefined) return [fault(said, spec.name)];
  const bytes = elementCount(dims) * (dtypeInfo(dtype)?.bytes ?? 0);
  return bytes === size - from
    ? []
    : [fault(`has ${size - from} bytes of elements; its shape has ${bytes}`, spec.name)];
}

/** tooMany says where there are more samples than labels, or than are read. */
function tooMany(rows: number, { labels, before }: Room): string | undefined {
  const all = before + rows;
  if (labels !== undefined && all > labels.count)
    return `makes ${all} samples, and ${labels.path} has ${labels.count} labels`;
  return all > MOST_SAMPLES ? `makes ${all} samples; at most ${MOST_SAMPLES} are read` : undefined;
}

/** tried gives what `read` reads, or in words why it cannot. */
function tried<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    return saidBySample(error);
  }
}

function saidBySample(error: unknown): string {
  if (error instanceof SampleFault) return error.message;
  throw error;
}

function fromTensors(tensors: Tensors, model: AskedModel, known: readonly Fault[]): Found {
  const faults = [...known, ...model.inputs.flatMap((spec) => misfits(tensors[spec.name], spec))];
  const count = faults.length > 0 ? 0 : countRows(model, tensors, faults);
  return faults.length > 0 ? { rows: [], faults } : { rows: rowsOfRequest(model, tensors, count), faults };
}

function misfits(tensor: Pick<TensorData, 'dtype' | 'dims'> | undefined, spec: TensorSpec): Fault[] {
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

async function fromJson(bytes: Uint8Array, path: string, model: AskedModel): Promise<Found> {
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

async function fromLines(bytes: Uint8Array, path: string, model: AskedModel): Promise<Found> {
  const lines = decodedText(bytes, path).split('\n');
  const requests = lines.map((line, i) => ({ at: `line ${i + 1}`, bytes: Buffer.from(line) }));
  return fromRequests(
    requests.filter((_, i) => lines[i]?.trim() !== ''),
    model,
  );
}

async function fromCsv(bytes: Uint8Array, path: string, model: AskedModel): Promise<Found> {
  const { requests, faults } = await csvRequests(decodedText(bytes, path), model.inputs);
  const read = await fromRequests(requests, model);
  return { rows: read.rows, faults: [...faults, ...read.faults] };
}

async function fromRequests(
  requests: readonly ({ readonly at: string } & ({ readonly bytes: Uint8Array } | { readonly json: Json }))[],
  model: AskedModel,
): Promise<Found> {
  const rows: Tensors[] = [];
  const faults: Fault[] = [];
  let wrong = 0;
  await inSteps(
    requests,
    ({ at, ...request }) => {
      try {
        const read =
          'json' in request ? readJsonRequest(model, request.json) : readInferRequest(model, request.bytes);
        pushAll(rows, rowsOfRequest(model, read.inputs, read.rows));
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        wrong += 1;
        if (wrong > MOST_FAULTS) return;
        pushAll(
          faults,
          error.faults.map((one) => fault(one.message, [at, one.path].filter(Boolean).join(' '))),
        );
      }
    },
    REQUESTS_IN_A_STEP,
  );
  if (wrong > MOST_FAULTS) faults.push(moreFaults(wrong - MOST_FAULTS));
  return { rows, faults };
}
