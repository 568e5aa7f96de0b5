import { largestOf } from '../collections/index.js';
import type { ProfileFigures } from '../formats/index.js';
import { classFigures } from '../pipeline/index.js';
import type { CascadeFiles, ClassProblem, ResolvedCascade } from './resolve.js';

/** familyFigures names the figures that a plan on any of the classes could be made of, for each model of the spec. */
export function familyFigures(
  { classes }: Pick<ResolvedCascade, 'classes'>,
  { profiles }: Pick<CascadeFiles, 'profiles'>,
): ProfileFigures[] {
  return profiles.map(({ profile, path }) => ({
    profile,
    path,
    classes: classes.map((of) =>
      classFigures(profile, { device: of.device, virtual: 1, batch: largestBatch(of) }),
    ),
  }));
}

/** largestBatch is the largest batch that models are planned with on a class. */
function largestBatch({ problem: { models } }: Pick<ClassProblem, 'problem'>): number {
  return largestOf(models.map(({ latencyNs }) => latencyNs.length));
}
