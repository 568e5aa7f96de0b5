import { NONE } from '../../collections/index.js';
import type { Run } from '../../formats/index.js';
import { NS_PER_MS } from '../../formats/index.js';
import type { RecordedRun } from '../../simulator/index.js';

/** RecordedRuns gives runs as the simulator replays them. A run that is replayed again is made once. */
export class RecordedRuns {
  private readonly numbers: ReadonlyMap<string, number>;
  private readonly made = new WeakMap<Run, RecordedRun>();

  /** @param components their names, in the order of the plan */
  constructor(components: readonly string[]) {
    this.numbers = new Map(components.map((name, i) => [name, i]));
  }

  /** of gives a run. @throws RangeError where it calls a component that the plan lacks */
  of(run: Run): RecordedRun {
    const known = this.made.get(run);
    if (known !== undefined) return known;
    const recorded = {
      requestBytes: run.requestBytes,
      calls: run.tasks.map(({ component, inputs, after, thinkMs = 0, outputBytes, rows }) => ({
        component: this.numberOf(component),
        inputs: inputs.map((input) => (input === 'request' ? NONE : input)),
        thinkNs: Math.round(thinkMs * NS_PER_MS),
        rows,
        after,
        outputBytes,
      })),
      ...(run.reads === undefined ? {} : { reads: run.reads }),
    };
    this.made.set(run, recorded);
    return recorded;
  }

  private numberOf(name: string): number {
    const number = this.numbers.get(name);
    if (number === undefined)
      throw new RangeError(`Cannot replay a run that calls ${name}: the plan lacks it`);
    return number;
  }
}
