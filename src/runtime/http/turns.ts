import { itemAt } from '../../collections/index.js';
import type { Steps } from '../../protocol/index.js';

/** Long work takes so much of one turn of the event loop. Health and other requests are answered between turns. */
const TURN_MS = 8;

interface Waiting {
  readonly steps: Steps<unknown>;
  readonly isWanted: () => boolean;
  readonly end: (result: unknown) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Turns does work that may be long in turns of the event loop: one piece of work at a time, for 8 ms a turn, in the order in
 * which they wait. Work of a single step is done at once.
 */
export class Turns {
  private readonly waiting: Waiting[] = [];

  /**
   * run does work to its end.
   * @param isWanted says before each turn whether anybody still waits for it
   * @returns its result, or undefined where nobody waits for it any more
   */
  run<Result>(steps: Steps<Result>, isWanted: () => boolean): Promise<Result | undefined> | Result {
    const first = steps.next();
    if (first.done) return first.value;
    return new Promise<Result | undefined>((end, fail) => {
      this.waiting.push({ steps, isWanted, end: end as (result: unknown) => void, fail });
      if (this.waiting.length === 1) setImmediate(() => this.turn());
    });
  }

  private turn(): void {
    const work = itemAt(this.waiting, 0);
    const goesOn = isUnfinished(work);
    this.waiting.shift();
    if (goesOn) this.waiting.push(work);
    if (this.waiting.length > 0) setImmediate(() => this.turn());
  }
}

/** isUnfinished does some of the work, and says whether there is more. */
function isUnfinished({ steps, isWanted, end, fail }: Waiting): boolean {
  if (!isWanted()) {
    end(undefined);
    return false;
  }
  const untilMs = performance.now() + TURN_MS;
  try {
    do {
      const step = steps.next();
      if (!step.done) continue;
      end(step.value);
      return false;
    } while (performance.now() < untilMs);
  } catch (error) {
    fail(error);
    return false;
  }
  return true;
}
