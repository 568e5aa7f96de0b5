import type { OpenRequest, Task } from './work.js';

/** Agenda is what the next `decide` of a core has to look at. */
export class Agenda {
  /** The devices that may have something to do. */
  readonly touched = new Set<number>();
  /** Outputs that programs read, to be sent to them. */
  readonly reads = new Set<Task>();
  private asked: OpenRequest[] = [];

  /** ask reports that a request has tasks that are to get devices. */
  ask(request: OpenRequest): void {
    if (request.isAsked || request.isSettled) return;
    request.isAsked = true;
    this.asked.push(request);
  }

  /** takeAsked gives the requests that have asked for devices, in the order in which they did. */
  takeAsked(): readonly OpenRequest[] {
    const { asked } = this;
    this.asked = [];
    return asked;
  }

  /** takeTouched gives the devices that may have something to do, in the order in which they came to. */
  takeTouched(): readonly number[] {
    const touched = [...this.touched];
    this.touched.clear();
    return touched;
  }
}
