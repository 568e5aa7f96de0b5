import { FilesRead, pathFrom } from '../artifacts/index.js';
import { type Fault, fault, InputError, type Loaded, type ToldFaults } from '../formats/index.js';
import type { ServedPlan } from '../plans/index.js';

/** PlanProfiles holds the profiles of a plan, one per model, or fewer where some are missing. */
export type PlanProfiles = readonly Loaded<'profile'>[];

/** FoundProfiles are the profiles of a plan, and which of them have changed since it was made. */
export interface FoundProfiles {
  readonly profiles: PlanProfiles;
  readonly changed: readonly Fault[];
}

/**
 * profilesOf loads the profiles that a plan was made from, as far as they are still at the paths it names. It leaves
 * out those that are missing, which is no fault.
 * @param told where faults of profiles that cannot be read are added
 */
export async function profilesOf(plan: Loaded<ServedPlan['kind']>, told: ToldFaults): Promise<FoundProfiles> {
  const named = (plan.value.inputs ?? []).filter(({ role }) => role === 'profile');
  const files = new FilesRead();
  const profiles: Loaded<'profile'>[] = [];
  const changed: Fault[] = [];
  for (const { path, sha256 } of named) {
    const at = pathFrom(plan.path, path);
    const profile = await files.load(at, ['profile']).catch((error: unknown) => {
      if (!(error instanceof InputError)) throw error;
      return error;
    });
    if (!(profile instanceof InputError)) profiles.push(profile);
    else if (profile.name !== 'MissingError')
      told.addAll(profile.faults.map(({ path: where, message }) => fault(message, `${at}${where}`)));
    if (!(profile instanceof InputError) && profile.sha256 !== sha256)
      changed.push(
        fault(
          `is not the profile the plan was made from: its digest is ${profile.sha256.slice(0, 12)}…, not ${sha256.slice(0, 12)}…`,
          at,
        ),
      );
  }
  return { profiles, changed };
}
