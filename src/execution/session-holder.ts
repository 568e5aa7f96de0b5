import { readFileSync } from 'node:fs';
import { InferenceSession, listSupportedBackends, Tensor } from 'onnxruntime-node';
import { monotonicNs, waitUntil } from './clock.js';
import type { Device } from './device.js';
import { dtypeInfo, STRING_DTYPE } from './dtype.js';
import { emulatedNs } from './emulated.js';
import { takeFloat16AsBits } from './float16-bits.js';
import { profiledTimings } from './node-timings.js';
import type { Answers, LoadedModel, Request, RunTimes, TensorInfo, Tensors } from './protocol.js';
import { AS_SERVED, type SessionChoice } from './session-choice.js';
import { sessionOptions, withDataFolder } from './session-options.js';
import { smallestModel } from './smallest-model.js';
import type { TensorData } from './tensor-data.js';
import { verifiedModel } from './verified-model.js';

interface Handled {
  readonly answer: Answers[keyof Answers];
  readonly tensors?: Tensors;
}

type OrtValues = Record<string, Tensor>;

takeFloat16AsBits();

/** SessionHolder holds the sessions of one virtual GPU in the child process. */
export class SessionHolder {
  #device: Device = { provider: 'cpu' };
  #threads = 1;
  #models = new Map<number, InferenceSession>();
  #nextModel = 0;

  /** Handles one request. Throws what ONNX Runtime throws, and Error for a model that is not loaded. */
  async handle(request: Request, tensors: Tensors): Promise<Handled> {
    switch (request.op) {
      case 'open':
        return { answer: await this.#open(request.device, request.threads) };
      case 'load':
        return { answer: await this.#load(request) };
      case 'run':
        return this.#run(this.#session(request.model), tensors, request.fetches);
      case 'nodeTimings':
        return this.#nodeTimings(request, tensors);
      case 'release':
        return { answer: await this.#release(request.model) };
      case 'close':
        for (const model of [...this.#models.keys()]) await this.#release(model);
        return { answer: {} };
    }
  }

  /** Starts the provider for real, because one that is listed may still lack its libraries or its hardware. */
  async #open(device: Device, threads: number): Promise<Answers['open']> {
    this.#device = device;
    this.#threads = threads;
    const backends = listSupportedBackends().map(({ name }) => name);
    if (!backends.includes(device.provider)) {
      throw new Error(`backend not found; this build of ONNX Runtime has ${backends.join(', ')}`);
    }
    const session = await InferenceSession.create(smallestModel(), this.#options(AS_SERVED));
    try {
      const { y } = await session.run({ x: new Tensor('float32', [1, 2, 3, 4], [4]) });
      if (y?.data[3] !== 8) throw new Error(`1-2-3-4 doubled gave ${y?.data.toString()}`);
    } finally {
      await session.release();
    }
    return { backends };
  }

  async #load(request: Extract<Request, { op: 'load' }>): Promise<LoadedModel> {
    const startedNs = monotonicNs();
    const session = await this.#create(request);
    const loadMs = (monotonicNs() - startedNs) / 1e6;
    const model = this.#nextModel++;
    this.#models.set(model, session);
    return {
      model,
      loadMs,
      inputs: [...session.inputNames],
      outputs: [...session.outputNames],
      inputInfo: session.inputMetadata.map(valueInfo),
      outputInfo: session.outputMetadata.map(valueInfo),
    };
  }

  async #create({ path, verify, ...choice }: Extract<Request, { op: 'load' }>): Promise<InferenceSession> {
    const options = this.#options(choice);
    if (verify === undefined) return await InferenceSession.create(path, options);
    const { bytes, dataFolder } = await verifiedModel(path, verify.digests, verify.folder);
    return await InferenceSession.create(bytes, withDataFolder(options, dataFolder));
  }

  async #run(session: InferenceSession, feeds: Tensors, fetches?: readonly string[]): Promise<Handled> {
    const { values, times } = await this.#timedRun(session, toOrt(feeds), fetches ?? tensorOutputs(session));
    return { answer: times, tensors: fromOrt(values) };
  }

  async #timedRun(
    session: InferenceSession,
    feeds: OrtValues,
    fetches: readonly string[],
  ): Promise<{ values: OrtValues; times: RunTimes }> {
    const before = process.cpuUsage();
    const startedNs = monotonicNs();
    const values = (await session.run(feeds, fetches)) as OrtValues;
    if ((this.#device.slowdown ?? 1) > 1) {
      const ranNs = monotonicNs() - startedNs;
      const { user, system } = process.cpuUsage(before);
      waitUntil(startedNs + emulatedNs(this.#device, ranNs, (user + system) * 1000));
    }
    const endedNs = monotonicNs();
    return { values, times: { executionUs: (endedNs - startedNs) / 1000, startedNs, endedNs } };
  }

  async #nodeTimings(request: Extract<Request, { op: 'nodeTimings' }>, tensors: Tensors): Promise<Handled> {
    const options = this.#options({ ...AS_SERVED, optimization: request.optimization });
    const { optimizedModelPath, ...answer } = await profiledTimings(request, options, async (session) => {
      await session.run(toOrt(tensors), tensorOutputs(session));
    });
    if (optimizedModelPath === undefined) return { answer };
    const bytes = readFileSync(optimizedModelPath);
    return { answer, tensors: { optimizedModel: { dtype: 'uint8', dims: [bytes.length], data: bytes } } };
  }

  async #release(model: number): Promise<Record<string, never>> {
    const session = this.#session(model);
    this.#models.delete(model);
    await session.release();
    globalThis.gc?.();
    return {};
  }

  #session(model: number): InferenceSession {
    const session = this.#models.get(model);
    if (session === undefined) throw new Error(`model ${model} is not loaded`);
    return session;
  }

  #options(choice: SessionChoice): InferenceSession.SessionOptions {
    return sessionOptions(this.#device, this.#threads, choice);
  }
}

function tensorOutputs(session: InferenceSession): string[] {
  return session.outputMetadata.filter((value) => value.isTensor).map((value) => value.name);
}

function valueInfo(value: InferenceSession.ValueMetadata): TensorInfo {
  return value.isTensor
    ? { name: value.name, dtype: value.type, shape: value.shape.map((dim) => dim ?? '') }
    : { name: value.name };
}

function toOrt(tensors: Tensors): OrtValues {
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
