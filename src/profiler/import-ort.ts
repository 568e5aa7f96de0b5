import { fault, type Profile } from '../artifacts/index.js';
import { importMeasured, type MeasuredFile, type MeasuredOptions } from './imported.js';
import { figureOf } from './statistics.js';

/**
 * importOrtProfile makes a profile from ONNX Runtime's own profiles (`enable_profiling`), one per block, class,
 * virtual size and batch size. The latency is the median of the `model_run` events; of several, the first is left out
 * as warm-up. Profiling makes runs longer, by 10 to 30 % for convolutional networks and by more for many small nodes.
 * Nodes carry the optimizer's names, so the profile has no layers.
 *
 * Cells without a file are null, and `measurement.complete` is then false.
 * @throws InputError with every fault of every file
 */
export function importOrtProfile(files: readonly MeasuredFile[], options: MeasuredOptions): Profile {
  return importMeasured(files, options, {
    name: "ONNX Runtime's profile",
    read: (events, path, faults) => {
      const runs = events.flatMap(({ name, dur }, i) => (name === 'model_run' ? [{ dur, i }] : []));
      if (runs.length === 0) faults.push(fault('it has no model_run events', path));
      const wrong = runs.filter(({ dur }) => !(typeof dur === 'number' && Number.isFinite(dur) && dur >= 0));
      for (const { dur, i } of wrong)
        faults.push(fault(`dur is ${JSON.stringify(dur)}; microseconds are needed`, `${path}[${i}]`));
      if (runs.length === 0 || wrong.length > 0) return undefined;
      const durations = runs.map(({ dur }) => dur as number);
      const { medianUs, p95Us } = figureOf(durations.length > 1 ? durations.slice(1) : durations);
      return { medianUs, p95Us };
    },
  });
}
