import { pushAll } from '../collections/index.js';
import { type Fault, fault, firstFaults, type Profile, shown } from '../formats/index.js';
import { importMeasured, type MeasuredFile, type MeasuredOptions } from './imported.js';
import { figureOf } from './statistics.js';

/** No run or node takes longer than a day. */
const MOST_US = 24 * 3600 * 1e6;

/**
 * importOrtProfile makes a profile from ONNX Runtime's own profiles (`enable_profiling`), one per block, class, virtual
 * size and batch size. The latency is the median of the `model_run` events without the first, which is cold: it
 * allocates memory and takes several times as long as those after it. So a file of one run is refused. Profiling makes
 * runs longer, by 10 to 30 % for convolutional networks and by more for many small nodes. Nodes carry the optimizer's
 * names, so the profile has no layers.
 *
 * Cells without a file are null, and `measurement.complete` is then false.
 * @throws InputError with the first faults of every file
 */
export function importOrtProfile(files: readonly MeasuredFile[], options: MeasuredOptions): Profile {
  return importMeasured(files, options, {
    name: "ONNX Runtime's profile",
    read: (events, path, faults) => {
      const runs = events.filter(({ name }) => name === 'model_run');
      const inEvents = events.flatMap((event, i) => durationFaults(event, `${path}[${i}]`));
      const wrong = [...countFaults(runs, path), ...inEvents];
      pushAll(faults, firstFaults(wrong, path));
      if (wrong.length > 0) return undefined;
      const { medianUs, p95Us } = figureOf(runs.slice(1).map(({ dur }) => dur as number));
      return { medianUs, p95Us };
    },
  });
}

/** countFaults refuses a file without a run after the cold one. */
function countFaults(runs: readonly Record<string, unknown>[], path: string): Fault[] {
  if (runs.length === 0) return [fault('it has no model_run events', path)];
  if (runs.length > 1) return [];
  const took = `it has one model_run, of ${shown(runs[0]?.dur)} µs, which is the cold one`;
  return [fault(`${took}: run the model twice or more in one session`, path)];
}

/**
 * durationFaults looks at the durations of runs, which are used, and of nodes: where these are wrong, the file is not
 * what ONNX Runtime measured.
 */
function durationFaults({ name, cat, dur }: Record<string, unknown>, path: string): Fault[] {
  if (name !== 'model_run' && cat !== 'Node') return [];
  if (typeof dur === 'number' && dur >= 0 && dur <= MOST_US) return [];
  const of = `dur of ${shown(name)} is ${shown(dur)}`;
  if (typeof dur === 'number' && dur > MOST_US) return [fault(`${of} µs, which is more than a day`, path)];
  return [fault(`${of}; microseconds are needed`, path)];
}
