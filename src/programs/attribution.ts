import { promiseHooks } from 'node:v8';
import { Beat, NO_RUN } from './messages.js';

/** Each promise bears the run in which it was made. */
const OWNER = Symbol('run');
type Owned = Promise<unknown> & { [OWNER]?: number };

/**
 * Attribution knows which run each continuation belongs to, also where runs wait for promises that others settle, and
 * writes it into the heartbeat before the continuation is resumed: whoever finds the thread stuck reads there whose
 * fault it is. V8's promise hooks tell it, which cost a third of what an await takes. It can be made once in a thread.
 */
export class Attribution {
  private run = NO_RUN;

  /** @param beat the heartbeat, with places as `Beat` says */
  constructor(private readonly beat: Int32Array) {
    promiseHooks.createHook({
      init: (promise) => {
        (promise as Owned)[OWNER] = this.run;
      },
      before: (promise) => this.resume(this.ownerOf(promise)),
    });
  }

  /** current is the run whose code is executed. */
  get current(): number {
    return this.run;
  }

  /** resume says that the code of a run is executed from now on. */
  resume(run: number): void {
    this.run = run;
    Atomics.store(this.beat, Beat.run, run);
  }

  /** ownerOf gives the run in which a promise was made. */
  ownerOf(promise: Promise<unknown>): number {
    return (promise as Owned)[OWNER] ?? NO_RUN;
  }

  /** bound gives a function that is called as the code of the run that is executed now. */
  bound<Given extends unknown[]>(act: (...given: Given) => void): (...given: Given) => void {
    const { run } = this;
    return (...given) => {
      this.resume(run);
      act(...given);
    };
  }
}
