import type { Measurement, Profile } from '../artifacts/index.js';
import type { Device } from '../execution/index.js';
import type { PreparedModel } from '../profiler/index.js';

/**
 * changeAtBoundaries measures how much float16 at every block's boundary changes the outputs.
 * @returns undefined where tensors cross as they are
 */
export async function changeAtBoundaries(
  prepared: PreparedModel,
  { boundary, blocks }: Profile,
  device: Device,
): Promise<number | undefined> {
  if (boundary !== 'float16') return undefined;
  const { boundaryChange } = await import('../profiler/index.js');
  let end = 0;
  const ends = blocks.map(({ nodes = [] }) => (end += nodes.length));
  return boundaryChange(prepared, ends, device);
}

const OVERFLOWS =
  'float16 at the boundaries makes outputs infinite or not a number: values beyond ±65504 cross a cut; use --boundary exact';

/**
 * withBoundaryChange adds the change to a measurement. JSON has no number for an unbounded change, which
 * becomes a warning.
 */
export function withBoundaryChange(measurement: Measurement | undefined, change: number): Measurement {
  const { warnings: before = [], ...rest } = measurement ?? {};
  const others = before.filter((warning) => warning !== OVERFLOWS);
  const warnings = Number.isFinite(change) ? others : [...others, OVERFLOWS];
  return {
    ...rest,
    ...(Number.isFinite(change) ? { boundaryChange: change } : {}),
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}
