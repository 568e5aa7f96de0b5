import { setMaxListeners } from 'node:events';
import { itemAt } from '../collections/index.js';
import type { Tensors } from '../execution/index.js';
import { errorFields, gapsText, InputError, type LoadSends, type ModelLoad } from '../formats/index.js';
import { streamOf, uniformAt } from '../random/index.js';
import { type Arrivals, arrivals, arrivalsAt, drawnLevels, type PriorityShare } from '../workload/index.js';
import type { CountedExecutions } from './counted-executions.js';
import type { Encoded } from './encode-request.js';
import type { Answered } from './infer-answer.js';
import { type ClientOptions, InferenceClient } from './inference-client.js';
import { optionFaults, urlFaults } from './load-options.js';
import { LoadTally } from './load-tally.js';
import type { RemoteModel } from './remote-model.js';
import { servedBetween } from './served-between.js';
import { type Target, type TargetOptions, targetOf, withInputs } from './target.js';
import type { LoadOptions, LoadReport, TensorsAs } from './types.js';

const PROGRESS_MS = 1000;
/** Timers are too coarse below this time. The client then waits in turns of the event loop. */
const SPIN_MS = 1;
/** A client that cannot keep up lets the event loop run this often. */
const MOST_DEAF_MS = 5;
/** A client that is this far behind when the duration is over stops sending. */
const MOST_BEHIND_MS = 1000;

/**
 * describeServer asks a server to describe all of its models, or the one with this name.
 * @throws InputError where the URL is not that of a server alone, where none answers within 5 s, or where it cannot
 *   list or describe its models; MissingError where it lacks the model
 */
export async function describeServer(
  url: string,
  { model, ...options }: Pick<LoadOptions, 'model'> & ClientOptions = {},
): Promise<RemoteModel[]> {
  const faults = urlFaults(url);
  if (faults.length > 0) throw new InputError('drive a load', faults);
  const client = new InferenceClient(url, { ...options, connections: 1 });
  try {
    const names = model === undefined ? await client.modelNames() : [model];
    if (names.length === 0) return [await client.describe()];
    return await Promise.all(names.map((name) => client.describe(name)));
  } finally {
    await client.close();
  }
}

/**
 * driveLoad sends requests to a server at the times of a seeded arrival process or of a schedule, whatever the server
 * does (open loop), and reports their outcomes. Latency runs from the intended send time of a request. It ends when
 * every request has its outcome; after an abort, open requests count as cancelled. A client that is more than 1 s
 * behind when the duration is over sends no more, and the report warns of it.
 * @throws InputError where an option is not valid, or the server cannot describe the model; MissingError where the
 *   server lacks the model
 */
export async function driveLoad(url: string, options: LoadOptions): Promise<LoadReport> {
  const faults = optionFaults(url, options);
  if (faults.length > 0) throw new InputError('drive a load', faults);
  const client = new InferenceClient(url, options);
  try {
    const names = options.schedule?.models ?? [options.model];
    const described = await Promise.all(names.map((name) => client.describe(name)));
    const models = described.map((model) => withInputs(model, options));
    const tensors = options.tensors ?? (await tensorsFor(client, models));
    return await new LoadRun(client, models, { ...options, tensors }).drive();
  } finally {
    await client.close();
  }
}

/** tensorsFor chooses how requests for models carry their tensors, by what their server reports. */
async function tensorsFor(client: InferenceClient, models: readonly RemoteModel[]): Promise<TensorsAs> {
  const hasHalves = models.some(({ inputs }) => inputs.some(({ dtype }) => dtype === 'float16'));
  return hasHalves || (await client.takesBinary()) ? 'binary' : 'json';
}

/** A report of more requests would be larger than is worth keeping, so it does not say when they were sent. */
const MOST_SENDS = 1_000_000;

class LoadRun {
  private readonly abort = new AbortController();
  private readonly open = new Set<Promise<void>>();
  private readonly targets: readonly Target[];
  private readonly priorities: readonly PriorityShare[];
  /** The outcomes of the requests of each priority, where they have some. */
  private readonly levels: readonly LoadTally[];
  /** levelOf is the level of a request, by the number of requests before it. */
  private readonly levelOf: (index: number) => number;
  private startedAt = performance.now();
  /** When the event loop last had its turn. */
  private heardAtMs = 0;
  private stoppedShort = false;

  constructor(
    private readonly client: InferenceClient,
    models: readonly RemoteModel[],
    private readonly options: TargetOptions,
  ) {
    this.targets = models.map((model) => targetOf(model, options));
    const { priorities, seed = 0 } = options;
    this.priorities = priorities ?? [];
    this.levels = this.priorities.map(() => new LoadTally());
    this.levelOf =
      priorities === undefined ? () => 0 : drawnLevels(priorities, (purpose) => uniformAt(seed, purpose));
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
      const before = await this.counted();
      await this.sendAll();
      const sendingS = Math.max(1e-9, this.elapsedMs() / 1e3);
      await Promise.all(this.open);
      // An abort while the client sent nothing more, or waited for answers, ends the load before its time too.
      const complete = !this.abort.signal.aborted;
      const report = { complete, ...this.report(sendingS) };
      const after = await this.counted(before);
      const served = this.targets.flatMap(
        ({ model }, i) => servedBetween(model.name, before[i], after[i]) ?? [],
      );
      return { ...report, ...(served.length === this.targets.length ? { served } : {}) };
    } finally {
      clearInterval(progress);
      signal?.removeEventListener('abort', stop);
    }
  }

  /** counted asks the server what it has counted of each model. */
  private counted(
    before: readonly (CountedExecutions | undefined)[] = [],
  ): Promise<(CountedExecutions | undefined)[]> {
    const asked = this.targets.map(({ model }, i) => this.client.executions(model.name, before[i]?.sequence));
    return Promise.all(asked);
  }

  private async sendAll(): Promise<void> {
    const { durationS } = this.options;
    const arriving = this.arriving();
    this.startedAt = performance.now();
    for (let index = 0; arriving.next(); index++) {
      const timeMs = arriving.atNs / 1e6;
      await this.until(timeMs);
      if (this.abort.signal.aborted) return;
      if (this.elapsedMs() > durationS * 1e3 + MOST_BEHIND_MS) {
        this.stoppedShort = true;
        return;
      }
      const target = itemAt(this.targets, arriving.model);
      if (index < MOST_SENDS) target.sendsNs.push(arriving.atNs);
      this.send(target, index, timeMs);
    }
    await this.until(durationS * 1e3);
  }

  private arriving(): Arrivals {
    const { rps, durationS, arrivals: process = 'poisson', cv, seed = 0, schedule } = this.options;
    if (schedule !== undefined) return schedule.arrivals;
    const stream = streamOf(seed, 'arrivals');
    return arrivalsAt(arrivals({ process, rps, durationS, stream, ...(cv === undefined ? {} : { cv }) }));
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

  private send(target: Target, index: number, intendedMs: number): void {
    const latenessMs = this.elapsedMs() - intendedMs;
    const level = this.levelOf(index);
    const tallies = [target.tally, this.levels[level]].filter((tally) => tally !== undefined);
    for (const tally of tallies) tally.countSent(latenessMs);
    const request = target.requests[level]?.[index % target.inputs.length] as Encoded;
    const answered = this.client
      .infer(request, index, this.abort.signal)
      .then((answer) => {
        const end = this.endOf(target, answer, index, intendedMs);
        for (const tally of tallies) end(tally);
      })
      .finally(() => this.open.delete(answered));
    this.open.add(answered);
  }

  /** endOf reads an answer, and gives what counts it in a tally. */
  private endOf(
    { inputs, sloMs }: Target,
    answer: Answered,
    index: number,
    intendedMs: number,
  ): (tally: LoadTally) => void {
    const at = this.elapsedMs();
    if (answer.kind === 'dropped') return (tally) => tally.countDrop(answer.status, at);
    if (answer.kind === 'failed') {
      const isCancelled = this.abort.signal.aborted;
      return (tally) => (isCancelled ? tally.countEnd('cancelled', at) : tally.countFailure(answer.why, at));
    }
    const wrong = this.wrongAnswer(answer, index, itemAt(inputs, index % inputs.length));
    if (wrong !== undefined) return (tally) => tally.countFailure(wrong, at);
    const latencyMs = at - intendedMs;
    const late = sloMs !== undefined && latencyMs > sloMs;
    const stages = answer.answeredBy();
    return (tally) => {
      tally.countEnd(late ? 'late' : 'inTime', at, latencyMs);
      tally.countAnsweredBy(stages);
    };
  }

  private wrongAnswer(
    { fault, outputs }: Extract<Answered, { kind: 'answered' }>,
    index: number,
    inputs: Tensors,
  ): string | undefined {
    const why = fault();
    if (why !== undefined) return `status 200: ${why}`;
    const { check } = this.options;
    if (check === undefined) return undefined;
    try {
      const right = check({ index, inputs, outputs: outputs() });
      return right ? undefined : 'the answer is wrong';
    } catch (error) {
      return `the answer cannot be read: ${errorFields(error).message}`;
    }
  }

  private report(sendingS: number): LoadReport {
    const {
      rps,
      durationS,
      arrivals: process = 'poisson',
      seed = 0,
      rows = 1,
      schedule,
      tensors,
    } = this.options;
    const [only, ...others] = this.targets as [Target, ...Target[]];
    const byModel = this.targets.map(
      ({ model, sloMs, tally }): ModelLoad => tally.ofModel(model.name, sloMs),
    );
    const asked = {
      url: this.client.url,
      ...(others.length > 0 ? { models: byModel } : { model: only.model.name }),
      arrivals: schedule === undefined ? process : ('trace' as const),
      seed,
      rows,
      tensors,
      ...(others.length > 0 || only.sloMs === undefined ? {} : { sloMs: only.sloMs }),
      rps,
      durationS,
    };
    const tally = LoadTally.joined(this.targets.map((target) => target.tally));
    const hasSlo = this.targets.every((target) => target.sloMs !== undefined || target.tally.sent === 0);
    const { planSha256, planNotes, serving } = only.model;
    return {
      ...tally.report(asked, { seconds: sendingS, stoppedShort: this.stoppedShort, hasSlo }),
      ...(planSha256 === undefined ? {} : { planSha256 }),
      ...(planNotes === undefined ? {} : { notes: planNotes }),
      ...(serving === undefined ? {} : { serving }),
      ...(this.levels.length === 0
        ? {}
        : {
            priorities: this.priorities.map((one, level) =>
              itemAt(this.levels, level).ofPriority(one, hasSlo),
            ),
          }),
      ...(tally.sent > MOST_SENDS ? {} : { sends: this.sends() }),
    };
  }

  private sends(): LoadSends[] {
    return this.targets.map(({ model, sendsNs }) => ({ model: model.name, gapsNs: gapsText(sendsNs) }));
  }

  private tellProgress(): void {
    const seconds = this.elapsedMs() / 1e3;
    const total = (of: (tally: LoadTally) => number): number =>
      this.targets.reduce((sum, { tally }) => sum + of(tally), 0);
    this.options.onProgress?.({
      sent: total(({ sent }) => sent),
      done: total(({ done }) => done),
      ofSeconds: this.options.durationS,
      seconds,
    });
  }

  private elapsedMs(): number {
    return performance.now() - this.startedAt;
  }
}
