import { InferenceSession, listSupportedBackends, Tensor } from 'onnxruntime-node';
import { monotonicNs, waitUntil } from './clock.js';
import type { Device } from './device.js';
import { dtypeInfo, STRING_DTYPE } from './dtype.js';
import { emulatedNs } from './emulated.js';
import { takeFloat16AsBits } from './float16-bits.js';
import type { LoadedModel, RunTimes, TensorInfo, Tensors, VerifyLoad } from './protocol.js';
import { AS_SERVED } from './session-choice.js';
import { sessionOptions, withDataFolder } from './session-options.js';
import { smallestModel } from './smallest-model.js';
import type { TensorData } from './tensor-data.js';
import { verifiedModel } from './verified-model.js';

type OrtValues = Record<string, Tensor>;

takeFloat16AsBits();

/**
 * startProvider starts a device's provider for real, because one that is listed may still lack its libraries or its hardware.
 * @returns the providers of this build of ONNX Runtime
 * @throws Error where the build lacks the provider, or it does not compute
 */
export async function startProvider(device: Device, threads: number): Promise<string[]> {
  const backends = listSupportedBackends().map(({ name }) => name);
  if (!backends.includes(device.provider)) {
    throw new Error(`backend not found; this build of ONNX Runtime has ${backends.join(', ')}`);
  }
  const session = await InferenceSession.create(smallestModel(), sessionOptions(device, threads, AS_SERVED));
  try {
    const { y } = await session.run({ x: new Tensor('float32', [1, 2, 3, 4], [4]) });
    if (y?.data[3] !== 8) throw new Error(`1-2-3-4 doubled gave ${y?.data.toString()}`);
  } finally {
    await session.release();
  }
  return backends;
}

/**
 * sessionOfFile makes a session of a file, or of exactly what its digests say. @throws ChangedFilesError as
 * `verifiedModel` does
 */
export async function sessionOfFile(
  { path, verify }: { readonly path: string; readonly verify?: VerifyLoad },
  options: InferenceSession.SessionOptions,
): Promise<InferenceSession> {
  if (verify === undefined) return await InferenceSession.create(path, options);
  const { bytes, dataFolder } = await verifiedModel(path, verify.digests, verify.folder);
  return await InferenceSession.create(bytes, withDataFolder(options, dataFolder));
}

/** timedSession makes a session, and says how long that took and what the model takes and gives. */
export async function timedSession(
  create: () => Promise<InferenceSession>,
): Promise<{ session: InferenceSession; loaded: Omit<LoadedModel, 'model'> }> {
  const startedNs = monotonicNs();
  const session = await create();
  const loaded = {
    loadMs: (monotonicNs() - startedNs) / 1e6,
    inputs: [...session.inputNames],
    outputs: [...session.outputNames],
    inputInfo: session.inputMetadata.map(valueInfo),
    outputInfo: session.outputMetadata.map(valueInfo),
  };
  return { session, loaded };
}

/**
 * timedRun runs a model once, holds the result of an emulated device back, and gives the outputs that are
 * asked for. The time in which other threads of this process compute meanwhile, such as for a load, counts as
 * computed by the run, up to its whole time.
 */
export async function timedRun(
  { device, session }: { readonly device: Device; readonly session: InferenceSession },
  tensors: Tensors,
  fetches: readonly string[] = tensorOutputs(session),
): Promise<{ outputs: Tensors; times: RunTimes }> {
  const feeds = toOrt(tensors);
  const before = process.cpuUsage();
  const startedNs = monotonicNs();
  const values = (await session.run(feeds, fetches)) as OrtValues;
  if ((device.slowdown ?? 1) > 1) {
    const ranNs = monotonicNs() - startedNs;
    const { user, system } = process.cpuUsage(before);
    waitUntil(startedNs + emulatedNs(device, ranNs, (user + system) * 1000));
  }
  const endedNs = monotonicNs();
  const times = { executionUs: (endedNs - startedNs) / 1000, startedNs, endedNs };
  return { outputs: fromOrt(values), times };
}

/** releaseSession frees a session, with the tensors that its runs have left behind. */
export async function releaseSession(session: InferenceSession): Promise<void> {
  await session.release();
  globalThis.gc?.();
}

/** tensorOutputs names the outputs of a model that are tensors. */
export function tensorOutputs(session: InferenceSession): string[] {
  return session.outputMetadata.filter((value) => value.isTensor).map((value) => value.name);
}

function valueInfo(value: InferenceSession.ValueMetadata): TensorInfo {
  return value.isTensor
    ? { name: value.name, dtype: value.type, shape: value.shape.map((dim) => dim ?? '') }
    : { name: value.name };
}

/** toOrt gives tensors as ONNX Runtime takes them, on the same memory. */
export function toOrt(tensors: Tensors): OrtValues {
  return Object.fromEntries(
    Object.entries(tensors).map(([name, { dtype, dims, data }]) => [
      name,
      new Tensor(dtype as Tensor.Type, data as Tensor.DataType, dims),
    ]),
  );
}

function fromOrt(values: OrtValues): Tensors {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, tensorData(name, value)]));
}

function tensorData(name: string, value: Tensor): TensorData {
  const { type: dtype, dims } = value;
  if (dtype === STRING_DTYPE) return { dtype, dims, data: value.data as string[] };
  const info = dtypeInfo(dtype);
  if (info === undefined) throw new Error(`output ${name} is of type ${dtype}, which cannot be sent`);
  const { buffer, byteOffset, length } = value.data as Float32Array;
  return { dtype, dims, data: new info.array(buffer, byteOffset, length) };
}
