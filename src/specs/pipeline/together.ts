import { mkdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import {
  checkWritable,
  emittedHead,
  everyInput,
  FilesRead,
  loadSpec,
  outputFiles,
  refuseReplacing,
  saveArtifact,
} from '../../artifacts/index.js';
import { itemAt } from '../../collections/index.js';
import {
  type Fault,
  fault,
  InputError,
  type NoPlan,
  type NoPlanReason,
  type OpenCluster,
  option,
  type PipelinePlan,
  type PlanSet,
  pipelineMethodOf,
} from '../../formats/index.js';
import {
  costProof,
  isLinked,
  type PartAnswer,
  type PlannedOpen,
  planningProblemOf,
  planTogether,
  type TogetherOutcome,
  takenOver,
} from '../../inferline/index.js';
import { JobPool } from '../../jobs/index.js';
import {
  freeCounts,
  openFigures,
  pipelineServing,
  resolveOpen,
  servesInOrder,
} from '../../pipeline/index.js';
import type { PipelinePlanBody } from '../../plans/index.js';
import { hereNotes, serverNotes } from '../core-notes.js';
import { usedOrTold } from '../every-fault.js';
import { refuseMarked } from '../refuse-marked.js';
import type { TogetherOptions, TogetherSolved } from '../together-options.js';
import { type LoadedPipeline, loadPipeline, noPlanModelsOf, pipelineNotes, profilesIn } from './pipeline.js';
import { pipelinePlan } from './plan-file.js';
import { type PlanningJob, planningTools } from './planning-job.js';
import { plannedStandby } from './standby.js';

/** Each search takes up to the estimates that a pipeline alone may take. */
const MOST_SOLVES = 200;

/** planSeveral plans several pipelines, as `solveTogether` says. */
export async function planSeveral(
  paths: readonly string[],
  { output, strictProfile, ...options }: TogetherOptions,
): Promise<TogetherSolved> {
  const task = `plan ${paths.length} pipelines together`;
  const read = new FilesRead();
  const loaded = await everyInput<LoadedPipeline[]>(
    task,
    paths.map((path) => usedOrTold(path, loadSpec(path, ['pipeline']), (spec) => loadPipeline(spec, read))),
  );
  const faults = unlikeFaults(loaded);
  if (faults.length > 0) throw new InputError(task, faults);
  const files = loaded.map((one) =>
    output === undefined ? undefined : join(output, `${nameOf(one)}.plan.json`),
  );
  const isMade = output === undefined || (await checkFolder(task, output));
  const inputs = loaded.flatMap(({ read }) => read);
  for (const file of files) {
    if (file === undefined) continue;
    if (isMade) await checkWritable(file);
    await refuseReplacing(task, outputFiles({ output: file }), inputs);
  }
  const startedMs = performance.now();
  if (strictProfile)
    refuseMarked(
      paths.join(', '),
      loaded.flatMap(({ open, files }) => (open === undefined ? [] : openFigures(open, files))),
    );
  const { outcome, solves, reasonsAlone, openAlone, isTimed } = await searched(loaded, options);
  const solver = { ms: performance.now() - startedMs, phases: {}, columns: 0, rounds: solves, nodes: 0 };
  if (outcome.status !== 'feasible') {
    const reasons =
      outcome.status === 'infeasible'
        ? togetherReasons(loaded, outcome, { free: freeIn(loaded), reasonsAlone })
        : [...openAlone].flatMap(([k, found]) => ofPipeline(loaded, k, found));
    const limit = options.signal?.aborted ? 'interrupted' : isTimed ? 'time' : 'work';
    const warnings = loaded.flatMap((one) => pipelineNotes(one).map((note) => `${nameOf(one)}: ${note}`));
    const document: NoPlan = {
      ...emittedHead('no-plan', inputsOf(loaded)),
      ...statusOf(outcome, limit),
      reasons,
      ...(warnings.length === 0 ? {} : { notes: warnings }),
      models: loaded.flatMap(({ spec }) => noPlanModelsOf(spec.value, [])),
      solver,
    };
    return { outcome: document.status, reasons: reasons.map(({ text }) => text), warnings, document };
  }
  const bodies = outcome.parts.map((part) => (part as { plan: PipelinePlanBody }).plan);
  const made = await plansWithShares(loaded, bodies, files);
  const plans = isTimed ? made.map((one) => ({ ...one, reproducible: false })) : made;
  if (output !== undefined) await mkdir(output, { recursive: true });
  for (const [k, file] of files.entries())
    if (file !== undefined) await saveArtifact<'pipeline-plan'>(file, itemAt(plans, k));
  const isLimited = options.work !== undefined || options.timeLimit !== undefined;
  const document = planSet(loaded, plans, { ...outcome, files });
  for (const note of await hereNotes(usedByAll(plans), loaded.flatMap(profilesIn))) options.onNote?.(note);
  return { outcome: 'plan-set', plans, limitReached: isLimited && !outcome.finished, document };
}

/**
 * checkFolder checks whether a folder could be made, and makes nothing: a search that finds no plan leaves no trace.
 * @returns whether the folder is there already
 * @throws InputError where it is a file, or cannot be made
 */
async function checkFolder(task: string, output: string): Promise<boolean> {
  const found = await stat(output).catch(() => undefined);
  if (found?.isDirectory()) return true;
  if (found !== undefined)
    throw new InputError(task, [fault(`${output} is a file; name a folder for the plans`, option('output'))]);
  let missing = resolve(output);
  while ((await stat(dirname(missing)).catch(() => undefined)) === undefined) missing = dirname(missing);
  await checkWritable(missing);
  return false;
}

/** statusOf is what an answer without plans claims: nothing is infeasible that some scheduler might serve. */
function statusOf(
  outcome: Exclude<TogetherOutcome<unknown>, { status: 'feasible' }>,
  limit: NoPlan['limit'],
): Pick<NoPlan, 'status' | 'limit'> {
  if (outcome.status === 'undecided') return { status: 'no-plan-in-time', ...(limit && { limit }) };
  return { status: outcome.isProved ? 'infeasible' : 'no-plan-in-time' };
}

/** freeIn lists the devices that the pipelines share, by class. */
function freeIn([first]: readonly LoadedPipeline[]): Record<string, number> {
  return freeCounts((first as LoadedPipeline).files.cluster);
}

const nameOf = ({ spec }: LoadedPipeline): string => spec.value.name ?? 'pipeline';

function unlikeFaults(loaded: readonly LoadedPipeline[]): Fault[] {
  const [first] = loaded;
  return loaded.flatMap((one, k) => {
    const { path, value } = one.spec;
    const method = pipelineMethodOf(value);
    const twin = loaded.slice(0, k).find((other) => nameOf(other) === nameOf(one));
    return [
      ...(method === 'inferline' || method === 'exact'
        ? []
        : [
            fault(
              `is ${method}; pipelines are planned together by inferline or exact`,
              `${path}#/planner/method`,
            ),
          ]),
      ...(twin === undefined
        ? []
        : [
            fault(
              `is ${nameOf(one)}, as that of ${twin.spec.path}; give each pipeline its own`,
              `${path}#/name`,
            ),
          ]),
      ...(JSON.stringify(one.files.cluster) === JSON.stringify(first?.files.cluster)
        ? []
        : [fault(`is another cluster than that of ${first?.spec.path}`, `${path}#/cluster`)]),
    ];
  });
}

/** searched plans the pipelines on a thread, one search after another. */
async function searched(
  loaded: readonly LoadedPipeline[],
  { work, timeLimit, signal, onProgress }: Omit<TogetherOptions, 'output' | 'strictProfile'>,
) {
  const endMs = performance.now() + 1e3 * (timeLimit ?? Number.POSITIVE_INFINITY);
  const pool = new JobPool<PlanningJob, PlannedOpen, number>('#dist/src/specs/pipeline/pipeline-worker.js', {
    what: 'planner',
    threads: 1,
    signal,
  });
  let [solves, cut, isTimed] = [0, false, false];
  const free = freeIn(loaded);
  const reasonsAlone = new Map<number, readonly NoPlanReason[]>();
  // The reasons why a pipeline that had all devices has no plan.
  const openAlone = new Map<number, readonly NoPlanReason[]>();
  const solve = async (
    k: number,
    counts: Readonly<Record<string, number>>,
  ): Promise<PartAnswer<PipelinePlanBody>> => {
    const one = itemAt(loaded, k);
    const leftS = timeLimit === undefined ? undefined : Math.max(0, (endMs - performance.now()) / 1e3);
    // A reported SLO is that of a pipeline alone, with all devices.
    const tellsSlo = Object.entries(free).every(([name, count]) => counts[name] === count);
    const job = { ...jobWithin(one, counts), work, timeLimit: leftS, tellsSlo };
    onProgress?.(`planning ${nameOf(one)}, search ${++solves}`);
    const answer = await pool.run(job);
    if (answer.status !== 'feasible') {
      cut ||= answer.status === 'undecided';
      if (answer.status === 'undecided' && tellsSlo) openAlone.set(k, answer.reasons);
      isTimed ||= answer.status === 'undecided' && answer.limit === 'time';
      if (answer.status === 'undecided') return { status: answer.status };
      if (!reasonsAlone.has(k)) reasonsAlone.set(k, answer.reasons);
      return { status: answer.status, isProved: answer.isProved };
    }
    cut ||= !answer.finished;
    const { plan } = answer;
    isTimed ||= plan.reproducible === false;
    const { value = 0, bound = 0 } = plan.objective ?? {};
    return { status: 'feasible', part: { plan, used: usedBy(plan), hourlyCost: value, lowerBound: bound } };
  };
  try {
    const found = await planTogether<PipelinePlanBody>({
      pipelines: loaded.length,
      counts: free,
      solve,
      prove: loaded.every(isProvable),
      mostSolves: MOST_SOLVES,
      stop: () => {
        isTimed ||= signal?.aborted === true || performance.now() >= endMs;
        return isTimed;
      },
    });
    const outcome = found.status === 'feasible' ? { ...found, finished: found.finished && !cut } : found;
    return { outcome, solves, reasonsAlone, openAlone, isTimed };
  } finally {
    await pool.close();
  }
}

/**
 * isProvable says whether the bound of a pipeline comes near its cost. Where batches may wait for links, or are served otherwise
 * than in order of arrival, it does not, however long one searches.
 */
function isProvable({ spec: { value: spec }, open }: LoadedPipeline): boolean {
  if (pipelineMethodOf(spec) !== 'exact' || !servesInOrder(pipelineServing(spec))) return false;
  return open !== undefined && !isLinked(planningProblemOf(open));
}

/** usedBy counts the devices that a plan uses, by class. */
function usedBy({ classes }: Pick<PipelinePlanBody, 'classes'>): Record<string, number> {
  return Object.fromEntries(Object.entries(classes).map(([name, { used }]) => [name, used]));
}

function jobWithin(
  { spec, files, trace }: LoadedPipeline,
  counts: Readonly<Record<string, number>>,
): PlanningJob {
  const within = { ...files, cluster: withCounts(files.cluster, counts) };
  const { problem, faults } = resolveOpen(spec.value, within);
  if (problem === undefined) throw new InputError(`plan ${spec.path} with other counts`, faults);
  return { open: problem, spec: spec.value, files: within, trace };
}

/** withCounts gives the classes that have a limit a given number of devices, of which none is taken. */
function withCounts(cluster: OpenCluster, counts: Readonly<Record<string, number>>): OpenCluster {
  const devices = Object.entries(cluster.devices).map(([name, device]) => {
    if (device.count === undefined) return [name, device] as const;
    const { taken: _, ...rest } = device;
    return [name, { ...rest, count: counts[name] ?? 0 }] as const;
  });
  return { ...cluster, devices: Object.fromEntries(devices) };
}

/** plansWithShares makes the plan of each pipeline again with its share of the devices. */
async function plansWithShares(
  loaded: readonly LoadedPipeline[],
  bodies: readonly PipelinePlanBody[],
  files: readonly (string | undefined)[],
): Promise<PipelinePlan[]> {
  const shares = sharesOf(loaded, bodies, freeIn(loaded));
  const plans: PipelinePlan[] = [];
  for (const [k, one] of loaded.entries()) {
    const others = loaded.filter((other) => other !== one).map(nameOf);
    const share = { counts: itemAt(shares, k), others };
    plans.push(await planWithShare(one, itemAt(bodies, k), { share, file: files[k] }));
  }
  return plans;
}

/**
 * sharesOf divides the devices among pipelines: each has those that it uses. Devices of a class that no
 * pipeline uses are divided evenly among the pipelines that use the class and have a tuner, which may
 * activate them.
 */
function sharesOf(
  loaded: readonly LoadedPipeline[],
  bodies: readonly PipelinePlanBody[],
  free: Readonly<Record<string, number>>,
): Record<string, number>[] {
  const shares = bodies.map(usedBy);
  for (const [name, count] of Object.entries(free)) {
    const tuned = shares.filter((used, k) => (used[name] ?? 0) > 0 && hasTuner(itemAt(loaded, k)));
    const left = count - shares.reduce((sum, used) => sum + (used[name] ?? 0), 0);
    for (const [k, share] of tuned.entries())
      share[name] = (share[name] ?? 0) + Math.floor((left + k) / tuned.length);
  }
  return shares;
}

function hasTuner({ spec }: LoadedPipeline): boolean {
  return (pipelineServing(spec.value).tuner?.kind ?? 'none') !== 'none';
}

/** planWithShare makes the plan of a pipeline again in a cluster that has only the devices of its share. */
async function planWithShare(
  loaded: LoadedPipeline,
  body: PipelinePlanBody,
  {
    share,
    file,
  }: {
    readonly share: { readonly counts: Record<string, number>; readonly others: string[] };
    readonly file: string | undefined;
  },
): Promise<PipelinePlan> {
  const job = jobWithin(loaded, share.counts);
  const made = await takenOver(body, { ...job, ...planningTools(job) }, body.objective?.bound ?? 0);
  if (made === undefined) throw new Error(`the plan of ${loaded.spec.path} does not hold with its share`);
  const notes = await serverNotes(loaded.files.cluster, profilesIn(loaded));
  const plan = await pipelinePlan(made, loaded, { holder: file, notes });
  const tuned = await plannedStandby(plan, { spec: loaded.spec.value, trace: loaded.trace });
  return { ...tuned, share: { with: share.others } };
}

/** ofPipeline names the pipeline that reasons are about. */
function ofPipeline(
  loaded: readonly LoadedPipeline[],
  k: number,
  reasons: readonly NoPlanReason[],
): NoPlanReason[] {
  const name = nameOf(itemAt(loaded, k));
  return reasons.map((one) => ({ ...one, model: name, text: `${name}: ${one.text}` }));
}

function togetherReasons(
  loaded: readonly LoadedPipeline[],
  { isProved, alone, missing }: Extract<TogetherOutcome<unknown>, { status: 'infeasible' }>,
  {
    free,
    reasonsAlone,
  }: {
    readonly free: Readonly<Record<string, number>>;
    readonly reasonsAlone: ReadonlyMap<number, readonly NoPlanReason[]>;
  },
): NoPlanReason[] {
  if (alone.length > 0) return alone.flatMap((k) => ofPipeline(loaded, k, reasonsAlone.get(k) ?? []));
  const inOrder = isProved ? '' : ' that is served in order of arrival; of other schedulers it is not known';
  const reasons = Object.entries(missing).map(([name, more]): NoPlanReason => {
    const text = `each pipeline has a plan alone, and together they have none${inOrder}: there are ${free[name]} ${name}, and with ${more} more there is a plan`;
    return {
      code: 'too-few-gpus',
      class: name,
      available: { [name]: free[name] as number },
      missing: { [name]: more },
      text,
    };
  });
  if (reasons.length > 0) return reasons;
  const text = `each pipeline has a plan alone, and together they have none${inOrder}, with more GPUs of any one class either`;
  return [{ code: 'too-few-gpus', available: free, text }];
}

/** usedByAll counts the devices that several plans use, by class. */
function usedByAll(plans: readonly PipelinePlan[]): Record<string, { used: number }> {
  const all: Record<string, { used: number }> = {};
  for (const { classes } of plans)
    for (const [name, { used }] of Object.entries(classes))
      all[name] = { used: (all[name]?.used ?? 0) + used };
  return all;
}

function planSet(
  loaded: readonly LoadedPipeline[],
  plans: readonly PipelinePlan[],
  {
    hourlyCost,
    lowerBound,
    files,
  }: {
    readonly hourlyCost: number;
    readonly lowerBound: number;
    readonly files: readonly (string | undefined)[];
  },
): PlanSet {
  const free = freeIn(loaded);
  const classes = Object.entries(usedByAll(plans)).map(([name, { used }]) => {
    const count = free[name];
    return [name, { used, ...(count === undefined ? {} : { count }) }] as const;
  });
  return {
    ...emittedHead('plan-set', inputsOf(loaded)),
    ...costProof(hourlyCost, lowerBound),
    plans: plans.map((plan, k) => {
      const file = files[k];
      return {
        name: plan.name,
        ...(file === undefined ? {} : { file }),
        hourlyCost: plan.hourlyCost ?? 0,
        attainment: plan.sample?.attainment ?? 0,
        used: usedBy(plan),
      };
    }),
    classes: Object.fromEntries(classes),
  };
}

/** inputsOf lists the files of all specs, each once. */
function inputsOf(loaded: readonly LoadedPipeline[]) {
  const all = loaded.flatMap(({ inputs }) => inputs(undefined));
  return [...new Map(all.map((one) => [`${one.role} ${one.path}`, one])).values()];
}
