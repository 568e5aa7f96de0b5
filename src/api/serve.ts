import type { PlanChecks } from '../formats/index.js';
import { type RunningServer, type ServeOptions, startServer } from '../runtime/index.js';
import { confirmBundledPlan, refuseUnchecked, type Strictness } from '../specs/index.js';

/** ServeBundleOptions adds what is asked of the plan of a bundle. */
export interface ServeBundleOptions extends ServeOptions, Strictness {
  /** Receives against what the plan was checked, before a device is started. */
  readonly onChecked?: (checks: PlanChecks) => void;
}

/**
 * serveBundle serves a bundle until it is closed.
 * @throws InputError where bundle, devices or port cannot be used (with every fault of the bundle at once), or the plan is
 *   to be checked against all that it was made from and is not
 */
export async function serveBundle(folder: string, options: ServeBundleOptions = {}): Promise<RunningServer> {
  // A server begins without simulating: what confirms a promise was repeated when the plan was deployed.
  const confirm: ServeOptions['confirm'] = async (bundle) => {
    const confirmed = await confirmBundledPlan(bundle, { repeats: ['search'] });
    refuseUnchecked(`serve ${folder}`, confirmed, options);
    options.onChecked?.(confirmed.checks);
  };
  return startServer(folder, { confirm, ...options });
}
