import type { Cluster, DeviceClass, DeviceProfile, MeasuredCells } from '../../formats/index.js';
import type { ProblemModel } from '../problem.js';

/**
 * usableFigures names the figures of a model's profile that a plan for the cluster could be made of. Classes without a
 * free GPU are left out, and figures at virtual sizes that the cluster does not have.
 */
export function usableFigures(
  { profile, classes }: Pick<ProblemModel, 'profile' | 'classes'>,
  cluster: Cluster,
): MeasuredCells[] {
  return classes.flatMap((className): MeasuredCells[] => {
    const { count, taken = 0, virtual: sizes = [1] } = cluster.devices[className] as DeviceClass;
    const device = profile.devices[className] as DeviceProfile;
    if (count <= taken) return [];
    const cells = sizes.flatMap((virtual) =>
      Object.keys(device.blockLatencyUs[virtual] ?? {}).map((batch) => ({ virtual, batch: Number(batch) })),
    );
    return [{ className, cells }];
  });
}
