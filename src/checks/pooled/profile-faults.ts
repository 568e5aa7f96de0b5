import { itemAt } from '../../collections/index.js';
import {
  type Fault,
  fault,
  type Loaded,
  type PlannedPartition,
  type PooledPlan,
  type Profile,
} from '../../formats/index.js';
import { unitsOf } from './check-units.js';
import { crossingFaults, describedFaults } from './described.js';

/** Sums of the same numbers in different orders differ by rounding. */
const RELATIVE_ROUNDING = 1e-9;

/**
 * pooledProfileFaults says where a plan contradicts the profiles it was made from, with the first contradiction of each
 * partition. When a profile is missing it checks nothing, because the plan alone is enough to simulate.
 */
export function pooledProfileFaults({ models }: PooledPlan, profiles: readonly Loaded<'profile'>[]): Fault[] {
  if (profiles.length !== models.length) return [];
  const described = models.flatMap((model, m) =>
    describedFaults(model, itemAt(profiles, m).value, `/models/${m}`),
  );
  const ofPartitions = models.flatMap(({ pipelines }, m) =>
    pipelines.flatMap(({ partitions }, i) =>
      partitions.flatMap((partition, k) => {
        const { value, path } = itemAt(profiles, m);
        const isLast = k + 1 === partitions.length;
        const wrong = contradiction(partition, value, isLast);
        const at = `/models/${m}/pipelines/${i}/partitions/${k}`;
        return wrong === undefined
          ? crossingFaults(partition, value, { isLast, at })
          : [
              fault(
                `${wrong.said}, but in its profile ${path} ${wrong.profiled}: solve again`,
                `${at}${wrong.at}`,
              ),
            ];
      }),
    ),
  );
  return [...described, ...ofPartitions];
}

interface Contradiction {
  readonly at: string;
  readonly said: string;
  readonly profiled: string;
}

function contradiction(
  partition: PlannedPartition,
  profile: Profile,
  isLast: boolean,
): Contradiction | undefined {
  const { blocks, layers, device, virtual, latencyUsByBatch, transferBytes } = partition;
  const range = layers ?? blocks;
  if (range === undefined) return undefined;
  const unit = layers === undefined ? 'block' : 'layer';
  const [, end] = range;
  const there = unit === 'layer' ? (profile.layers?.length ?? 0) : profile.blocks.length;
  if (end > there) return { at: `/${unit}s`, said: `ends at ${unit} ${end}`, profiled: `there are ${there}` };
  const { blockLatencyUs, layerLatencyUs } = profile.devices[device] ?? {};
  if (blockLatencyUs?.[virtual] === undefined && layerLatencyUs?.[virtual] === undefined)
    return { at: '/device', said: `is 1/${virtual} ${device}`, profiled: 'that was not measured' };
  const units = unitsOf(partition, profile, unit);
  for (const [i, us] of latencyUsByBatch.entries()) {
    const profiled = units.latencyUs(i + 1);
    if (us === null ? profiled !== undefined : profiled === undefined || !isSame(us, profiled))
      return {
        at: `/latencyUsByBatch/${i}`,
        said: us === null ? 'was not measured' : `is ${us} µs`,
        profiled: profiled === undefined ? 'it was not measured' : `${profiled} µs`,
      };
  }
  const cutBytes = isLast ? 0 : units.cutBytes;
  if (isSame(transferBytes, cutBytes)) return undefined;
  return { at: '/transferBytes', said: `is ${transferBytes}`, profiled: `${cutBytes}` };
}

function isSame(is: number, should: number): boolean {
  return Math.abs(is - should) <= RELATIVE_ROUNDING * Math.max(1, should);
}
