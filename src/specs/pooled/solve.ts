import { emittedHead, everyInput, loadSpec } from '../../artifacts/index.js';
import { fault, InputError, option, type PooledPlan } from '../../formats/index.js';
import type { HoldTarget } from '../../hold/index.js';
import type { PlanExplanation, PlanProgress, PooledOutcome } from '../../milp/index.js';
import { literalChoices } from '../../milp/index.js';
import { refusing } from '../every-fault.js';
import { engineFile, forEngine, madeWith } from '../for-engine.js';
import { notHeldParts } from '../not-held.js';
import { missedWhatWasAsked, searchLimits } from '../solve-limits.js';
import type { SolveOptions } from '../solve-options.js';
import type { PlanFound, PlanMissing, SolvingOf } from '../spec-of.js';
import { FOR_CASCADES } from '../taken-options.js';
import type { HeldOutcome } from './hold.js';
import { type HoldDone, holdText } from './hold-report.js';
import { holdTarget, ownShareNotes } from './hold-target.js';
import type { PooledTypes } from './kind.js';
import { noPlanAnswer } from './no-plan.js';
import { type LoadedProblem, loadProblem, pooledFigures } from './pooled.js';
import type { InfeasibleOutcome } from './solve-job.js';
import { SolverPool } from './solver-pool.js';
import type { BetweenRounds } from './time-partitions.js';

/** solvingPooled is how pooled specs are solved. */
export const solvingPooled: SolvingOf<PooledTypes> = {
  outcome: 'plan',
  named: '',
  options: () => ({
    gap: 'taken',
    work: 'taken',
    timeLimit: 'taken',
    explain: 'taken',
    baseline: 'taken',
    measure: 'taken',
    hold: 'taken',
    frontier: FOR_CASCADES,
    literal: 'taken',
  }),
  async refuse(spec, options) {
    const isTimed = options.measure === true && spec.value.planner?.granularity === 'layer';
    await everyInput(`solve ${spec.path}`, [
      holdTarget(spec, options.hold).then((target) => target && refuseWithHold(options)),
      refusing(() => isTimed && refuseTimedLayers(spec.path)),
    ]);
  },
  figures: ({ problem, profiles }) => pooledFigures(problem, profiles),
  async search(loaded, options) {
    const { path } = loaded.spec;
    if (options.formulation === 'literal') refuseLarge(path, loaded);
    const target = await holdTarget(loaded.spec, options.hold);
    return withSolver(target === undefined ? 1 : options.threads, options, async (solver) => {
      const first = await attempted(solver, loaded, { target, options });
      const last = options.measure ? await measuredUntilTimed(solver, first, options) : first;
      return answer(solver, last, options);
    });
  },
};

async function withSolver<T>(
  threads: number | undefined,
  { signal }: SolveOptions,
  act: (solver: SolverPool) => Promise<T>,
): Promise<T> {
  const solver = new SolverPool({ threads, signal });
  try {
    return await act(solver);
  } finally {
    await solver.close();
  }
}

/**
 * The literal formulation is an oracle. With more binary variables than this it would not finish within
 * minutes.
 */
const MOST_LITERAL_CHOICES = 4000;

/** How many pipelines of each sequence of classes the literal formulation has. */
const LITERAL_COPIES = 2;

/** How many nodes the literal formulation's search visits when no option says so. */
const LITERAL_WORK = 1000;

/** Attempt is a spec as it was loaded, and what its search gave. */
interface Attempt extends HeldOutcome {
  readonly loaded: LoadedProblem;
}

async function attempted(
  solver: SolverPool,
  loaded: LoadedProblem,
  { target, options }: { readonly target: HoldTarget | undefined; readonly options: SolveOptions },
): Promise<Attempt> {
  if (target === undefined) return { loaded, outcome: await search(solver, loaded, options) };
  const { threads, signal, onProgress } = options;
  // Most plans are not searched for what they hold, and the search has rooms of its own.
  const { holdPlan, PROMISE_RUNS } = await import('./hold.js');
  const tell = (done: HoldDone): void => onProgress?.(holdText(done, PROMISE_RUNS));
  const asked = { target, threads, signal, onProgress: tell, ...searchLimits(options) };
  return { loaded, ...(await holdPlan(solver, loaded, asked)) };
}

/** Each round times what the plan newly uses. Plans settle within a few rounds. */
const MOST_ROUNDS = 20;
const UNTIMED = 'the timing was stopped: some partitions of this plan may not have been timed in one piece';
const NO_LONGER_PLANNED =
  'there was a plan before its partitions were timed; by the measured latencies none was found';

/** measuredUntilTimed times the partitions of a plan and solves again, until all of its partitions were timed. */
async function measuredUntilTimed(
  solver: SolverPool,
  first: Attempt,
  options: SolveOptions,
): Promise<Attempt> {
  // Only what is timed needs the rooms that run models.
  const { timePartitions } = await import('./time-partitions.js');
  const { signal, mostDrift, onProgress, onTimed } = options;
  const between: BetweenRounds = { givenUp: new Set(), prepared: new Map(), told: new Set() };
  const note = (text: string) => onTimed?.({ timed: 0, furthest: undefined, notes: [text] });
  let attempt = first;
  for (let rounds = 0; ; rounds++) {
    const { loaded, outcome } = attempt;
    if (!('plan' in outcome)) return attempt;
    if (signal?.aborted || rounds === MOST_ROUNDS) {
      note(signal?.aborted ? UNTIMED : `${UNTIMED} after ${MOST_ROUNDS} rounds`);
      return attempt;
    }
    let again: LoadedProblem;
    try {
      const round = await timePartitions(outcome.plan, loaded.measured, {
        between,
        mostDrift,
        signal,
        onProgress,
      });
      if (round === undefined) return attempt;
      onTimed?.(round);
      if (round.timed === 0) return attempt;
      const profile = await engineFile(options);
      const spec = await forEngine(await loadSpec(loaded.spec.path, ['pooled']), options, profile);
      again = madeWith(await loadProblem(spec), profile);
    } catch (error) {
      // The results from before the abort stay, and the profiles are as they were.
      if (!signal?.aborted) throw error;
      note(UNTIMED);
      return attempt;
    }
    const target = await holdTarget(again.spec, options.hold);
    attempt = await attempted(solver, again, { target, options });
    if (!('plan' in attempt.outcome)) note(NO_LONGER_PLANNED);
  }
}

async function answer(
  solver: SolverPool,
  { loaded, outcome, notHeld }: Attempt,
  options: SolveOptions,
): Promise<PlanFound<PooledTypes> | PlanMissing> {
  switch (outcome.status) {
    case 'infeasible':
      return await infeasible(solver, { loaded, outcome }, options);
    case 'no-plan-in-time': {
      const told = notHeld === undefined ? {} : { notHeld: notHeldParts(notHeld) };
      const answered = noPlanAnswer(outcome, loaded.problem, told);
      const notes = notesOf(loaded, options);
      return {
        isFound: false,
        loaded,
        answer: answered,
        notes,
        ...(notHeld === undefined ? {} : { notHeld }),
      };
    }
    case 'optimal':
    case 'feasible':
      return planned(loaded, outcome, options);
  }
}

function refuseWithHold({ baseline, explain, formulation, hold }: SolveOptions): void {
  const asked = hold === undefined ? '`planner.hold` of the spec' : option('hold');
  const faults = [
    ...(baseline === undefined
      ? []
      : [fault(`is not for ${asked}: it is planned as it is`, option('baseline'))]),
    ...(explain ? [fault(`is not for ${asked}: it explains a plan of one margin`, option('explain'))] : []),
    ...(formulation === 'literal'
      ? [fault(`is not for ${asked}: it is too slow to be searched`, option('formulation', 'literal'))]
      : []),
  ];
  if (faults.length > 0) throw new InputError('search for the plan that holds most', faults);
}

function refuseTimedLayers(path: string): never {
  throw new InputError(
    `time the partitions of ${path}`,
    [fault('is for plans of blocks; this spec asks for granularity: layer', option('measure'))],
    'Cut the model into more blocks instead: profile it with a larger number of them.',
  );
}

function refuseLarge(path: string, { problem }: LoadedProblem): void {
  const choices = literalChoices(problem, LITERAL_COPIES);
  if (choices <= MOST_LITERAL_CHOICES) return;
  throw new InputError(
    `solve ${path} by the literal formulation`,
    [fault(`it would have ${choices} choices, a binary each; at most ${MOST_LITERAL_CHOICES} are solved`)],
    `Leave out ${option('formulation')} literal, or take fewer blocks, classes, batch sizes, virtual sizes or maxPartitions.`,
  );
}

async function search(
  solver: SolverPool,
  { problem }: LoadedProblem,
  options: SolveOptions,
): Promise<PooledOutcome> {
  const { baseline, formulation = 'columns', onProgress } = options;
  const tell = (progress: PlanProgress): void => onProgress?.(progressText(progress));
  const limits = searchLimits(options);
  if (baseline !== undefined) return solver.run({ kind: 'baseline', problem, baseline, ...limits }, tell);
  const work = formulation === 'literal' ? { work: LITERAL_WORK } : {};
  const outcome = await solver.plan({ kind: 'plan', problem, formulation, ...work, ...limits }, tell);
  return formulation === 'literal' ? markedLiteral(outcome) : outcome;
}

/** progressText describes the progress of a search to a person. */
function progressText({ phase, value, bound }: PlanProgress): string {
  const best = value === undefined ? '' : `, best ${value.toPrecision(6)}`;
  return `solving: ${phase}${best}${bound === undefined ? '' : `, bound ${bound.toPrecision(6)}`}`;
}

function markedLiteral(outcome: PooledOutcome): PooledOutcome {
  if (outcome.status !== 'optimal' && outcome.status !== 'feasible') return outcome;
  const { kind, version, status, ...rest } = outcome.plan;
  const note = `the bound holds for plans with at most ${LITERAL_COPIES} pipelines of one sequence of classes`;
  return {
    ...outcome,
    plan: { kind, version, status, formulation: 'literal', ...rest },
    notes: [...outcome.notes, note],
  };
}

async function infeasible(
  solver: SolverPool,
  { loaded, outcome }: { readonly loaded: LoadedProblem; readonly outcome: InfeasibleOutcome },
  { explain, onProgress, ...options }: SolveOptions,
): Promise<PlanMissing> {
  const { problem } = loaded;
  const notes = notesOf(loaded, options);
  if (!explain) {
    const isExplained =
      options.baseline === undefined && (await holdTarget(loaded.spec, options.hold)) === undefined;
    const advice = `${option('explain')} looks for the smallest SLOs that have a plan.`;
    const answer = noPlanAnswer(outcome, problem);
    return { isFound: false, loaded, answer, notes, ...(isExplained ? { advice } : {}) };
  }
  const explanation = await solver.run(
    { kind: 'explain-infeasible', problem, outcome, ...searchLimits(options) },
    ({ phase }) => onProgress?.(phase),
  );
  const answered = noPlanAnswer(outcome, problem, { explanation });
  return { isFound: false, loaded, answer: answered, notes, explanation };
}

/** notesOf gives what is to be known of a spec and its files, whatever the answer. */
function notesOf(
  { spec, problem: { models } }: LoadedProblem,
  { hold }: Pick<SolveOptions, 'hold'>,
): string[] {
  const names = models.map(({ name }) => name);
  return [...ownShareNotes(spec.value, names, hold), ...models.flatMap(({ notes }) => notes)];
}

type FoundOutcome = Extract<PooledOutcome, { status: 'optimal' | 'feasible' }>;

function planned(
  loaded: LoadedProblem,
  outcome: FoundOutcome,
  options: SolveOptions,
): PlanFound<PooledTypes> {
  const { problem } = loaded;
  const names = problem.models.map(({ name }) => name);
  return {
    isFound: true,
    cluster: problem.cluster,
    profiles: loaded.profiles.map(({ profile }) => profile),
    limitReached: missedWhatWasAsked(outcome.limit, outcome.plan.objective.gap, options),
    solver: outcome.solver,
    planFor: async (holder, ofCluster) => {
      const all = [...ownShareNotes(loaded.spec.value, names, options.hold), ...outcome.notes, ...ofCluster];
      const notes = all.length === 0 ? {} : { notes: all };
      const head = emittedHead('pooled-plan', loaded.inputs(holder));
      return { ...head, serving: loaded.serving, ...outcome.plan, ...notes };
    },
    ...(options.explain ? { explained: (plan) => explained(plan, { loaded, outcome }, options) } : {}),
  };
}

async function explained(
  found: PooledPlan,
  { loaded: { problem }, outcome }: { readonly loaded: LoadedProblem; readonly outcome: FoundOutcome },
  { onProgress, ...options }: SolveOptions,
) {
  const explanation = await withSolver(1, options, (solver) =>
    solver.run({ kind: 'explain', problem, plan: outcome.plan, ...searchLimits(options) }, ({ phase }) =>
      onProgress?.(phase),
    ),
  );
  return { plan: withOneMore(found, explanation), explanation };
}

/** withOneMore adds to a plan what one GPU more of each class would give, where the explanation found it. */
function withOneMore(plan: PooledPlan, { classes }: PlanExplanation): PooledPlan {
  const known = new Map(classes.map(({ name, oneMore }) => [name, oneMore]));
  const uses = Object.entries(plan.classes).map(([name, use]) => {
    const oneMore = known.get(name);
    return [name, oneMore === undefined ? use : { ...use, oneMore }] as const;
  });
  return { ...plan, classes: Object.fromEntries(uses) };
}
