import { Answer, Decision, Decisions, DROP_REASONS, type ServingCore } from '../../src/serving/index.js';
import { MS } from './by-hand.js';

const ANSWERS = Object.keys(Answer);

/**
 * Drives a core by hand with events in milliseconds, and writes its decisions in words: `run 0 on 1: 4 5` (a batch, its
 * device and its tasks), `move 0 from 1 to -1`, `answer 4 inTime`, `drop 4 deadline at -1`, `wake 38.5`.
 */
export class Told<Core extends ServingCore> {
  readonly core: Core;
  private readonly decisions = new Decisions();

  constructor(makeCore: (decisions: Decisions) => Core) {
    this.core = makeCore(this.decisions);
  }

  /** Tells the events of an instant and lets the core decide. @returns the decisions */
  at(ms: number, ...happenings: ((core: Core, ns: number) => unknown)[]): string[] {
    for (const happens of happenings) happens(this.core, ms * MS);
    this.core.decide(ms * MS);
    return this.said();
  }

  /** The decisions since this was last asked. */
  said(): string[] {
    const said = Array.from({ length: this.decisions.count }, (_, i) => this.inWords(i));
    this.decisions.clear();
    return said;
  }

  private inWords(i: number): string {
    const { decisions } = this;
    const [a, b, c] = [decisions.a(i), decisions.b(i), decisions.c(i)];
    switch (decisions.kind(i)) {
      case Decision.execute:
        return `run ${a} on ${b}: ${this.tasksOf(a).join(' ')}`;
      case Decision.transfer:
        return `move ${a} from ${b} to ${c}: ${this.tasksOf(a).join(' ')}`;
      case Decision.answer:
        return `answer ${a} ${ANSWERS[b]}`;
      case Decision.drop:
        return `drop ${a} ${DROP_REASONS[b]} at ${c}`;
      case Decision.collect:
        return `collect ${a} at ${b}`;
      default:
        return `wake ${a / MS}`;
    }
  }

  private tasksOf(batch: number): number[] {
    return Array.from({ length: this.core.batchSize(batch) }, (_, i) => this.core.batchTask(batch, i));
  }
}

type Happening = (core: ServingCore, ns: number) => void;

export const up =
  (...devices: number[]): Happening =>
  (core, ns) => {
    for (const device of devices) core.deviceUp(ns, device);
  };

export const down =
  (device: number): Happening =>
  (core, ns) =>
    core.deviceDown(ns, device);

/** A request arrives. Its deadline is at `deadlineMs`, and `exact` nanoseconds more. */
export const comes =
  (deadlineMs: number, { rows = 1, model = 0, exact = 0 } = {}): Happening =>
  (core, ns) => {
    core.arrived(ns, model, deadlineMs * MS + exact, rows);
  };

export const cancels =
  (request: number): Happening =>
  (core, ns) => {
    core.cancelled(ns, request);
  };

export const starts =
  (batch: number): Happening =>
  (core, ns) =>
    core.started(ns, batch);

/** A batch has executed for `tookMs` and ends now. */
export const ends =
  (batch: number, tookMs: number): Happening =>
  (core, ns) =>
    core.executed(ns, batch, ns - tookMs * MS, ns);

export const fails =
  (batch: number): Happening =>
  (core, ns) =>
    core.failed(ns, batch);

/** A batch has been sent for `tookMs` and is there now. */
export const isThere =
  (batch: number, tookMs = 0): Happening =>
  (core, ns) =>
    core.transferred(ns, batch, ns - tookMs * MS, ns);

export const drains: Happening = (core, ns) => core.drain(ns);
export const due: Happening = (core, ns) => core.due(ns);
