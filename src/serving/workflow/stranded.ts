import { NONE } from '../../collections/index.js';
import { type Decisions, Decision as SharedDecision, DropCode as SharedDropCode } from '../decisions.js';
import type { DevicesUp } from './devices-up.js';
import type { RequestEnds } from './request-ends.js';
import type { OpenRequest } from './work.js';

const Decision = SharedDecision;
const DropCode = SharedDropCode;

/** StrandedOptions holds the parts of Stranded. */
export interface StrandedOptions {
  readonly decisions: Decisions;
  readonly devices: DevicesUp;
  readonly ends: RequestEnds;
}

/** Stranded holds the requests with a task that no device that is up runs. They are dropped at their deadlines. */
export class Stranded {
  private readonly requests = new Set<OpenRequest>();
  private wakeToldNs = Number.POSITIVE_INFINITY;

  constructor(private readonly options: StrandedOptions) {}

  /** all lists the requests. */
  all(): Iterable<OpenRequest> {
    return this.requests;
  }

  /**
   * scheduled reports that a request has asked for devices. It is dropped if a task of it runs nowhere, whichever
   * devices are up.
   */
  scheduled(request: OpenRequest): void {
    const { devices, ends } = this.options;
    const left = request.tasks.filter(({ state, device }) => state === 'called' && device === NONE);
    if (left.length === 0) this.requests.delete(request);
    else if (left.some((task) => devices.isHopeless(task))) ends.drop(request, DropCode.deviceDown);
    else this.requests.add(request);
  }

  /** dropLate drops the requests whose deadlines have passed, and asks to be woken for the next. */
  dropLate(at: number): void {
    let nextNs = Number.POSITIVE_INFINITY;
    for (const request of this.requests) {
      if (!request.isSettled && request.deadlineNs < at) this.options.ends.drop(request, DropCode.deviceDown);
      if (request.isSettled) this.requests.delete(request);
      else nextNs = Math.min(nextNs, request.deadlineNs + 1);
    }
    if (nextNs === this.wakeToldNs || nextNs === Number.POSITIVE_INFINITY) return;
    this.wakeToldNs = nextNs;
    this.options.decisions.push(Decision.wakeAt, nextNs);
  }

  /** woken lets a later wake-up be asked for. */
  woken(): void {
    this.wakeToldNs = Number.POSITIVE_INFINITY;
  }
}
