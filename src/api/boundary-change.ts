import type { Device } from '../execution/index.js';
import { layersBeforeBlocks, type Measurement, type Profile } from '../formats/index.js';
import { boundaryChange, type PreparedModel } from '../profiler/index.js';

/**
 * changeAtBoundaries runs the model on a device, and measures how much float16 at every boundary of the profile's
 * blocks changes its outputs.
 * @returns the largest change of any output element, over the largest magnitude of that output; not finite where values
 *   beyond the range of float16 cross; undefined where the profile's boundary is not float16
 * @throws InputError where memory ran out or ONNX Runtime failed; MissingError where the device or external data is
 *   missing
 */
export async function changeAtBoundaries(
  prepared: PreparedModel,
  { boundary, blocks }: Profile,
  on: { readonly device: Device; readonly signal?: AbortSignal | undefined },
): Promise<number | undefined> {
  if (boundary !== 'float16') return undefined;
  return boundaryChange(prepared, layersBeforeBlocks(blocks).slice(1), on);
}

const OVERFLOWS =
  'float16 at the boundaries makes outputs infinite or not a number: values beyond ±65504 cross a cut; use --boundary exact';

/**
 * withBoundaryChange gives a measurement with the change that `changeAtBoundaries` found, in place of any that it had.
 * JSON has no number for a change that is not finite, so that becomes a warning instead.
 */
export function withBoundaryChange(measurement: Measurement | undefined, change: number): Measurement {
  const { warnings: before = [], boundaryChange: _, ...rest } = measurement ?? {};
  const others = before.filter((warning) => warning !== OVERFLOWS);
  const warnings = Number.isFinite(change) ? others : [...others, OVERFLOWS];
  return {
    ...rest,
    ...(Number.isFinite(change) ? { boundaryChange: change } : {}),
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}
