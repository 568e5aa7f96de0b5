import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import {
  checkWritable,
  decodedText,
  everyInput,
  InputError,
  option,
  outputFiles,
  refuseReplacing,
  unreadable,
} from '../../artifacts/index.js';
import type { PooledProblem } from '../../milp/index.js';
import {
  type LoadedPooled,
  loadPooled,
  missedWhatWasAsked,
  type SolveLimits,
  SolverThread,
  searchLimits,
} from '../solve/index.js';
import { type CompareCase, compareCases } from './cases.js';
import { type ComparisonDocument, comparisonDocument, refuseUnknownEnding, saveComparison } from './file.js';
import { type WrittenMix, withMix } from './mixes.js';
import { type CompareRow, refusedRow, rowOf, withFrontier } from './rows.js';

export interface CompareOptions extends SolveLimits {
  /** Mixes such as `L4=25,T4=75`. A class that is left out has no GPUs. */
  readonly mixes?: readonly string[] | undefined;
  /** A file with one mix per line. Lines that begin with # are comments. */
  readonly mixFile?: string | undefined;
  /** The budget per hour, in the unit of `hourlyCost`; `budgetMixes` says which mixes it gives. */
  readonly budget?: number | undefined;
  /** Sweeps such as `slo=2x..10x`, `slo=50ms..200ms` or `margin=0..0.6`, each with `:steps` if wanted. */
  readonly sweeps?: readonly string[] | undefined;
  /** The file that the comparison is written to; it ends in `.json` or `.csv`. */
  readonly output?: string | undefined;
  /** The number of solver threads. By default there are as many as the machine has cores, at most 16. */
  readonly threads?: number;
  /** When it is aborted, the rows that are done are returned. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: CompareProgress) => void;
}

export interface CompareProgress {
  readonly done: number;
  readonly of: number;
  /** An estimate from the cases that are done; undefined before the first. */
  readonly leftMs: number | undefined;
}

export interface Comparison {
  readonly document: ComparisonDocument;
  /** Whether any row missed a limit or gap that was asked for. */
  readonly limitReached: boolean;
}

/** Each thread holds a solver of its own, which takes about 100 MB. */
const MOST_THREADS = 16;

/**
 * compareSpec plans one spec for several clusters, SLOs or margins, side by side on solver threads. Rows come
 * in the order of the cases, whichever ends first. A case without a plan is a row that says why.
 * @throws InputError with all faults of spec, cluster, profiles, mixes and sweeps, or where the output would
 *   replace one of the files
 */
export async function compareSpec(path: string, options: CompareOptions): Promise<Comparison> {
  const { output, mixFile } = options;
  if (output !== undefined) refuseUnknownEnding(output);
  if (output !== undefined) await checkWritable(output);
  const [loaded, mixes] = await everyInput(`compare mixes of ${path}`, [
    loadPooled(path),
    writtenMixes(options),
  ]);
  await refuseReplacing(`compare ${path}`, outputFiles({ output }), [
    ...loaded.read,
    ...(mixFile === undefined ? [] : [{ what: 'the file of mixes', path: mixFile }]),
  ]);
  const cases = compareCases(loaded, { mixes, budget: options.budget, sweeps: options.sweeps ?? [] });
  const { resolvePooled } = await import('../../milp/index.js');
  const resolve = ({ spec, cluster }: Pick<CompareCase, 'spec' | 'cluster'>): PooledProblem =>
    resolvePooled(spec, cluster, loaded.profiles, path);
  resolve({
    spec: loaded.spec.value,
    cluster: wholeCatalogue(loaded, mixes.length > 0 || options.budget !== undefined),
  });
  const solved = await solveAll(cases, resolve, options);
  const done = solved.filter((one) => one !== undefined);
  const rows = withFrontier(done.map(({ row }) => row));
  const document = comparisonDocument(rows, cases.length, loaded.inputs(output));
  if (output !== undefined) await saveComparison(output, document);
  return { document, limitReached: done.some(({ missed }) => missed) };
}

/**
 * wholeCatalogue gives the cluster that is checked before any case: the spec's own, or one GPU of every class
 * where mixes replace its counts.
 */
function wholeCatalogue({ cluster }: LoadedPooled, replaced: boolean): LoadedPooled['cluster'] {
  if (!replaced) return cluster;
  return withMix(cluster, Object.fromEntries(Object.keys(cluster.devices).map((name) => [name, 1])));
}

async function writtenMixes({ mixes = [], mixFile }: CompareOptions): Promise<WrittenMix[]> {
  const given = mixes.map((text) => ({ text, at: `${option('mixes')} "${text}"` }));
  if (mixFile === undefined) return given;
  const bytes = await readFile(mixFile).catch((error: unknown) => {
    throw unreadable(mixFile, error);
  });
  const text = decodedText(bytes, mixFile);
  const lines = text.split('\n').map((line, i) => ({ text: line.trim(), at: `${mixFile}:${i + 1}` }));
  return [...given, ...lines.filter((line) => line.text !== '' && !line.text.startsWith('#'))];
}

interface SolvedCase {
  readonly row: CompareRow;
  readonly missed: boolean;
}

async function solveAll(
  cases: readonly CompareCase[],
  resolve: (asked: CompareCase) => PooledProblem,
  options: CompareOptions,
): Promise<(SolvedCase | undefined)[]> {
  const count = Math.min(options.threads ?? availableParallelism(), cases.length, MOST_THREADS);
  const threads = Array.from({ length: count }, () => new SolverThread(options.signal));
  const solved = new Array<SolvedCase | undefined>(cases.length).fill(undefined);
  const report = progressOf(cases.length, options.onProgress);
  let next = 0;
  const work = async (thread: SolverThread): Promise<void> => {
    while (next < cases.length && options.signal?.aborted !== true) {
      const i = next++;
      solved[i] = await solveCase(thread, cases[i] as CompareCase, resolve, options);
      report();
    }
  };
  try {
    await Promise.all(threads.map(work));
  } finally {
    next = cases.length;
    await Promise.all(threads.map((thread) => thread.close()));
  }
  return solved;
}

function progressOf(of: number, onProgress: CompareOptions['onProgress']): () => void {
  const start = performance.now();
  let done = 0;
  onProgress?.({ done, of, leftMs: undefined });
  return () => {
    done += 1;
    onProgress?.({ done, of, leftMs: ((performance.now() - start) / done) * (of - done) });
  };
}

/**
 * solveCase solves one case.
 * @returns undefined where an interruption ended it, because an unfinished search gives no figure to compare
 */
async function solveCase(
  thread: SolverThread,
  asked: CompareCase,
  resolve: (asked: CompareCase) => PooledProblem,
  options: CompareOptions,
): Promise<SolvedCase | undefined> {
  let problem: PooledProblem;
  try {
    problem = resolve(asked);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return {
      row: refusedRow(
        asked,
        error.faults.map(({ message }) => message),
      ),
      missed: false,
    };
  }
  const outcome = await thread.run({ kind: 'plan', problem, ...searchLimits(options) });
  const limit = 'limit' in outcome ? outcome.limit : undefined;
  if (limit === 'interrupted' || (options.signal?.aborted && outcome.status === 'infeasible'))
    return undefined;
  const gap = 'plan' in outcome ? outcome.plan.objective.gap : 0;
  return { row: rowOf(asked, outcome), missed: missedWhatWasAsked(limit, gap, options) };
}
