import { InputError, option } from '../../artifacts/index.js';
import type { PooledProblem, ProfileFile } from '../../milp/index.js';

/**
 * refuseMarked refuses profiles with figures that a plan could use and that are unfit, emulated or imported.
 * @param path the spec, which the error names
 * @throws InputError with a fault for each class and each kind of such figures
 */
export async function refuseMarked(
  path: string,
  { models, cluster }: Pick<PooledProblem, 'models' | 'cluster'>,
  profiles: readonly ProfileFile[],
): Promise<void> {
  const { measurementFaults } = await import('../../milp/index.js');
  const faults = measurementFaults(models, profiles, cluster);
  if (faults.length === 0) return;
  const advice = `Leave out ${option('strictProfile')} to plan with these figures all the same; the plan's notes then tell of them.`;
  throw new InputError(`plan ${path} with ${option('strictProfile')}`, faults, advice);
}
