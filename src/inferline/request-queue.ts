/**
 * RequestQueue lists requests by ascending moments, as a stage serves them, with the moments beside them. The
 * list that a request goes into is as good as random, and a processor loses more time on a branch that it
 * cannot foresee than on a vain write. So what is not to be added is written too, and overwritten by what
 * comes next.
 */
export class RequestQueue {
  /** The requests; what comes after `length` means nothing. */
  readonly requests: Int32Array;
  /** The moment of each request of the list. */
  readonly moments: Float64Array;
  length = 0;

  constructor(readonly size: number) {
    this.requests = new Int32Array(size + 1);
    this.moments = new Float64Array(size + 1);
  }

  /**
   * addNearlySorted adds a request behind all whose moments are no later. It is fast where few are later.
   * @param isIn 1 where it is to be added, else 0
   */
  addNearlySorted(request: number, moment: number, isIn: number): void {
    const { requests, moments, length } = this;
    requests[length] = request;
    moments[length] = moment;
    this.length = length + isIn;
    if (length > 0 && (moments[length - 1] as number) > moment && isIn === 1) this.moveForward(length);
  }

  private moveForward(from: number): void {
    const { requests, moments } = this;
    const [request, moment] = [requests[from] as number, moments[from] as number];
    let at = from;
    for (; at > 0 && (moments[at - 1] as number) > moment; at--) {
      requests[at] = requests[at - 1] as number;
      moments[at] = moments[at - 1] as number;
    }
    requests[at] = request;
    moments[at] = moment;
  }

  /** merge merges another list into this one. Where moments are equal, those that are here come first. */
  merge(other: RequestQueue): void {
    const { requests, moments } = this;
    let here = this.length - 1;
    let there = other.length - 1;
    this.length += other.length;
    // From the end on, nothing is overwritten that has not been moved.
    for (let at = this.length - 1; there >= 0; at--) {
      const moment = other.moments[there] as number;
      if (here >= 0 && (moments[here] as number) > moment) {
        moments[at] = moments[here] as number;
        requests[at] = requests[here--] as number;
      } else {
        moments[at] = moment;
        requests[at] = other.requests[there--] as number;
      }
    }
  }
}
