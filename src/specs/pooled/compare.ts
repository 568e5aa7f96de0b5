import { everyInput } from '../../artifacts/index.js';
import { type Cluster, fault, InputError, measurementNotes, option } from '../../formats/index.js';
import type { HoldTarget } from '../../hold/index.js';
import { jobsProgress } from '../../jobs/index.js';
import {
  modelNotes,
  type PooledOutcome,
  type PooledProblem,
  resolvePooled,
  unusableNote,
} from '../../milp/index.js';
import type { CompareOptions } from '../compare-options.js';
import { withMix } from '../mixes.js';
import { notHeldReason } from '../not-held.js';
import type { RefusedCase } from '../side-by-side.js';
import { missedWhatWasAsked, searchLimits } from '../solve-limits.js';
import type { CaseAnswers, ComparingOf } from '../spec-of.js';
import { type CompareCase, compareCases } from './cases.js';
import { holdTarget, ownShareNotes } from './hold-target.js';
import type { PooledTypes } from './kind.js';
import { type LoadedPooled, loadPooled, pooledFigures, servingOf } from './pooled.js';
import { headOf, rowOf } from './rows.js';
import { SOLVER_THREAD, SolverPool } from './solver-pool.js';

/** comparingPooled is how cases of pooled specs are planned and reported. */
export const comparingPooled: ComparingOf<PooledTypes> = {
  options: { gap: 'taken', hold: 'taken' },
  thread: SOLVER_THREAD,
  async refuse(spec, { hold, sweeps = [] }) {
    await everyInput(`compare ${spec.path}`, [
      servingOf(spec),
      holdTarget(spec, hold).then((target) => target && refuseMargins(spec.path, sweeps)),
    ]);
  },
  hasFrontier: true,
  load: (spec) => loadPooled(spec),
  cases: compareCases,
  prepare(loaded, cases, { hold, budget }) {
    const isReplaced = cases.length === 0 || cases.some(({ cluster }) => cluster !== loaded.cluster);
    const { models } = problemOf(loaded, {
      spec: loaded.spec.value,
      cluster: wholeCatalogue(loaded, isReplaced),
    });
    const figures = pooledFigures({ models, cluster: largestOf(loaded.cluster, cases) }, loaded.profiles);
    const names = models.map(({ name }) => name);
    // A budget may buy any class, and no mix of it has a class that no model can use.
    const present = Object.keys(loaded.cluster.devices).filter(
      (name) => budget !== undefined || cases.some(({ cluster }) => (cluster.devices[name]?.count ?? 0) > 0),
    );
    const notes = new Set([
      ...ownShareNotes(loaded.spec.value, names, hold),
      ...models.flatMap((model) => modelNotes(model, loaded.spec.value)),
      ...present.flatMap((name) =>
        models.flatMap((model) => unusableNote(loaded.cluster, name, model) ?? []),
      ),
      ...figures.flatMap(({ profile, classes }) => measurementNotes(profile.model.name, profile, classes)),
    ]);
    return { notes: [...notes], currency: loaded.cluster.currency, figures };
  },
  jobOf(loaded, asked, limits) {
    const problem = problemOrRefused(loaded, asked);
    return 'refused' in problem ? problem : { kind: 'plan', problem, ...searchLimits(limits) };
  },
  isWhole,
  async inTurn(loaded, cases, options) {
    const target = await holdTarget(loaded.spec, options.hold);
    if (target === undefined) return undefined;
    return holdAll(loaded, cases, { ...options, target });
  },
  shares: () => [],
  head: headOf,
  async row({ variant, answer }) {
    const { notHeld } = answer;
    const row = rowOf(variant, answer);
    return { row: notHeld === undefined ? row : { ...row, reasons: [notHeldReason(notHeld)] } };
  },
  isCut(answer, options) {
    if (answer.notHeld !== undefined) return false;
    const limit = 'limit' in answer ? answer.limit : undefined;
    const gap = 'plan' in answer ? answer.plan.objective.gap : 0;
    return missedWhatWasAsked(limit, gap, options);
  },
};

/** refuseMargins refuses sweeps of what the search for the plan that holds most chooses itself. */
function refuseMargins(path: string, sweeps: readonly string[]): void {
  const margins = sweeps.filter((text) => /^\s*margin=/.test(text));
  const said = 'sweeps margins, which the search for the plan that holds most chooses itself';
  if (margins.length > 0)
    throw new InputError(
      `compare ${path}`,
      margins.map((text) => fault(said, option('sweeps', `"${text}"`))),
    );
}

/** problemOf resolves a case. @throws InputError where its input is refused */
function problemOf(
  { profiles, spec: { path } }: LoadedPooled,
  { spec, cluster }: Pick<CompareCase, 'spec' | 'cluster'>,
): PooledProblem {
  return resolvePooled(spec, { cluster, profiles, where: path });
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

/** isWhole says whether an abort has left an outcome as it is: a search that it ended has no figure to compare. */
function isWhole(outcome: PooledOutcome): boolean {
  return outcome.status !== 'infeasible' && !('limit' in outcome && outcome.limit === 'interrupted');
}

/** holdAll searches for each case the plan that holds most, one case after another: each search takes all threads. */
async function holdAll(
  loaded: LoadedPooled,
  cases: readonly CompareCase[],
  options: CompareOptions & { readonly target: HoldTarget },
): Promise<CaseAnswers<PooledTypes>> {
  // Most plans are not searched for what they hold, and the search has rooms of its own.
  const { holdPlan } = await import('./hold.js');
  const { target, threads, signal } = options;
  const serving = await servingOf(loaded.spec);
  const solver = new SolverPool({ threads, signal });
  const solved: CaseAnswers<PooledTypes>[number][] = [];
  const tell = jobsProgress(options.onProgress);
  try {
    for (const asked of cases) {
      tell(solved.length, cases.length);
      if (signal?.aborted) break;
      const problem = problemOrRefused(loaded, asked);
      if ('refused' in problem) {
        solved.push(problem);
        continue;
      }
      const search = { target, threads, signal, ...searchLimits(options) };
      const found = await holdPlan(solver, { problem, serving }, search).catch(refusedCase);
      const answer = 'refused' in found ? found : { ...found.outcome, notHeld: found.notHeld };
      const isKept =
        'refused' in answer || answer.notHeld !== undefined || !signal?.aborted || isWhole(answer);
      solved.push(isKept ? answer : undefined);
    }
    tell(solved.length, cases.length);
  } finally {
    await solver.close();
  }
  return solved;
}

/** refusedCase reports a case whose input is refused. @throws the error where it is no such refusal */
function refusedCase(error: unknown): RefusedCase {
  if (!(error instanceof InputError)) throw error;
  return { refused: error.faults.map(({ message }) => message) };
}

/** problemOrRefused gives the problem of a case, unless its input is refused. */
function problemOrRefused(loaded: LoadedPooled, asked: CompareCase): PooledProblem | RefusedCase {
  try {
    return problemOf(loaded, asked);
  } catch (error) {
    return refusedCase(error);
  }
}
