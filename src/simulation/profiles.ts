import type { ToldFaults } from '../artifacts/index.js';
import {
  type Fault,
  fault,
  InputError,
  type Loaded,
  loadArtifact,
  type PlannedPartition,
  type Profile,
  pathFrom,
} from '../artifacts/index.js';
import type { ServedPlan } from '../plans/index.js';

/** PlanProfiles holds the profiles of a plan, one per model, or fewer where some are missing. */
export type PlanProfiles = readonly Loaded<'profile'>[];

/**
 * profilesOf loads the profiles that a plan was made from, as far as they are still at the paths it names. It leaves
 * out those that are missing, which is no fault.
 * @param told where faults of profiles that cannot be read, or have changed since, are added; the latter are given too
 */
export async function profilesOf(plan: Loaded<ServedPlan['kind']>, told: ToldFaults): Promise<PlanProfiles> {
  const named = (plan.value.inputs ?? []).filter(({ role }) => role === 'profile');
  const profiles: Loaded<'profile'>[] = [];
  for (const { path, sha256 } of named) {
    const at = pathFrom(plan.path, path);
    const profile = await loadArtifact(at, ['profile']).catch((error: unknown) => {
      if (!(error instanceof InputError)) throw error;
      return error;
    });
    if (!(profile instanceof InputError)) profiles.push(profile);
    else if (profile.name !== 'MissingError')
      told.add(...profile.faults.map(({ path: where, message }) => fault(message, `${at}${where}`)));
    if (!(profile instanceof InputError) && profile.sha256 !== sha256)
      told.add(
        fault(
          `is not the profile the plan was made from: its digest is ${profile.sha256.slice(0, 12)}…, not ${sha256.slice(0, 12)}…`,
          at,
        ),
      );
  }
  return profiles;
}

type UnitsOf = typeof import('../checks/index.js').unitsOf;

/** Sums of the same numbers in different orders differ by rounding. */
const RELATIVE_ROUNDING = 1e-9;

/**
 * planProfileFaults says where a plan contradicts the profiles it was made from, with the first contradiction of
 * each partition. When a profile is missing it checks nothing, because the plan alone is enough to simulate.
 */
export async function planProfileFaults(plan: ServedPlan, profiles: PlanProfiles): Promise<Fault[]> {
  if (plan.kind !== 'pooled-plan') return [];
  if (profiles.length !== plan.models.length) return [];
  const { unitsOf } = await import('../checks/index.js');
  return plan.models.flatMap(({ pipelines }, m) =>
    pipelines.flatMap(({ partitions }, i) =>
      partitions.flatMap((partition, k) => {
        const { value, path } = profiles[m] as Loaded<'profile'>;
        const wrong = contradiction(partition, value, unitsOf, k + 1 === partitions.length);
        const at = `/models/${m}/pipelines/${i}/partitions/${k}`;
        return wrong === undefined
          ? []
          : [
              fault(
                `${wrong.said}, but in its profile ${path} ${wrong.profiled}: solve again`,
                `${at}${wrong.at}`,
              ),
            ];
      }),
    ),
  );
}

interface Contradiction {
  readonly at: string;
  readonly said: string;
  readonly profiled: string;
}

function contradiction(
  partition: PlannedPartition,
  profile: Profile,
  unitsOf: UnitsOf,
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
