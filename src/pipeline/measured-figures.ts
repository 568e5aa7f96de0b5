import { itemAt, lastOf } from '../collections/index.js';
import type { ProfileFigures } from '../formats/index.js';
import { setsOf } from './device-sets.js';
import { classFigures } from './latencies.js';
import type { OpenProblem } from './open.js';
import { freeGpus, type GivenProblem, type PipelineFiles } from './problem.js';

/** givenFigures names the figures that the plan of a spec is made of, for each stage. */
export function givenFigures(
  { stages, devices }: Pick<GivenProblem, 'stages' | 'devices'>,
  { profiles }: Pick<PipelineFiles, 'profiles'>,
): ProfileFigures[] {
  return stages.map(({ profile, quantile, batch }, i) => ({
    profile,
    path: pathOf(profiles, i),
    classes: setsOf(devices, i).map(({ device, virtual }) =>
      classFigures(profile, { device, virtual, quantile, batch }),
    ),
  }));
}

/** openFigures names the figures that a plan could be made of, for each stage. Classes without a free GPU are left out. */
export function openFigures(
  { stages, cluster }: Pick<OpenProblem, 'stages' | 'cluster'>,
  { profiles }: Pick<PipelineFiles, 'profiles'>,
): ProfileFigures[] {
  return stages.map(({ profile, quantile, candidates }, i) => ({
    profile,
    path: pathOf(profiles, i),
    classes: candidates
      .filter(({ device }) => freeGpus(cluster.devices[device] ?? {}) !== 0)
      .map(({ device, batches }) =>
        classFigures(profile, { device, virtual: 1, quantile, batch: lastOf(batches) }),
      ),
  }));
}

function pathOf(profiles: PipelineFiles['profiles'], i: number): string {
  return itemAt(profiles, i).path;
}
