import { type Fault, fault, type Profile, shown, US_PER_MS } from '../formats/index.js';
import { importMeasured, type Latency, type MeasuredFile, type MeasuredOptions } from './imported.js';
import { figureOf, roundUs } from './statistics.js';

/**
 * importTrtexec makes a profile from trtexec's JSON files, one per block, class, virtual GPU size and batch size. It
 * reads two kinds of file, which it recognises by their content:
 * - `--exportTimes` gives a list of runs. The latency is the median of `computeMs` (GPU time, without copies to and
 *   from the host), with its 95th percentile.
 * - `--exportProfile` gives `{ count }`, then layers. The latency is the sum of their `medianMs` (`averageMs` in
 *   versions that do not write it). TensorRT's layer names are of its own fusions, so the profile has no layers.
 *
 * Cells without a file are null, and `measurement.complete` is then false.
 * @throws InputError with every fault of every file, by entry
 */
export function importTrtexec(files: readonly MeasuredFile[], options: MeasuredOptions): Profile {
  const name = "trtexec's --exportTimes or --exportProfile";
  return importMeasured(files, options, {
    name,
    provider: 'tensorrt',
    read: ([first, ...layers], path, faults) =>
      'count' in first! ? ofProfile(layers, path, faults) : ofTimes([first!, ...layers], path, faults),
  });
}

function ofTimes(
  runs: readonly Record<string, unknown>[],
  path: string,
  faults: Fault[],
): Latency | undefined {
  const before = faults.length;
  const times = runs.map((run, i) => milliseconds(run.computeMs, 'computeMs', `${path}[${i}]`, faults));
  if (faults.length > before) return undefined;
  const { medianUs, p95Us } = figureOf(times.map((ms) => ms * US_PER_MS));
  return { medianUs, p95Us };
}

function ofProfile(
  layers: readonly Record<string, unknown>[],
  path: string,
  faults: Fault[],
): Latency | undefined {
  const before = faults.length;
  if (layers.length === 0) faults.push(fault('it lists no layers', path));
  const times = layers.map((layer, i) => {
    const key = 'medianMs' in layer ? 'medianMs' : 'averageMs';
    return milliseconds(layer[key], key, `${path}[${i + 1}]`, faults);
  });
  if (faults.length > before) return undefined;
  return { medianUs: roundUs(times.reduce((sum, ms) => sum + ms, 0) * US_PER_MS) };
}

function milliseconds(value: unknown, key: string, path: string, faults: Fault[]): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value;
  const said = value === undefined ? 'is missing' : `is ${shown(value)}`;
  faults.push(fault(`${key} ${said}; milliseconds are needed`, path));
  return 0;
}
