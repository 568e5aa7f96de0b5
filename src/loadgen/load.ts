import { setMaxListeners } from 'node:events';
import { type Fault, fault, InputError } from '../artifacts/index.js';
import { filledTensor, randomTensor, type Tensors } from '../execution/index.js';
import { streamOf } from '../random/index.js';
import { ARRIVAL_PROCESSES, arrivals } from '../workload/index.js';
import {
  type Answered,
  dimsOf,
  encodeRequest,
  InferenceClient,
  inputFaults,
  type RemoteModel,
} from './inference-client.js';
import { LoadTally } from './load-tally.js';
import type { LoadOptions, LoadReport } from './types.js';

const DEFAULT_CONNECTIONS = 512;
const DEFAULT_TIMEOUT_S = 30;
/** A run sends this many different random requests in turn. */
const RANDOM_REQUESTS = 8;
const PROGRESS_MS = 1000;
/** Timers are too coarse below this time. The client then waits in turns of the event loop. */
const SPIN_MS = 1;
/** A client that cannot keep up lets the event loop run this often. */
const MOST_DEAF_MS = 5;
/** A client that is this far behind when the duration is over stops sending. */
const MOST_BEHIND_MS = 1000;

/**
 * driveLoad sends requests to a server at the times of a seeded arrival process, whatever the server does
 * (open loop), and reports what became of each. Latency runs from the intended send time of a request.
 * @throws InputError where an option is not valid, or the server cannot describe the model; MissingError
 *   where the server lacks the model
 */
export async function driveLoad(url: string, options: LoadOptions): Promise<LoadReport> {
  const faults = optionFaults(url, options);
  if (faults.length > 0) throw new InputError('drive a load', faults);
  const { connections = DEFAULT_CONNECTIONS, timeoutS = DEFAULT_TIMEOUT_S } = options;
  const client = new InferenceClient(url, { connections, timeoutS });
  try {
    const model = await client.describe(options.model);
    return await new LoadRun(client, model, options).drive();
  } finally {
    await client.close();
  }
}

function optionFaults(url: string, options: LoadOptions): Fault[] {
  const faults: Fault[] = [];
  const positive = ['rps', 'durationS', 'sloMs', 'timeoutS', 'rows', 'connections'] as const;
  for (const name of positive) {
    const value = options[name];
    if (value !== undefined && !(value > 0 && Number.isFinite(value))) {
      faults.push(fault(`is ${value}; it must be positive`, name));
    }
  }
  for (const name of ['rows', 'connections'] as const) {
    if (options[name] !== undefined && !Number.isInteger(options[name])) {
      faults.push(fault(`is ${options[name]}; it must be a whole number`, name));
    }
  }
  if (options.arrivals !== undefined && !ARRIVAL_PROCESSES.includes(options.arrivals)) {
    faults.push(fault(`is ${options.arrivals}; valid are ${ARRIVAL_PROCESSES.join(', ')}`, 'arrivals'));
  }
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    faults.push(fault(`${url} is no http URL`, 'url'));
  else {
    const { origin, pathname, search } = new URL(url);
    if (pathname !== '/' || search !== '')
      faults.push(fault(`${url} is more than a server; give ${origin} alone`, 'url'));
  }
  return faults;
}

class LoadRun {
  private readonly tally = new LoadTally();
  private readonly abort = new AbortController();
  private readonly open = new Set<Promise<void>>();
  private readonly inputs: readonly Tensors[];
  private startedAt = performance.now();
  /** When the event loop last had its turn. */
  private heardAtMs = 0;
  private readonly sloMs: number | undefined;

  constructor(
    private readonly client: InferenceClient,
    private readonly model: RemoteModel,
    private readonly options: LoadOptions,
  ) {
    this.inputs = options.inputs ?? randomInputs(model, options.rows ?? 1, options.seed ?? 0);
    const faults = this.inputs.flatMap((inputs, i) => inputFaults(model, inputs, `inputs[${i}]`));
    if (this.inputs.length === 0) faults.push(fault('is an empty list', 'inputs'));
    if (faults.length > 0) throw new InputError(`load model ${model.name}`, faults);
    this.sloMs = options.sloMs ?? model.sloMs;
  }

  async drive(): Promise<LoadReport> {
    const { signal } = this.options;
    // Every open request listens to this signal, so the number of listeners has no limit.
    setMaxListeners(0, this.abort.signal);
    const stop = () => this.abort.abort();
    signal?.addEventListener('abort', stop);
    if (signal?.aborted) stop();
    const progress = setInterval(() => this.tellProgress(), PROGRESS_MS);
    try {
      await this.sendAll();
      const sendingS = Math.max(1e-9, this.elapsedMs() / 1e3);
      await Promise.all(this.open);
      return this.report(sendingS);
    } finally {
      clearInterval(progress);
      signal?.removeEventListener('abort', stop);
    }
  }

  private async sendAll(): Promise<void> {
    const { rps, durationS, arrivals: process = 'poisson', seed = 0, binary = true } = this.options;
    const requests = this.inputs.map((inputs) => encodeRequest(this.model, inputs, binary));
    const stream = streamOf(seed, 'arrivals');
    this.startedAt = performance.now();
    let index = 0;
    for (const timeNs of arrivals({ process, rps, durationS, stream })) {
      await this.until(timeNs / 1e6);
      if (this.abort.signal.aborted) return;
      if (this.elapsedMs() > durationS * 1e3 + MOST_BEHIND_MS) {
        this.tally.countUnsent();
        return;
      }
      this.send(index, timeNs / 1e6, requests[index % requests.length]!);
      index += 1;
    }
    await this.until(durationS * 1e3);
  }

  /**
   * until resolves at the given time and never before it. For a past time it resolves at once, except that it
   * lets the event loop read answers and signals now and then.
   */
  private async until(timeMs: number): Promise<void> {
    if (this.elapsedMs() - this.heardAtMs > MOST_DEAF_MS) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      this.heardAtMs = this.elapsedMs();
    }
    for (let left = timeMs - this.elapsedMs(); left > 0; left = timeMs - this.elapsedMs()) {
      if (this.abort.signal.aborted) return;
      const wait = Math.min(left - SPIN_MS, PROGRESS_MS);
      await new Promise<void>((resolve) => (wait < 1 ? setImmediate(resolve) : setTimeout(resolve, wait)));
      this.heardAtMs = this.elapsedMs();
    }
  }

  private send(index: number, intendedMs: number, request: Parameters<InferenceClient['infer']>[0]): void {
    this.tally.countSent(this.elapsedMs() - intendedMs);
    const answered = this.client
      .infer(request, this.abort.signal)
      .then((answer) => this.count(answer, index, intendedMs))
      .finally(() => this.open.delete(answered));
    this.open.add(answered);
  }

  private count(answer: Answered, index: number, intendedMs: number): void {
    const at = this.elapsedMs();
    switch (answer.kind) {
      case 'dropped':
        this.tally.countEnd('dropped', at);
        return;
      case 'failed':
        if (this.abort.signal.aborted) this.tally.countEnd('cancelled', at);
        else this.tally.countFailure(answer.why, at);
        return;
      case 'answered': {
        const wrong = this.wrongAnswer(answer, index);
        if (wrong !== undefined) {
          this.tally.countFailure(wrong, at);
          return;
        }
        const latencyMs = at - intendedMs;
        const late = this.sloMs !== undefined && latencyMs > this.sloMs;
        this.tally.countEnd(late ? 'late' : 'inTime', at, latencyMs);
      }
    }
  }

  private wrongAnswer(
    { fault, outputs }: Extract<Answered, { kind: 'answered' }>,
    index: number,
  ): string | undefined {
    const why = fault();
    if (why !== undefined) return `status 200: ${why}`;
    const { check } = this.options;
    if (check === undefined) return undefined;
    try {
      const right = check({ index, inputs: this.inputs[index % this.inputs.length]!, outputs: outputs() });
      return right ? undefined : 'the answer is wrong';
    } catch (error) {
      return `the answer cannot be read: ${(error as Error).message}`;
    }
  }

  private report(sendingS: number): LoadReport {
    const { rps, durationS, arrivals: process = 'poisson', seed = 0, rows = 1 } = this.options;
    const asked = {
      url: this.client.url,
      model: this.model.name,
      arrivals: process,
      seed,
      rows,
      rps,
      durationS,
    };
    return this.tally.report(this.sloMs === undefined ? asked : { ...asked, sloMs: this.sloMs }, sendingS);
  }

  private tellProgress(): void {
    const seconds = this.elapsedMs() / 1e3;
    const { sent, done } = this.tally;
    this.options.onProgress?.({ sent, done, ofSeconds: this.options.durationS, seconds });
  }

  private elapsedMs(): number {
    return performance.now() - this.startedAt;
  }
}

function randomInputs(model: RemoteModel, rows: number, seed: number): Tensors[] {
  const stream = streamOf(seed, `inputs/${model.name}`);
  return Array.from({ length: RANDOM_REQUESTS }, () =>
    Object.fromEntries(
      model.inputs.map(({ fill, ...spec }) => {
        const dims = dimsOf(spec, rows);
        const value =
          fill === undefined
            ? randomTensor(spec.dtype, dims, stream.uniform)
            : filledTensor(spec.dtype, dims, fill);
        return [spec.name, value];
      }),
    ),
  );
}
