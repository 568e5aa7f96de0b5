import {
  type Cluster,
  type CompareRow,
  checkWritable,
  decodedText,
  everyInput,
  fault,
  InputError,
  loadArtifact,
  measurementNotes,
  option,
  outputFiles,
  type PlanServing,
  readWhole,
  refuseReplacing,
} from '../artifacts/index.js';
import type { HoldTarget } from '../hold/index.js';
import { jobsProgress, type NamedJob } from '../jobs/index.js';
import type { PooledOutcome, PooledProblem } from '../milp/index.js';
import { compareCascade, type LoadedCascade, loadCascade } from './cascade/index.js';
import { caseText } from './case-text.js';
import type { CompareOptions, Comparison } from './compare-options.js';
import { comparisonDocument, refuseUnknownEnding, saveComparison } from './comparison-file.js';
import { withFrontier } from './frontier.js';
import { type WrittenMix, withMix } from './mixes.js';
import { comparePipeline, type LoadedPipeline, loadPipeline } from './pipeline/index.js';
import {
  type CompareCase,
  compareCases,
  type HeldOutcome,
  holdPlan,
  holdTarget,
  type LoadedPooled,
  loadPooled,
  notHeldReason,
  ownShareNotes,
  pooledFigures,
  refusedRow,
  rowOf,
  type SolveJob,
  SolverPool,
  servingOf,
} from './pooled/index.js';
import { refuseMarked } from './refuse-marked.js';
import { missedWhatWasAsked, searchLimits } from './solve-limits.js';

/**
 * compareSpec plans one spec for several clusters, SLOs, margins or accuracies, side by side on solver threads, and writes the
 * comparison where an output is named. Rows come in the order of the cases, whichever ends first. A case without a plan
 * has a row with its status and reasons. A case that an abort left unsolved has none.
 * @throws InputError with all faults of spec, cluster, profiles, mixes and sweeps, where more than 1000 cases are asked
 *   for, or where the output ends in neither `.json` nor `.csv` or would replace one of the files; MissingError where
 *   files are only missing
 */
export async function compareSpec(path: string, options: CompareOptions): Promise<Comparison> {
  const { output, mixFile } = options;
  if (output !== undefined) refuseUnknownEnding(output);
  if (output !== undefined) await checkWritable(output);
  const [loaded, mixes] = await everyInput<[LoadedPooled | LoadedPipeline | LoadedCascade, WrittenMix[]]>(
    `compare mixes of ${path}`,
    [loadAny(path), writtenMixes(options)],
  );
  if ('resolved' in loaded) return compareCascade(loaded, { ...options, mixes });
  if ('graph' in loaded) return comparePipeline(loaded, { ...options, mixes });
  await refuseReplacing(`compare ${path}`, outputFiles({ output }), [
    ...loaded.read,
    ...(mixFile === undefined ? [] : [{ what: 'the file of mixes', path: mixFile }]),
  ]);
  const cases = compareCases(loaded, { mixes, budget: options.budget, sweeps: options.sweeps ?? [] });
  const { resolvePooled } = await import('../milp/index.js');
  const resolve = ({ spec, cluster }: Pick<CompareCase, 'spec' | 'cluster'>): PooledProblem =>
    resolvePooled(spec, { cluster, profiles: loaded.profiles, where: path });
  const { models } = resolve({
    spec: loaded.spec.value,
    cluster: wholeCatalogue(loaded, mixes.length > 0 || options.budget !== undefined),
  });
  const cluster = largestOf(loaded.cluster, cases);
  const figures = await pooledFigures({ models, cluster }, loaded.profiles);
  if (options.strictProfile) refuseMarked(path, figures);
  const names = models.map(({ name }) => name);
  const notes = [
    ...ownShareNotes(loaded.spec.value, names, options.hold),
    ...figures.flatMap(({ profile, classes }) => measurementNotes(profile.model.name, profile, classes)),
  ];
  const target = await holdTarget(loaded.spec, options.hold);
  if (target !== undefined && cases.some(({ margin }) => margin !== undefined))
    throw new InputError(`compare ${path}`, [
      fault('sweeps margins, which the search for the plan that holds most chooses itself', option('sweeps')),
    ]);
  const solved =
    target === undefined
      ? await solveAll(cases, resolve, options)
      : await holdAll(cases, resolve, { ...options, target, serving: await servingOf(loaded.spec) });
  const done = solved.filter((one) => one !== undefined);
  const rows = withFrontier(done.map(({ row }) => row));
  const document = comparisonDocument(rows, { cases: cases.length, notes, inputs: loaded.inputs(output) });
  if (output !== undefined) await saveComparison(output, document);
  return { document, limitReached: done.some(({ missed }) => missed) };
}

async function loadAny(path: string): Promise<LoadedPooled | LoadedPipeline | LoadedCascade> {
  const spec = await loadArtifact(path, ['pooled', 'pipeline', 'cascade']);
  if (spec.kind === 'cascade') return loadCascade(path, spec);
  return spec.kind === 'pipeline' ? loadPipeline(path, spec) : loadPooled(path, spec);
}

/**
 * wholeCatalogue gives the cluster that is checked before any case: the spec's own, or one GPU of every class
 * where mixes replace its counts.
 */
function wholeCatalogue({ cluster }: LoadedPooled, replaced: boolean): LoadedPooled['cluster'] {
  if (!replaced) return cluster;
  return withMix(cluster, Object.fromEntries(Object.keys(cluster.devices).map((name) => [name, 1])));
}

/** largestOf gives a cluster with as many GPUs of each class as the case that has most of them. */
function largestOf(cluster: Cluster, cases: readonly CompareCase[]): Cluster {
  const devices = Object.entries(cluster.devices).map(([name, device]) => {
    const counts = cases.map((one) => one.cluster.devices[name]?.count ?? 0);
    return [name, { ...device, count: counts.reduce((most, count) => Math.max(most, count), 0) }] as const;
  });
  return { ...cluster, devices: Object.fromEntries(devices) };
}

async function writtenMixes({ mixes = [], mixFile }: CompareOptions): Promise<WrittenMix[]> {
  const given = mixes.map((text) => ({ text, at: `${option('mixes')} "${text}"` }));
  if (mixFile === undefined) return given;
  const text = decodedText(await readWhole(mixFile), mixFile);
  const lines = text.split('\n').map((line, i) => ({ text: line.trim(), at: `${mixFile}:${i + 1}` }));
  return [...given, ...lines.filter((line) => line.text !== '' && !line.text.startsWith('#'))];
}

interface SolvedCase {
  readonly row: CompareRow;
  readonly missed: boolean;
}

/**
 * solveAll solves all cases on a pool of solvers. Its results are in the order of the cases.
 * @returns undefined for a case that an interruption ended or left unstarted
 */
async function solveAll(
  cases: readonly CompareCase[],
  resolve: (asked: CompareCase) => PooledProblem,
  options: CompareOptions,
): Promise<(SolvedCase | undefined)[]> {
  const solver = new SolverPool({ threads: options.threads, signal: options.signal });
  const solved = new Array<SolvedCase | undefined>(cases.length).fill(undefined);
  const tell = jobsProgress(options.onProgress);
  let done = 0;
  const keep = (i: number, one: SolvedCase | undefined): void => {
    solved[i] = one;
    tell(++done, cases.length);
  };
  /** The case of each job: a case that is refused has none. */
  const caseOfJob: number[] = [];
  function* jobs(): Generator<NamedJob<Extract<SolveJob, { kind: 'plan' }>>> {
    for (const [i, asked] of cases.entries()) {
      const problem = problemOrRow(asked, resolve);
      if ('row' in problem) {
        keep(i, problem);
        continue;
      }
      caseOfJob.push(i);
      yield { name: caseText(asked), job: { kind: 'plan', problem, ...searchLimits(options) } };
    }
  }
  tell(done, cases.length);
  try {
    await solver.runAll<'plan'>(jobs(), (outcome, j) => {
      const i = caseOfJob[j] as number;
      keep(i, solvedCase(cases[i] as CompareCase, outcome, options));
    });
  } finally {
    await solver.close();
  }
  return solved;
}

/**
 * holdAll searches for each case the plan that holds most, one case after another: each search takes all threads. Its
 * results are in the order of the cases, as those of `solveAll`.
 */
async function holdAll(
  cases: readonly CompareCase[],
  resolve: (asked: CompareCase) => PooledProblem,
  options: CompareOptions & { readonly target: HoldTarget; readonly serving: PlanServing },
): Promise<(SolvedCase | undefined)[]> {
  const { target, serving, threads, signal } = options;
  const solver = new SolverPool({ threads, signal });
  const solved: (SolvedCase | undefined)[] = [];
  const tell = jobsProgress(options.onProgress);
  try {
    for (const asked of cases) {
      tell(solved.length, cases.length);
      if (signal?.aborted) break;
      const problem = problemOrRow(asked, resolve);
      if ('row' in problem) {
        solved.push(problem);
        continue;
      }
      const limits = searchLimits(options);
      const found = await heldOrRow(asked, () =>
        holdPlan(solver, { problem, serving }, { target, threads, signal, ...limits }),
      );
      solved.push('row' in found ? found : heldCase(asked, found, options));
    }
    tell(solved.length, cases.length);
  } finally {
    await solver.close();
  }
  return solved;
}

/** heldOrRow gives what a search found, or the row of a case whose share is refused. */
async function heldOrRow(
  asked: CompareCase,
  find: () => Promise<HeldOutcome>,
): Promise<HeldOutcome | SolvedCase> {
  try {
    return await find();
  } catch (error) {
    return refusedCase(asked, error);
  }
}

/** refusedCase gives the row of a case whose input is refused. @throws the error where it is no such refusal */
function refusedCase(asked: CompareCase, error: unknown): SolvedCase {
  if (!(error instanceof InputError)) throw error;
  const reasons = error.faults.map(({ message }) => message);
  return { row: refusedRow(asked, reasons), missed: false };
}

function heldCase(
  asked: CompareCase,
  { outcome, notHeld }: HeldOutcome,
  options: CompareOptions,
): SolvedCase | undefined {
  if (notHeld === undefined) return solvedCase(asked, outcome, options);
  return { row: { ...rowOf(asked, outcome), reasons: [notHeldReason(notHeld)] }, missed: false };
}

/** problemOrRow gives the problem of a case, or the row of a case whose input is refused. */
function problemOrRow(
  asked: CompareCase,
  resolve: (asked: CompareCase) => PooledProblem,
): PooledProblem | SolvedCase {
  try {
    return resolve(asked);
  } catch (error) {
    return refusedCase(asked, error);
  }
}

/** solvedCase is undefined where an interruption ended the search, since that leaves no figure to compare. */
function solvedCase(
  asked: CompareCase,
  outcome: PooledOutcome,
  options: CompareOptions,
): SolvedCase | undefined {
  const limit = 'limit' in outcome ? outcome.limit : undefined;
  if (limit === 'interrupted' || (options.signal?.aborted && outcome.status === 'infeasible'))
    return undefined;
  const gap = 'plan' in outcome ? outcome.plan.objective.gap : 0;
  return { row: rowOf(asked, outcome), missed: missedWhatWasAsked(limit, gap, options) };
}
