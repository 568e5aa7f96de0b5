import { Answer, type DropReason, type ServingCore, unreachable } from '../../serving/index.js';
import type { LiveModel } from '../bundle/pool-work.js';
import { RowInFlight } from '../tensors/rows-in-flight.js';
import { answerOf } from '../tensors/tensors-of-rows.js';
import type { Drops } from './drops.js';
import type { Done, Ending } from './live-requests.js';
import { type BatchPhases, NO_TIME, timesOf } from './request-times.js';
import { toldOf } from './told-of.js';

/** The place that `Drops.ending` calls the entry. */
const NOWHERE = -1;

/** RequestInFlight is a request that a driver has taken, and has not ended. */
export interface RequestInFlight {
  readonly rows: readonly RowInFlight[];
  readonly model: number;
  /** When it came, and when it had been read and was submitted; undefined of one that was turned away unread. */
  readonly cameNs: number | undefined;
  readonly readNs: number;
  /** The batches that were executed with rows of it. */
  readonly batches: BatchPhases[];
  lastFailure: string;
  readonly done: Done;
}

/** Handed is a batch with its rows and the requests that they are of, which it keeps while requests end. */
export interface Handed {
  readonly batch: number;
  readonly rows: readonly RowInFlight[];
  readonly requests: ReadonlySet<RequestInFlight>;
}

/** RequestsInFlightOptions holds the parts of RequestsInFlight. */
export interface RequestsInFlightOptions {
  readonly core: Pick<ServingCore, 'batchSize' | 'batchTask' | 'requestOf' | 'rowOf'>;
  readonly models: readonly LiveModel[];
  readonly drops: Pick<Drops, 'took' | 'gave' | 'ending'>;
  /** The nanoseconds of the driver's clock. */
  readonly now: () => number;
}

/** RequestsInFlight holds the requests of a driver by their numbers, and gives each its one ending. */
export class RequestsInFlight {
  private readonly open: (RequestInFlight | undefined)[] = [];

  constructor(private readonly options: RequestsInFlightOptions) {}

  /** add takes in a request under a number, of which there is none open. */
  add(request: number, came: Omit<RequestInFlight, 'batches' | 'lastFailure'>): RequestInFlight {
    const entry: RequestInFlight = { ...came, batches: [], lastFailure: '' };
    this.open[request] = entry;
    this.options.drops.took(entry.model, entry.rows.length);
    return entry;
  }

  /** get gives an open request, undefined where it has ended. */
  get(request: number): RequestInFlight | undefined {
    return this.open[request];
  }

  /** remove takes out an open request, which then gets no ending. */
  remove(request: number): RequestInFlight | undefined {
    const entry = this.open[request];
    if (entry === undefined) return undefined;
    this.open[request] = undefined;
    this.options.drops.gave(entry.model, entry.rows.length);
    return entry;
  }

  /** handed gives what a device needs of a batch that it is handed. */
  handed(batch: number): Handed {
    const { core } = this.options;
    const tasks = Array.from({ length: core.batchSize(batch) }, (_, k) => core.batchTask(batch, k));
    const requests = new Set<RequestInFlight>();
    for (const task of tasks) {
      const entry = this.open[core.requestOf(task)];
      if (entry !== undefined) requests.add(entry);
    }
    return { batch, rows: tasks.map((task) => this.rowOf(task)), requests };
  }

  /** rowOf is the row of a task, without tensors when its request has ended. */
  private rowOf(task: number): RowInFlight {
    const { core } = this.options;
    const row = this.open[core.requestOf(task)]?.rows[core.rowOf(task)];
    return row ?? new RowInFlight({}, [], []);
  }

  /** answer ends a request as the core has decided. */
  answer(request: number, how: Answer): void {
    const entry = this.open[request];
    if (entry === undefined) return;
    switch (how) {
      case Answer.inTime:
      case Answer.late:
        this.end(request, this.answered(entry, how === Answer.inTime));
        return;
      case Answer.failed:
        this.end(request, { kind: 'failed', why: entry.lastFailure });
        return;
      default:
        unreachable(how);
    }
  }

  /** drop ends a request that is dropped from the queue of a pool, or at the entry (−1). */
  drop(request: number, reason: DropReason, pool: number): void {
    const entry = this.open[request];
    if (entry !== undefined) this.end(request, this.options.drops.ending(entry.model, reason, pool));
  }

  /**
   * abandon ends every open request as dropped because the server closes.
   * @param heldIn the pool whose device executes it; at the entry where it is absent
   * @returns how many these were
   */
  abandon(heldIn: ReadonlyMap<RequestInFlight, number>): number {
    const open = this.open.flatMap((entry, request) => (entry === undefined ? [] : [{ entry, request }]));
    for (const { entry, request } of open) this.drop(request, 'draining', heldIn.get(entry) ?? NOWHERE);
    return open.length;
  }

  private answered({ model, rows }: RequestInFlight, inTime: boolean): Ending {
    try {
      return { kind: 'answered', inTime, ...answerOf(this.options.models[model]!, rows) };
    } catch (error) {
      return { kind: 'failed', why: toldOf(error) };
    }
  }

  private end(request: number, ending: Ending): void {
    const entry = this.remove(request);
    if (entry === undefined) return;
    const { cameNs, readNs, batches, done } = entry;
    const endNs = this.options.now();
    done(ending, cameNs === undefined ? NO_TIME : timesOf({ cameNs, readNs, endNs }, batches));
  }
}
