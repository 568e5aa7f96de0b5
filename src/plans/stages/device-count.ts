import { InputError } from '../../formats/index.js';

/** Every virtual GPU takes some hundred bytes in a scheduler. */
const MOST_DEVICES = 1_000_000;

/**
 * checkDeviceCount checks that a plan has few enough virtual GPUs to be simulated or served.
 * @throws InputError where it has more than a million
 */
export function checkDeviceCount({
  placement,
}: {
  readonly placement: readonly { readonly count?: number }[];
}): void {
  const devices = placement.reduce((sum, { count = 1 }) => sum + count, 0);
  if (devices <= MOST_DEVICES) return;
  const message = `has ${devices} virtual GPUs; at most ${MOST_DEVICES} can be simulated or served`;
  throw new InputError(
    'use the plan',
    [{ path: '/placement', message }],
    'Solve it for fewer GPUs or lower rates.',
  );
}
