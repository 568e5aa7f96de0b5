import {
  type CascadeSpec,
  decodedText,
  emittedHead,
  everyInput,
  type Fault,
  FilesRead,
  firstFaults,
  type GearPlan,
  InputError,
  type InputFile,
  type InputPath,
  inputFile,
  type Loaded,
  type NoPlan,
  type OpenCluster,
  option,
  outputFiles,
  type Profile,
  type ProfileFigures,
  pathFrom,
  profileInputs,
  readWhole,
  refuseReplacing,
  saveArtifact,
  sha256Of,
  withOwnFaults,
} from '../../artifacts/index.js';
import { countedPlan } from '../../checks/index.js';
import type { CascadeFiles, GearExplanation, LoadPoint, ResolvedCascade } from '../../gearplan/index.js';
import type { FamilyRecords } from '../../records/index.js';
import { hereNotes, serverNotes } from '../core-notes.js';
import { refuseMarked } from '../refuse-marked.js';
import type { GearJob, PlannedGears } from './cascade-worker.js';
import { gearServing } from './gear-simulation.js';

/** Longer distributions are taken for a mistake. */
const MOST_DISTRIBUTION_BYTES = 16 * 1024 * 1024;

/** LoadedCascade is a cascade's spec, read with all files that it names, checked and resolved. */
export interface LoadedCascade {
  readonly spec: Loaded<'cascade'>;
  readonly files: CascadeFiles;
  readonly resolved: ResolvedCascade;
  /** The files that were read or named. No output may replace them. */
  readonly read: readonly InputPath[];
  /** inputs lists the files of a plan, with the profiles of the models that it uses: of all where none are named. */
  inputs(holder: string | undefined, used?: readonly string[]): InputFile[];
}

/** CascadeSolving is how a search is stopped and shown. */
interface CascadeSolving {
  /** How many gears may be simulated for a plan, before the search ends with what it has. */
  readonly work?: number | undefined;
  /** The time in seconds after which the search ends. A plan whose search it ends says `reproducible: false`. */
  readonly timeLimit?: number | undefined;
  /** Adds what one device more would bring. */
  readonly explain?: boolean | undefined;
  /** Adds the accuracy that fewer and more devices and other latencies would give. */
  readonly frontier?: boolean | undefined;
  /** Whether to refuse profiles with unfit, emulated or imported figures that the plan could use. */
  readonly strictProfile?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((doing: string) => void) | undefined;
  /** Receives a note where this host measured the devices and has too few cores to run all that the plan uses. */
  readonly onNote?: ((text: string) => void) | undefined;
}

/** CascadeSolved is the answer of `plan solve` to a cascade. `document` is what `--json` prints. */
export type CascadeSolved =
  | {
      readonly outcome: 'gear-plan';
      readonly plan: GearPlan;
      readonly warnings: readonly string[];
      /** Whether the search did all the work that it was allowed, and proved nothing. */
      readonly limitReached: boolean;
      readonly explanation?: GearExplanation;
      readonly document: GearPlan & { solver: NoPlan['solver']; explanation?: GearExplanation };
    }
  | {
      readonly outcome: 'infeasible';
      readonly reasons: readonly string[];
      readonly explanation?: undefined;
      readonly document: NoPlan;
    }
  | {
      readonly outcome: 'no-plan-in-time';
      readonly notHeld?: undefined;
      /** What may decide whether there is a plan, where the search left that open. */
      readonly advice: string;
      /** Why no plan was found, as far as simulations say it. */
      readonly reasons: readonly string[];
      readonly document: NoPlan;
    };

/**
 * solveCascade answers a spec of kind `cascade`, and writes the plan where an output is named. The search runs on its
 * own thread.
 * @throws InputError with every fault of the spec and its files, where the output would replace one of these, or as
 *   `refuseMarked` does where `strictProfile` is asked for; MissingError where files are only missing
 */
export async function solveCascade(
  spec: Loaded<'cascade'>,
  { output, ...options }: CascadeSolving & { readonly output?: string | undefined },
): Promise<CascadeSolved> {
  const loaded = await loadCascade(spec.path, spec);
  await refuseReplacing(`solve ${spec.path}`, outputFiles({ output }), loaded.read);
  if (options.strictProfile) refuseMarked(spec.path, await cascadeFigures(loaded));
  const startedMs = performance.now();
  const { answer, explanation, timeOver = false } = await planned(loaded, options);
  const solver = {
    ms: performance.now() - startedMs,
    phases: {},
    columns: 0,
    rounds: 0,
    nodes: answer.trials,
  };
  if (answer.status === 'infeasible')
    return {
      outcome: 'infeasible',
      reasons: answer.reasons.map(({ text }) => text),
      document: {
        ...emittedHead('no-plan', loaded.inputs(undefined)),
        ...{ status: 'infeasible', reasons: answer.reasons, solver },
        models: noPlanModels(spec.value, answer.feasibleLatencyMs),
      },
    };
  if (answer.status === 'undecided') {
    const { reasons = [], feasibleLatencyMs } = answer;
    const limit = options.signal?.aborted ? 'interrupted' : timeOver ? 'time' : 'work';
    const isEnded = reasons.length === 0 || limit !== 'work';
    return {
      outcome: 'no-plan-in-time',
      advice: adviceFor(spec.value, timeOver),
      reasons: reasons.map(({ text }) => text),
      document: {
        ...emittedHead('no-plan', loaded.inputs(undefined)),
        ...{ status: 'no-plan-in-time', ...(isEnded ? { limit } : {}), reasons, solver },
        models: noPlanModels(spec.value, feasibleLatencyMs),
      },
    };
  }
  const search = {
    ...(options.signal?.aborted || timeOver ? { reproducible: false } : {}),
    ...(options.work === undefined ? {} : { work: options.work }),
  };
  const plan = countedPlan(await gearPlanOf(answer.plan, loaded, { holder: output, search }));
  for (const note of await hereNotes(plan.classes, profilesOf(loaded))) options.onNote?.(note);
  if (output !== undefined) await saveArtifact<'gear-plan'>(output, plan);
  const more = explanation === undefined ? {} : { explanation };
  return {
    ...{ outcome: 'gear-plan', plan, warnings: plan.notes ?? [] },
    limitReached:
      plan.status !== 'optimal' &&
      (timeOver || (options.work !== undefined && answer.trials >= options.work)),
    ...more,
    document: { ...plan, solver, ...more },
  };
}

/** adviceFor says what may decide a question that a search left open. */
function adviceFor({ planner }: CascadeSpec, timeOver: boolean): string {
  if (timeOver) return `allow more with ${option('timeLimit')}`;
  const other =
    planner.method === 'exhaustive' ? '' : ', or let planner.method: exhaustive try every cascade';
  return `allow more with ${option('work')}${other}`;
}

function profilesOf({ files }: LoadedCascade): Profile[] {
  return files.profiles.map(({ profile }) => profile);
}

type GearPlanBody = Extract<PlannedGears['answer'], { readonly plan: unknown }>['plan'];

/**
 * gearPlanOf puts the head of a file before a plan, and adds how its search was ended, and the note on CPUs for which a
 * server has too few cores.
 */
async function gearPlanOf(
  { name, method, notes: own = [], status, objective, ...rest }: GearPlanBody,
  loaded: LoadedCascade,
  {
    holder,
    search,
  }: { readonly holder: string | undefined; readonly search: Pick<GearPlan, 'work' | 'reproducible'> },
): Promise<GearPlan> {
  const notes = [...own, ...(await serverNotes(loaded.files.cluster, profilesOf(loaded)))];
  const used = rest.stages.map((stage) => stage.name);
  return {
    ...emittedHead('gear-plan', loaded.inputs(holder, used)),
    ...{ name, method, ...(notes.length === 0 ? {} : { notes }), status, ...search, objective },
    serving: gearServing(loaded.spec.value),
    ...rest,
  };
}

/** cascadeFigures names the figures of each model that a plan could be made of. */
async function cascadeFigures({
  resolved,
  files,
}: Pick<LoadedCascade, 'resolved' | 'files'>): Promise<ProfileFigures[]> {
  const { familyFigures } = await import('../../gearplan/index.js');
  return familyFigures(resolved, files);
}

function noPlanModels(
  { name = 'cascade', slo }: CascadeSpec,
  feasibleMs: number | undefined,
): NoPlan['models'] {
  if (slo.latencyMs === undefined) return [];
  return [{ name, sloMs: slo.latencyMs, ...(feasibleMs === undefined ? {} : { feasibleSloMs: feasibleMs }) }];
}

async function planned(
  { spec, files, resolved }: LoadedCascade,
  { explain = false, frontier = false, work, timeLimit, signal, onProgress }: CascadeSolving,
): Promise<PlannedGears> {
  const { JobPool } = await import('../../jobs/index.js');
  const pool = new JobPool<GearJob, PlannedGears, string>('#dist/src/specs/cascade/cascade-worker.js', {
    ...{ what: 'planner', threads: 1, signal },
  });
  try {
    const job = { spec: spec.value, files, resolved, explain, frontier, work, timeLimit };
    return await pool.run(job, (doing) => onProgress?.(doing));
  } finally {
    await pool.close();
  }
}

/** replannedGears plans a cascade again, with the work that a plan had; undefined where there is no plan. */
export async function replannedGears(
  { work }: Pick<GearPlan, 'work'>,
  loaded: LoadedCascade,
): Promise<import('../../gearplan/index.js').GearPlanBody | undefined> {
  const { answer } = await planned(loaded, { work });
  return 'plan' in answer ? answer.plan : undefined;
}

/** evaluatedGearFaults finds what in a plan does not follow from what it chose, without a search (see `evaluatedFaults`). */
export async function evaluatedGearFaults(
  plan: GearPlan,
  { spec, files, resolved }: LoadedCascade,
): Promise<Fault[]> {
  const { evaluatedFaults } = await import('../../gearplan/index.js');
  const { gearArrivals } = await import('./gear-arrivals.js');
  return evaluatedFaults(plan, { spec: spec.value, files, resolved, arrivalsOf: gearArrivals() });
}

/**
 * loadCascade reads a cascade's spec with its cluster, profiles, records and distribution of loads, and resolves it.
 * @param known the spec, where it was read before
 * @param readBefore other files that were read before
 * @throws InputError with every fault of the spec, of the files that it names, and of how they fit together;
 *   MissingError where files are only missing
 */
export async function loadCascade(
  path: string,
  known?: Loaded<'cascade'>,
  readBefore = new FilesRead(),
): Promise<LoadedCascade> {
  const spec = known ?? (await readBefore.load(path, ['cascade']));
  const { cascadeSpecFaults, resolveCascade } = await import('../../gearplan/index.js');
  const { servingFaults } = await import('../../plans/index.js');
  const task = `plan ${path}`;
  const serving = servingFaults(spec.value);
  const own = [...cascadeSpecFaults(spec.value), ...serving];
  const read = await withOwnFaults(task, filesOf(spec, readBefore), () => own);
  const { cluster, profiles, records, distribution } = read;
  const names = spec.value.models.map(({ name }) => name);
  const files: CascadeFiles = {
    cluster: cluster.value,
    profiles: profiles.map(({ value, path: at }) => ({ profile: value, path: at })),
    records: records.value,
    ...(distribution === undefined ? {} : { distribution: distribution.value }),
  };
  const outcome = resolveCascade(spec.value, files);
  const faults = [...('faults' in outcome ? outcome.faults : []), ...serving];
  if (!('resolved' in outcome) || faults.length > 0) throw new InputError(task, firstFaults(faults));
  return {
    ...{ spec, files, resolved: outcome.resolved },
    read: [
      { what: 'the spec', path },
      ...(cluster.file ? [{ what: 'the cluster of the spec', path: cluster.file.path }] : []),
      { what: 'the records of the spec', path: records.path },
      ...(distribution ? [{ what: 'the distribution of the spec', path: distribution.path }] : []),
      ...profiles.flatMap((profile) => profileInputs(profile, 'a profile of the spec')),
    ],
    inputs: (holder, used = spec.value.models.map(({ name }) => name)) => [
      inputFile('spec', spec, holder),
      ...(cluster.file ? [inputFile('cluster', cluster.file, holder)] : []),
      inputFile('records', records, holder),
      ...(distribution ? [inputFile('distribution', distribution, holder)] : []),
      ...used.map((name) => inputFile('profile', profiles[names.indexOf(name)] as Loaded<'profile'>, holder)),
    ],
  };
}

/** TextFile is what a file of text was read as. */
interface TextFile<T> {
  readonly value: T;
  readonly path: string;
  readonly sha256: string;
}

interface CascadeFilesRead {
  readonly cluster: { readonly value: OpenCluster; readonly file?: Loaded<'cluster'> };
  readonly profiles: readonly Loaded<'profile'>[];
  readonly records: TextFile<FamilyRecords>;
  readonly distribution: TextFile<readonly LoadPoint[]> | undefined;
}

async function filesOf(spec: Loaded<'cascade'>, files: FilesRead): Promise<CascadeFilesRead> {
  const { cluster, models, records, load } = spec.value;
  const { classLimitOf, MOST_RECORD_BYTES, recordsOf } = await import('../../records/index.js');
  const { distributionOf } = await import('../../gearplan/index.js');
  const names = models.map(({ name }) => name);
  const { distribution = 'zipf' } = load;
  const reading = models.map(({ profile }) => files.load(pathFrom(spec.path, profile), ['profile']));
  // Profiles that cannot be read are told below, and say nothing of classes.
  const classLimit = Promise.allSettled(reading).then((read) =>
    classLimitOf(
      read.flatMap((one, i) => {
        const { name, output } = models[i] as CascadeSpec['models'][number];
        return one.status === 'rejected' ? [] : [{ name, outputs: one.value.value.model.outputs, output }];
      }),
    ),
  );
  const [clusterRead, recordsRead, distributionRead, ...profiles] = await everyInput<
    [
      CascadeFilesRead['cluster'],
      CascadeFilesRead['records'],
      CascadeFilesRead['distribution'],
      ...Loaded<'profile'>[],
    ]
  >(`use the files that ${spec.path} names`, [
    typeof cluster === 'string'
      ? files.load(pathFrom(spec.path, cluster), ['cluster']).then((file) => ({ value: file.value, file }))
      : Promise.resolve({ value: cluster }),
    textFile(pathFrom(spec.path, records), MOST_RECORD_BYTES, async (text) => {
      const found = recordsOf(text, names, await classLimit);
      return 'faults' in found ? found : { value: found };
    }),
    distribution === 'zipf' || distribution === 'uniform'
      ? Promise.resolve(undefined)
      : textFile(pathFrom(spec.path, distribution), MOST_DISTRIBUTION_BYTES, (text) => {
          const found = distributionOf(text);
          return 'faults' in found ? found : { value: found.points };
        }),
    ...reading,
  ]);
  return { cluster: clusterRead, records: recordsRead, distribution: distributionRead, profiles };
}

type Made<T> = { readonly value: T } | { readonly faults: readonly Fault[] };

/** textFile reads a file, and makes a value of its text. */
async function textFile<T>(
  path: string,
  mostBytes: number,
  made: (text: string) => Made<T> | Promise<Made<T>>,
): Promise<TextFile<T>> {
  const bytes = await readWhole(path, mostBytes);
  const found = await made(decodedText(bytes, path));
  if ('faults' in found) throw new InputError(`read ${path}`, firstFaults(found.faults));
  return { value: found.value, path, sha256: sha256Of(bytes) };
}
