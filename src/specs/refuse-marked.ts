import { InputError, measurementFaults, option, type ProfileFigures } from '../formats/index.js';

/**
 * refuseMarked refuses profiles with figures that a plan could use and that are unfit, emulated or imported.
 * @param asked the spec, or specs, which the error names
 * @throws InputError with a fault for each profile, class and kind of such figures
 */
export function refuseMarked(asked: string, figures: readonly ProfileFigures[]): void {
  const faults = measurementFaults(figures);
  if (faults.length === 0) return;
  const advice = `Leave out ${option('strictProfile')} to plan with these figures all the same; the plan's notes then tell of them.`;
  throw new InputError(`plan ${asked} with ${option('strictProfile')}`, faults, advice);
}
