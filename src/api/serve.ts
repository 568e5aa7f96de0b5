import { type RunningServer, type ServeOptions, startServer } from '../runtime/index.js';
import { confirmBundledPlan } from '../specs/index.js';

/**
 * serveBundle serves a bundle until it is closed.
 * @throws InputError where bundle, devices or port cannot be used (with every fault of the bundle at once)
 */
export async function serveBundle(folder: string, options: ServeOptions = {}): Promise<RunningServer> {
  // A server begins without simulating: what confirms a promise was repeated when the plan was deployed.
  const confirm: ServeOptions['confirm'] = (bundle) => confirmBundledPlan(bundle, { repeats: ['search'] });
  return startServer(folder, { confirm, ...options });
}
