import { grownCapacity, grownColumn } from '../collections/index.js';
import { fault, InputError } from '../formats/index.js';
import { brokenPromise } from '../serving/index.js';

// The errors are made outside the methods of the loop, as in virtual-driver.ts, to keep it fast.
function refuseAgain(request: number): never {
  throw brokenPromise(`request number ${request} is given twice`);
}

function refuseEnd(request: number): never {
  throw brokenPromise(`request number ${request} ends without being open`);
}

/** This many requests may be without an outcome at once: drivers, schedulers and figures keep some 200 bytes of each. */
const MOST_OPEN = 2 ** 21;

function refuseMany(): never {
  throw new InputError(
    'simulate any further',
    [fault(`more than ${MOST_OPEN} requests wait at once, the most that are simulated`)],
    'Ask for a lower rate or a shorter duration, or for a policy that drops.',
  );
}

/**
 * OpenRequests holds the driver's memory of requests whose numbers are in use, as columns. `add` throws the error of
 * `brokenPromise` where a number is given twice, and `end` where it is not open. More than two million open ones are an InputError.
 */
export class OpenRequests {
  private isOpen = new Uint8Array(0);
  private arrived = new Float64Array(0);
  private model = new Int32Array(0);
  /** The number of requests that came before each: its own number among all. */
  private order = new Float64Array(0);

  /** `count` is the number of requests ever added. */
  count = 0;
  /** `open` is the number of those without an outcome. */
  open = 0;

  add(request: number, at: number, model: number): void {
    if (request >= this.isOpen.length) this.grow(request);
    if (this.isOpen[request] === 1) refuseAgain(request);
    this.isOpen[request] = 1;
    this.arrived[request] = at;
    this.model[request] = model;
    this.order[request] = this.count;
    this.count += 1;
    this.open += 1;
  }

  end(request: number): void {
    if (this.isOpen[request] !== 1) refuseEnd(request);
    this.isOpen[request] = 0;
    this.open -= 1;
  }

  arrivedAt(request: number): number {
    return this.arrived[request] as number;
  }

  modelOf(request: number): number {
    return this.model[request] as number;
  }

  /** orderOf counts the requests that came before one. */
  orderOf(request: number): number {
    return this.order[request] as number;
  }

  private grow(request: number): void {
    if (request >= MOST_OPEN) refuseMany();
    const capacity = Math.min(MOST_OPEN, grownCapacity(this.isOpen.length, request + 1));
    this.order = grownColumn(this.order, capacity);
    this.isOpen = grownColumn(this.isOpen, capacity);
    this.arrived = grownColumn(this.arrived, capacity);
    this.model = grownColumn(this.model, capacity);
  }
}
