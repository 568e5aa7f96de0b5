import type { Bundle, BundledPartition, BundledStage } from '../formats/index.js';
import type { PlanPart } from './plan-of.js';

/** bundledFile finds the file of a part in the manifest of a bundle; undefined where it has none. */
export function bundledFile(
  { bundled }: Pick<PlanPart, 'bundled'>,
  { models, partitions, stages = [] }: Pick<Bundle, 'models' | 'partitions' | 'stages'>,
): BundledPartition | BundledStage | undefined {
  switch (bundled.among) {
    case 'stages':
      return stages.find(({ name }) => name === bundled.stage);
    case 'partitions': {
      const [from, end] = bundled.range ?? [];
      return partitions.find(
        (part) => models[part.model]?.name === bundled.model && part.from === from && part.to === end,
      );
    }
  }
}
