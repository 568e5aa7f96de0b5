import { checkWritable, emittedHead, saveArtifact } from '../artifacts/index.js';
import { type EngineProfile, fault, InputError, listed, option } from '../formats/index.js';
import { type MeasureEngineOptions, measureEngine, type RemoteModel } from '../loadgen/index.js';
import { ENGINE_SCHEDULERS, engineOf } from '../serving/index.js';

/** ProfileEngineOptions says of what an engine is measured, and where its profile is written. */
export interface ProfileEngineOptions extends Omit<MeasureEngineOptions, 'onModel' | 'access'> {
  /** The file that the profile is written to; when it is left out, nothing is written. */
  readonly output?: string | undefined;
}

/**
 * profileEngine measures what an engine takes of requests' time beside its devices, at a deployment of a plan that nobody else
 * uses (`measureEngine`).
 * @param url the address of the deployment
 * @throws InputError where the server is none of an engine that a scheduler stands for, tells no executions, or does not answer;
 *   MissingError where it lacks the model
 */
export async function profileEngine(url: string, options: ProfileEngineOptions = {}): Promise<EngineProfile> {
  const { output, ...asked } = options;
  for (const name of ['requests', 'refusals'] as const) {
    const value = asked[name];
    if (value !== undefined && !(Number.isInteger(value) && value > 0))
      throw new InputError('measure an engine', [
        fault(`is ${value}; it must be a whole number above 0`, name),
      ]);
  }
  if (asked.rps !== undefined && !(Number.isFinite(asked.rps) && asked.rps > 0))
    throw new InputError('measure an engine', [
      fault(`is ${asked.rps}; it must be a number of requests above 0`, option('rps')),
    ]);
  if (output !== undefined) await checkWritable(output);
  let target = '';
  const { model, server, replicas, requestUs, hopUs, rps, ...measured } = await measureEngine(url, {
    ...asked,
    onModel: (one) => {
      target = engineServing(url, one);
    },
  });
  const profile: EngineProfile = {
    ...emittedHead('engine-profile', []),
    target,
    ingress: { replicas, requestUs: rounded(requestUs) },
    hopUs: rounded(hopUs),
    measurement: {
      ...(server === undefined ? {} : { server }),
      ...measured,
      ...(rps === undefined ? {} : { rps: rounded(rps) }),
      ...(model.planSha256 === undefined ? {} : { planSha256: model.planSha256 }),
    },
  };
  if (output !== undefined) await saveArtifact<'engine-profile'>(output, profile);
  return profile;
}

/** engineServing gives the engine that serves a model. @throws InputError where no scheduler stands for it */
function engineServing(url: string, { name, serving }: RemoteModel): string {
  const engine = serving === undefined ? undefined : engineOf(serving.scheduler);
  if (engine !== undefined) return engine;
  const said =
    serving === undefined ? 'does not say how it schedules' : `runs the scheduler ${serving.scheduler}`;
  const known = `engines are known by the schedulers ${listed(Object.keys(ENGINE_SCHEDULERS))}`;
  throw new InputError(`measure the engine at ${url}`, [fault(`${said}; ${known}`, name)]);
}

function rounded(us: number): number {
  return Math.round(10 * us) / 10;
}
