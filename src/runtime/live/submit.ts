import { itemAt } from '../../collections/index.js';
import type { Tensors } from '../../execution/index.js';
import { type Fault, fault, type PlanServing } from '../../formats/index.js';
import { weightOfPriority } from '../../plans/index.js';
import type { CheckedBundle } from '../bundle/opened-bundle.js';
import { checkedRows } from '../tensors/request-tensors.js';
import { Admission } from './admission.js';
import { type CalledModel, findModel, type UnknownModel } from './called-model.js';
import type { Counters } from './counters.js';
import type { LiveDriver } from './live-driver.js';
import type { Ending } from './live-requests.js';
import { refusedIndex } from './refused-index.js';

/** SubmitOptions says what a front knows of a request beside its tensors. */
export interface SubmitOptions {
  /** When it came, as `Intake.now()` gave it within this turn of the event loop; the default is now. */
  readonly cameNs?: number;
  /** When it had come whole, where that was in an earlier turn: its time counts from then on. */
  readonly wholeNs?: number;
  /** The client's own timeout. It counts when it is shorter than the model's SLO. */
  readonly timeoutUs?: number | undefined;
  /** The priority that the client sent; the default level where absent. */
  readonly priority?: number | undefined;
  /** Tells that the client is gone, and wants no answer any more. */
  readonly signal?: GoneSignal;
}

/**
 * GoneSignal reports once that a client is gone, as an AbortSignal does. To make one of those takes longer
 * than all else that is done here for a request, so that a front may have a lighter one.
 */
export interface GoneSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** SubmitEnding says how a request ended that a front has submitted. A front says it in the words of its protocol. */
export type SubmitEnding = Ending | UnknownModel | RefusedTensors | { readonly kind: 'cancelled' };

/** RefusedTensors says what is wrong with the tensors of a request. */
export interface RefusedTensors {
  readonly kind: 'refused';
  readonly model: string;
  readonly faults: readonly Fault[];
}

/** Admitted says whether the tensors of a request that a client announces are worth reading. */
export type Admitted =
  | UnknownModel
  /**
   * The tensors are needed. `ended` is to be called when they have been read (true), or will not come
   * (false).
   */
  | { readonly kind: 'admitted'; readonly ended: (isIn: boolean) => void }
  /** The tensors are not needed: the request is dropped without them. */
  | { readonly kind: 'turnedAway'; readonly ending: Promise<DroppedEnding> };

type DroppedEnding = Extract<Ending, { kind: 'dropped' }>;

/**
 * Intake takes requests in, whatever the protocol by which they come, and counts them. A front asks `admit` where it
 * hears of a request before it has read its tensors, and calls `submit` with them.
 */
export class Intake {
  private readonly admission: Admission;
  private readonly priorities: PlanServing['priorities'];

  constructor(
    private readonly bundle: CheckedBundle,
    private readonly driver: Pick<LiveDriver, 'now' | 'submit' | 'turnAway' | 'wouldDrop'>,
    private readonly counters: Counters,
  ) {
    this.admission = new Admission(bundle.models, driver);
    this.priorities = bundle.plan.serving?.priorities;
  }

  /** now gives the time by the clock of `SubmitOptions.cameNs`. */
  now(): number {
    return this.driver.now();
  }

  /** admit turns a request away that would be dropped once it is read. Others count as being read until `ended` is called. */
  admit(called: CalledModel): Admitted {
    const model = findModel(this.bundle, called);
    if (typeof model !== 'number') return model;
    // The weight of a request is not known before the request is read.
    if (this.priorities !== undefined || !this.admission.wouldDrop(model))
      return { kind: 'admitted', ended: this.admission.reading(model) };
    this.counters.arrived(model);
    const ending = new Promise<DroppedEnding>((resolve) => {
      this.driver.turnAway(model, (ended, times) => {
        this.counters.ended(model, ended, times);
        if (ended.kind === 'dropped') resolve(ended);
      });
    });
    return { kind: 'turnedAway', ending };
  }

  /**
   * submit lets a model run on tensors. Nothing may change them before the request has ended.
   * @param tensors the model's inputs by name, each of all rows
   * @returns how the request ended
   */
  submit(called: CalledModel, tensors: Tensors, options: SubmitOptions = {}): Promise<SubmitEnding> {
    const at = options.cameNs ?? this.now();
    const model = findModel(this.bundle, called);
    if (typeof model !== 'number') return Promise.resolve(model);
    const { name, sloNs, dropWeight } = itemAt(this.bundle.models, model);
    const faults: Fault[] = [];
    const rows = checkedRows(itemAt(this.bundle.models, model), tensors, faults);
    if (faults.length > 0) {
      this.counters.refused(model);
      return Promise.resolve({ kind: 'refused', model: name, faults });
    }
    const { timeoutUs = Number.POSITIVE_INFINITY, priority = 0, signal, wholeNs = at } = options;
    const arrival = {
      at,
      model,
      deadlineNs: wholeNs + Math.min(sloNs, 1e3 * timeoutUs),
      ...(wholeNs === at ? {} : { wholeNs }),
      ...(this.priorities === undefined && dropWeight === undefined
        ? {}
        : { weight: (dropWeight ?? 1) * weightOfPriority(this.priorities, priority) }),
    };
    this.counters.arrived(model);
    return new Promise((resolve) => {
      const ticket = this.driver.submit(arrival, rows, (ending, times) => {
        signal?.removeEventListener('abort', leave);
        this.counters.ended(model, ending, times);
        this.counters.endedWith(model, priority, ending);
        resolve(refusedByModel(ending, name, rows) ?? ending);
      });
      const leave = () => {
        if (!ticket.cancel()) return;
        this.counters.cancelled(model);
        resolve({ kind: 'cancelled' });
      };
      if (signal?.aborted) leave();
      else signal?.addEventListener('abort', leave);
    });
  }
}

/** refusedByModel distinguishes failures that the request's own data have caused from others. */
function refusedByModel(ending: Ending, model: string, rows: readonly Tensors[]): RefusedTensors | undefined {
  const refused = ending.kind === 'failed' ? refusedIndex(ending.why, rows) : undefined;
  return refused === undefined ? undefined : { kind: 'refused', model, faults: [fault(refused)] };
}
