import { inputFile, loadArtifact } from '../artifacts/index.js';
import {
  engineFigures,
  fault,
  InputError,
  type Loaded,
  option,
  type PlanServing,
  toldBeyond,
} from '../formats/index.js';
import type { ServedPlan } from '../plans/index.js';
import type { AnySpec } from './every-fault.js';
import type { SolveOptions } from './solve-options.js';
import type { LoadedSpec } from './spec-of.js';

/** EngineFile is an engine profile that was read. */
export type EngineFile = Loaded<'engine-profile'>;

/** engineFile reads the engine profile that the options name. */
export async function engineFile({ engine }: Pick<SolveOptions, 'engine'>): Promise<EngineFile | undefined> {
  return engine === undefined ? undefined : loadArtifact(engine, ['engine-profile']);
}

/** madeWith adds an engine profile to the files from which plans of a spec are made. */
export function madeWith<L extends LoadedSpec>(loaded: L, profile: EngineFile | undefined): L {
  if (profile === undefined) return loaded;
  const inputs: typeof loaded.inputs = (holder, ...more: []) => [
    ...loaded.inputs(holder, ...more),
    inputFile('engine-profile', profile, holder),
  ];
  return { ...loaded, inputs, read: [...loaded.read, { what: 'the engine profile', path: profile.path }] };
}

/**
 * forEngine gives a spec as it would be if it named the scheduler of another engine, as the options ask for. Choices of the
 * spec's own scheduler do not count then.
 * @throws InputError where an engine profile is of another engine, where the spec has a tuner, which no engine runs, or where
 *   there is a profile and no engine
 */
export async function forEngine<S extends AnySpec>(
  spec: S,
  { for: scheduler }: Pick<SolveOptions, 'for'>,
  profile: EngineFile | undefined,
): Promise<S> {
  if (scheduler === undefined && profile === undefined) return spec;
  const named = scheduler ?? spec.value.serving?.scheduler;
  const engine = profile && engineFigures(profile.value);
  const { engineFaults } = await import('../plans/index.js');
  const tuner = tunerOf(spec);
  const faults = [
    ...(engine === undefined ? [] : engineFaults(engine, named ?? "the spec's own", option('engine'))),
    ...(scheduler === undefined || tuner === undefined
      ? []
      : [fault(`is for engines that run no tuner, and the spec has ${tuner}: take it out`, option('for'))]),
  ];
  if (faults.length > 0) throw new InputError(`solve ${spec.path}`, faults);
  const serving = {
    ...spec.value.serving,
    scheduler: named as string,
    ...(engine === undefined ? {} : { engine }),
  };
  return served(spec, scheduler === undefined ? serving : byAnother(serving, scheduler));
}

/**
 * asPlannedFor gives a spec as it was when a plan was made for another engine, where the plan names a
 * scheduler that stands for one. Only the plan says which engine it was; the engine's figures are in its
 * profile.
 */
export async function asPlannedFor<S extends AnySpec>(
  spec: S,
  serving: PlanServing | undefined,
  profile: EngineFile | undefined,
): Promise<S> {
  if (serving === undefined) return spec;
  const { engineOf } = await import('../serving/index.js');
  const { scheduler } = serving;
  if (engineOf(scheduler) === undefined) return spec;
  const own = spec.value.serving;
  const named = own?.scheduler === scheduler ? own : byAnother({ ...own, scheduler }, scheduler);
  return served(spec, {
    ...named,
    ...(profile === undefined ? {} : { engine: engineFigures(profile.value) }),
  });
}

/** ingressNotes says of a plan that it plans more requests than the ingress of its engine passes, which no device can mend. */
export async function ingressNotes(plan: ServedPlan): Promise<string[]> {
  const { engine } = plan.serving ?? {};
  if (engine === undefined || engine.ingress.requestUs === 0) return [];
  const { applicationsOf } = await import('../plans/index.js');
  const { replicas, requestUs } = engine.ingress;
  const mostRps = (1e6 * replicas) / requestUs;
  const rps = applicationsOf(plan).reduce((sum, { throughputRps }) => sum + throughputRps, 0);
  if (rps <= mostRps) return [];
  const [planned, most] = toldBeyond(rps, mostRps);
  return [
    `${planned} requests/s are planned, and the ingress of ${engine.target} passes ${most}: give it more replicas`,
  ];
}

/** byAnother names another scheduler, for which the choices of the first are not meant. */
function byAnother({ policy: _, ...serving }: PlanServing, scheduler: string): PlanServing {
  return { ...serving, scheduler };
}

function served<S extends AnySpec>(spec: S, serving: PlanServing): S {
  return { ...spec, value: { ...spec.value, serving } };
}

/** tunerOf gives the tuner of a spec, which stands beside its serving or in it. */
function tunerOf({ value }: AnySpec): string | undefined {
  const { tuner: own, serving }: { tuner?: string; serving?: PlanServing } = value;
  const tuner = own ?? serving?.tuner?.kind;
  return tuner === 'none' ? undefined : tuner;
}
