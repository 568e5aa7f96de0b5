import { setTimeout as sleep } from 'node:timers/promises';
import { itemAt } from '../collections/index.js';
import { filledTensor, type Tensors } from '../execution/index.js';
import { fault, InputError, option } from '../formats/index.js';
import { type Encoded, encodeRequest } from './encode-request.js';
import { type ClientOptions, InferenceClient } from './inference-client.js';
import { urlFaults } from './load-options.js';
import type { RemoteModel } from './remote-model.js';
import { servedBetween } from './served-between.js';
import { targetOf, withInputs } from './target.js';
import type { LoadOptions } from './types.js';

/** MeasureEngineOptions says of what an engine is measured, and how often. */
export interface MeasureEngineOptions extends ClientOptions, Pick<LoadOptions, 'model' | 'seed' | 'signal'> {
  /** How many requests are answered by stages; 100 by default. */
  readonly requests?: number | undefined;
  /**
   * How many of them are sent each second; by default half of the planned rate, and one after the other where
   * that is not known.
   */
  readonly rps?: number | undefined;
  /** How many requests the ingress alone answers, of which half come side by side; 400 by default. */
  readonly refusals?: number | undefined;
  /** Called with the model before anything is measured; what it throws ends the measurement. */
  readonly onModel?: (model: RemoteModel) => void;
}

/** MeasuredEngine is what a deployment of a plan took of requests' time beside its devices. */
export interface MeasuredEngine {
  readonly model: RemoteModel;
  readonly server: string | undefined;
  /** How many requests the ingress had at a time under load, at least 1, and how long it was busy with one. */
  readonly replicas: number;
  readonly requestUs: number;
  /** The time from the ingress to a stage, or back. */
  readonly hopUs: number;
  /** The rate at which stages were asked; undefined where each request waited for the one before. */
  readonly rps: number | undefined;
  readonly requests: number;
  readonly refusals: number;
  readonly bodyBytes: number;
}

/** This many requests are open at once while the capacity of the ingress is measured. */
const AT_ONCE = 16;
/** The first requests find caches cold and connections closed. */
const WARM_UP = 10;
/** No model has an input of this name. */
const UNKNOWN_INPUT = 'inferplan-calibration';

/**
 * measureEngine measures the engine that serves a plan, which nobody else may use meanwhile.
 *
 * Requests with an input that the model has not come as far as the ingress, which reads them whole and refuses them.
 * How long one takes alone is the time of the ingress. How many it answers each second when many come at once is its
 * capacity, and the product of both is the number of its replicas (Little's law). Requests that stages answer take
 * longer than that by what the server reports about their executions and of waiting for them, which simulations know
 * of, and by two hops for each stage. They come at a rate, since hops take longer on an engine that has something to
 * do.
 * @throws InputError where the server reports no executions, or does not refuse or answer as it should; MissingError where it lacks
 *   the model
 */
export async function measureEngine(url: string, options: MeasureEngineOptions): Promise<MeasuredEngine> {
  const { model: name, requests = 100, refusals = 400 } = options;
  const faults = urlFaults(url);
  if (faults.length > 0) throw new InputError('measure an engine', faults);
  const client = new InferenceClient(url, options);
  try {
    const model = withInputs(await client.describe(name), {});
    options.onModel?.(model);
    const calls = new EngineCalls(client, model, options);
    await calls.refused(WARM_UP, 1);
    const half = Math.ceil(refusals / 2);
    const alone = await calls.refused(half, 1);
    const crowd = await calls.refused(half, AT_ONCE);
    const { rps = model.plannedRps === undefined ? undefined : model.plannedRps / 2 } = options;
    const answered = await calls.answered(requests, rps);
    const { replicas, requestUs } = ingressOf(alone.eachUs, crowd.rps);
    const beyondUs = answered.eachUs - answered.queueUs - answered.executionUs - alone.eachUs;
    return {
      model,
      server: await client.serverName(),
      replicas,
      requestUs,
      requests,
      refusals: 2 * half,
      hopUs: Math.max(0, beyondUs / (2 * answered.stages)),
      rps,
      bodyBytes: calls.bodyBytes,
    };
  } finally {
    await client.close();
  }
}

/**
 * ingressOf gives the replicas of an ingress that takes so long for a request alone, and a given number of requests
 * each second.
 */
export function ingressOf(
  aloneUs: number,
  rps: number,
): { readonly replicas: number; readonly requestUs: number } {
  const replicas = Math.max(1, Math.round((rps * aloneUs) / 1e6));
  return { replicas, requestUs: (1e6 * replicas) / rps };
}

/** EngineCalls sends a deployment what it is measured by. */
class EngineCalls {
  private readonly whole: readonly Encoded[];
  private readonly unknown: Encoded;
  private sent = 0;

  constructor(
    private readonly client: InferenceClient,
    private readonly model: RemoteModel,
    private readonly options: MeasureEngineOptions,
  ) {
    const { seed = 0 } = options;
    const { inputs, requests } = targetOf(model, { rps: 1, durationS: 1, tensors: 'binary', seed });
    this.whole = itemAt(requests, 0);
    const extra = { name: UNKNOWN_INPUT, dtype: 'float32' as const, shape: [1] };
    const tensors: Tensors = { ...inputs[0], [UNKNOWN_INPUT]: filledTensor('float32', [1], 0) };
    const asked = { ...model, inputs: [...model.inputs, extra] };
    this.unknown = encodeRequest(asked, tensors, { run: `engine-${seed}`, tensors: 'binary', priority: 0 });
  }

  get bodyBytes(): number {
    return Number(this.whole[0]?.headers['content-length']);
  }

  /** refused sends requests that the ingress refuses, several at once, and gives the median time of one and their rate. */
  async refused(count: number, atOnce: number): Promise<{ readonly eachUs: number; readonly rps: number }> {
    const tookUs: number[] = [];
    const startMs = performance.now();
    let left = count;
    const lane = async (): Promise<void> => {
      while (left-- > 0) {
        const fromMs = performance.now();
        const answer = await this.client.infer(this.unknown, this.sent++, this.options.signal);
        this.options.signal?.throwIfAborted();
        const why = answer.kind === 'failed' ? answer.why : `it was ${answer.kind}`;
        if (!why.startsWith('status 400'))
          throw this.unfit(`does not refuse an input that it has not: ${why}`);
        tookUs.push(1e3 * (performance.now() - fromMs));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, lane));
    return { eachUs: medianOf(tookUs), rps: (1e3 * count) / (performance.now() - startMs) };
  }

  /**
   * answered sends requests at a rate, or one after the other without one, and gives the mean of their times, waits, executions
   * and stages.
   */
  async answered(
    count: number,
    rps: number | undefined,
  ): Promise<{
    readonly eachUs: number;
    readonly queueUs: number;
    readonly executionUs: number;
    readonly stages: number;
  }> {
    for (let i = 0; i < WARM_UP; i++) await this.answeredOne();
    const before = await this.client.executions(this.model.name);
    const sumUs = rps === undefined ? await this.inTurn(count) : await this.atRate(count, rps);
    const after = await this.client.executions(this.model.name, before?.sequence);
    const { executions = [], queueMs = 0 } = servedBetween(this.model.name, before, after) ?? {};
    let executionUs = 0;
    let stages = 0;
    // Each row of a batch is there for all of it.
    for (const { batch, executed, measured, medianUs } of executions) {
      if (medianUs === undefined || measured === 0) continue;
      executionUs += batch * executed * medianUs;
      stages += batch * executed;
    }
    if (stages === 0)
      throw this.unfit(
        'tells nothing of its executions: write what it takes by hand, as docs/formats.md says',
      );
    return {
      eachUs: sumUs / count,
      queueUs: 1e3 * queueMs,
      executionUs: executionUs / count,
      stages: stages / count,
    };
  }

  private async inTurn(count: number): Promise<number> {
    let sumUs = 0;
    for (let i = 0; i < count; i++) sumUs += await this.answeredOne();
    return sumUs;
  }

  /** atRate sends requests at even distances, whether or not those before are answered, and sums their times. */
  private async atRate(count: number, rps: number): Promise<number> {
    const startMs = performance.now();
    const took: Promise<number>[] = [];
    for (let i = 0; i < count; i++) {
      const leftMs = startMs + (1e3 * i) / rps - performance.now();
      if (leftMs > 0) await sleep(leftMs, undefined, { signal: this.options.signal });
      const one = this.answeredOne();
      // A failure is reported once all are sent.
      one.catch(() => {});
      took.push(one);
    }
    return (await Promise.all(took)).reduce((sum, us) => sum + us, 0);
  }

  private async answeredOne(): Promise<number> {
    const fromMs = performance.now();
    const request = itemAt(this.whole, this.sent % this.whole.length);
    const answer = await this.client.infer(request, this.sent++, this.options.signal);
    this.options.signal?.throwIfAborted();
    if (answer.kind === 'dropped')
      throw this.unfit(`drops a request, with status ${answer.status}: ask for fewer by ${option('rps')}`);
    if (answer.kind === 'failed') throw this.unfit(`fails a request: ${answer.why}`);
    return 1e3 * (performance.now() - fromMs);
  }

  private unfit(message: string): InputError {
    return new InputError(`measure the engine at ${this.client.url}`, [fault(message, this.model.name)]);
  }
}

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? itemAt(sorted, middle)
    : (itemAt(sorted, middle - 1) + itemAt(sorted, middle)) / 2;
}
