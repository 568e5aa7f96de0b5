import { grownCapacity, grownColumn, Lists, NONE as SHARED_NONE } from '../../../collections/index.js';
import type { PlanColumns, Requests } from '../../state/index.js';

const NONE = SHARED_NONE;

const NEVER = Number.POSITIVE_INFINITY;

/**
 * RequestTimeouts holds the requests that have no outcome yet, and when each is to end though it has not been
 * served: `slos` times the SLO of its model after it came, as far as that follows from its deadline, since it
 * may have passed an ingress before. So one with a sooner deadline of its own ends sooner too. A change takes
 * constant time where the requests of a model come in the order of their deadlines, and to find the next one
 * a pass over the models.
 */
export class RequestTimeouts {
  /** The requests of each model, in the order in which they are to end. */
  private readonly open: Lists;
  private readonly requests: Requests;
  /** By model, how long after its deadline a request is to end. */
  private readonly afterNs: Float64Array;
  /** By request, the first instant at which it has taken too long; NaN where it is in no list. */
  private endAt = new Float64Array(0);
  /** By request, how many came before it: of those that end at one instant, the first to come is the first to end. */
  private order = new Float64Array(0);
  private arrivals = 0;

  constructor(
    slos: number,
    { columns, requests }: { readonly columns: PlanColumns; readonly requests: Requests },
  ) {
    this.requests = requests;
    this.open = new Lists(columns.sloNs.length);
    this.afterNs = columns.sloNs.map((sloNs) => (slos - 1) * sloNs);
  }

  arrived(request: number): void {
    const before = this.endAt.length;
    if (request >= before) {
      this.endAt = grownColumn(this.endAt, grownCapacity(before, request + 1));
      this.endAt.fill(Number.NaN, before);
      this.order = grownColumn(this.order, this.endAt.length);
    }
    this.order[request] = this.arrivals++;
    const { requests, open, endAt } = this;
    const model = requests.modelOf(request);
    // At the last instant of its time it may still be answered.
    const end = Math.floor(requests.deadlineOf(request) + (this.afterNs[model] as number)) + 1;
    endAt[request] = end;
    let last = open.last(model);
    while (last !== NONE && end < (endAt[last] as number)) last = open.previous(last);
    open.insertAfter(model, last, request);
  }

  /** ended reports that a request has its outcome; one that is in no list is passed over. */
  ended(request: number): void {
    if (Number.isNaN(this.endAt[request] ?? Number.NaN)) return;
    this.endAt[request] = Number.NaN;
    this.open.remove(this.requests.modelOf(request), request);
  }

  /** nextAt is the first instant at which a request is to end: Infinity where there is none. */
  get nextAt(): number {
    let least = NEVER;
    for (let model = 0; model < this.open.count; model++) least = Math.min(least, this.firstOf(model));
    return least;
  }

  /** due is a request that is to end by now, NONE where there is none. */
  due(at: number): number {
    let first: number = NONE;
    for (let model = 0; model < this.open.count; model++) {
      if (this.firstOf(model) > at) continue;
      const request = this.open.first(model);
      if (first === NONE || this.isBefore(request, first)) first = request;
    }
    return first;
  }

  private isBefore(one: number, other: number): boolean {
    const [end, otherEnd] = [this.endAt[one] as number, this.endAt[other] as number];
    return (
      end < otherEnd || (end === otherEnd && (this.order[one] as number) < (this.order[other] as number))
    );
  }

  private firstOf(model: number): number {
    const first = this.open.first(model);
    return first === NONE ? NEVER : (this.endAt[first] as number);
  }
}
