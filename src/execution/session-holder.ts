import { readFileSync } from 'node:fs';
import type { InferenceSession } from 'onnxruntime-node';
import type { Device } from './device.js';
import { profiledTimings } from './node-timings.js';
import type { Answers, LoadedModel, Request, Tensors } from './protocol.js';
import {
  releaseSession,
  sessionOfFile,
  startProvider,
  tensorOutputs,
  timedRun,
  timedSession,
  toOrt,
} from './session.js';
import { AS_SERVED, type SessionChoice } from './session-choice.js';
import { sessionOptions } from './session-options.js';

interface Handled {
  readonly answer: Answers[keyof Answers];
  readonly tensors?: Tensors;
}

/** SessionHolder holds the sessions of one virtual GPU in the child process. */
export class SessionHolder {
  private device: Device = { provider: 'cpu' };
  private threads = 1;
  private models = new Map<number, InferenceSession>();
  private nextModel = 0;

  /** Handles one request. Throws what ONNX Runtime throws, and Error for a model that is not loaded. */
  async handle(request: Request, tensors: Tensors): Promise<Handled> {
    switch (request.op) {
      case 'open':
        return { answer: await this.open(request.device, request.threads) };
      case 'load':
        return { answer: await this.load(request) };
      case 'run':
        return this.run(this.session(request.model), tensors, request.fetches);
      case 'nodeTimings':
        return this.nodeTimings(request, tensors);
      case 'release':
        return { answer: await this.release(request.model) };
      case 'close':
        for (const model of [...this.models.keys()]) await this.release(model);
        return { answer: {} };
    }
  }

  private async open(device: Device, threads: number): Promise<Answers['open']> {
    this.device = device;
    this.threads = threads;
    return { backends: await startProvider(device, threads) };
  }

  private async load({ path, verify, ...choice }: Extract<Request, { op: 'load' }>): Promise<LoadedModel> {
    const file = { path, ...(verify && { verify }) };
    const { session, loaded } = await timedSession(() => sessionOfFile(file, this.options(choice)));
    const model = this.nextModel++;
    this.models.set(model, session);
    return { model, ...loaded };
  }

  private async run(
    session: InferenceSession,
    feeds: Tensors,
    fetches?: readonly string[],
  ): Promise<Handled> {
    const { outputs, times } = await timedRun({ device: this.device, session }, feeds, fetches);
    return { answer: times, tensors: outputs };
  }

  private async nodeTimings(
    request: Extract<Request, { op: 'nodeTimings' }>,
    tensors: Tensors,
  ): Promise<Handled> {
    const options = this.options({ ...AS_SERVED, optimization: request.optimization });
    const { optimizedModelPath, ...answer } = await profiledTimings(request, options, async (session) => {
      await session.run(toOrt(tensors), tensorOutputs(session));
    });
    if (optimizedModelPath === undefined) return { answer };
    const bytes = readFileSync(optimizedModelPath);
    return { answer, tensors: { optimizedModel: { dtype: 'uint8', dims: [bytes.length], data: bytes } } };
  }

  private async release(model: number): Promise<Record<string, never>> {
    const session = this.session(model);
    this.models.delete(model);
    await releaseSession(session);
    return {};
  }

  private session(model: number): InferenceSession {
    const session = this.models.get(model);
    if (session === undefined) throw new Error(`model ${model} is not loaded`);
    return session;
  }

  private options(choice: SessionChoice) {
    return sessionOptions(this.device, this.threads, choice);
  }
}
