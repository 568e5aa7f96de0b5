import { itemAt } from '../../collections/index.js';
import { backTo, type Foresight } from '../../serving/index.js';
import type { RecordedRun, SimulationObserver } from '../../simulator/index.js';

/** BODY is how the calls of a prediction name what the client sent. */
const BODY = 0;

/**
 * ForeseenRuns tells a core what the programs of its requests will do, where their calls are made in the order in which
 * runs list them.
 */
export class ForeseenRuns {
  private readonly runs: RecordedRun[] = [];
  private coming: RecordedRun | undefined;

  /** next notes the run of the request that comes next, and gives it. */
  next(run: RecordedRun): RecordedRun {
    this.coming = run;
    return run;
  }

  /** observer learns the numbers of requests. */
  readonly observer: SimulationObserver = {
    arrived: (_atNs, _model, request) => {
      this.runs[request] = this.coming as RecordedRun;
    },
  };

  readonly foresight: Foresight = (request, made) =>
    itemAt(this.runs, request)
      .calls.slice(made)
      .map(({ component, rows, inputs, outputBytes }, i) => ({
        component,
        rows,
        bytes: outputBytes,
        chance: 1,
        back: inputs.map((input) => (input < 0 ? BODY : backTo(input, made + i))),
      }));
}
