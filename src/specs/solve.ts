import {
  checkWritable,
  emittedHead,
  fault,
  InputError,
  type Loaded,
  loadArtifact,
  type NoPlan,
  option,
  outputFiles,
  type PooledPlan,
  refuseReplacing,
  saveArtifact,
} from '../artifacts/index.js';
import type { HoldTarget } from '../hold/index.js';
import type {
  Baseline,
  InfeasibilityExplanation,
  PlanExplanation,
  PlanProgress,
  PooledOutcome,
  SolverReport,
} from '../milp/index.js';
import { type CascadeSolved, solveCascade } from './cascade/index.js';
import { hereNotes, serverNotes } from './core-notes.js';
import { noPlanDocument } from './no-plan.js';
import { type PipelineSolved, solvePipeline } from './pipeline/index.js';
import type { InfeasibleOutcome } from './pooled/index.js';
import {
  type BetweenRounds,
  type HeldOutcome,
  type HoldDone,
  holdPlan,
  holdTarget,
  holdText,
  type LoadedProblem,
  loadProblem,
  type NotHeld,
  notHeldParts,
  ownShareNotes,
  pooledFigures,
  SolverPool,
  type TimingRound,
  timePartitions,
} from './pooled/index.js';
import { refuseMarked } from './refuse-marked.js';
import { missedWhatWasAsked, type SolveLimits, searchLimits } from './solve-limits.js';

/** SolveOptions says how a spec is solved, and where the plan is written. */
export interface SolveOptions extends SolveLimits {
  /** The file that the plan is written to; when it is left out, nothing is written. */
  readonly output?: string | undefined;
  /**
   * Whether to re-solve for one GPU more or less and for other SLOs; of an infeasible spec, for SLOs that
   * would have a plan.
   */
  readonly explain?: boolean | undefined;
  /** For cascades: whether to plan for fewer and more devices and for other latencies too. */
  readonly frontier?: boolean | undefined;
  /** Plans this baseline of PPipe (section 7.1) instead. The plan names it. */
  readonly baseline?: Baseline | undefined;
  /** `literal` solves PPipe's formulation (A.1/A.2) as printed, for small specs. The default is `columns`. */
  readonly formulation?: 'columns' | 'literal' | undefined;
  /**
   * Whether to time the partitions of the plan on this machine, add the figures to the profiles, and solve again until
   * every partition of the plan was timed.
   */
  readonly measure?: boolean | undefined;
  /**
   * The most times as long, or as short, that the whole model may take while partitions are timed as it took when it was
   * profiled; 2 by default. Beyond that nothing is timed, and the notes say so.
   */
  readonly mostDrift?: number | undefined;
  /** Whether to refuse profiles with unfit, emulated or imported figures that a plan could use. */
  readonly strictProfile?: boolean | undefined;
  /** Receives what each round of timing found. */
  readonly onTimed?: (round: TimingRound) => void;
  /**
   * Searches for the plan that holds this share of each model's requests in time in simulation, in place of that of the
   * spec's `planner.hold`.
   */
  readonly hold?: number | undefined;
  /** The number of threads for that search. By default there are as many as the machine has cores, at most 16. */
  readonly threads?: number | undefined;
  /** When it is aborted, the best plan and the explanation so far are returned. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (doing: string) => void;
  /** Receives a note where this host measured the devices and has too few cores to run all that the plan uses. */
  readonly onNote?: (text: string) => void;
}

/** Solved is the answer of `plan solve`. `document` is what `--json` prints. */
export type Solved =
  | PipelineSolved
  | CascadeSolved
  | {
      readonly outcome: 'plan';
      readonly plan: PooledPlan;
      readonly warnings: readonly string[];
      /** Whether a limit or gap that was asked for ended the search, or was not reached. */
      readonly limitReached: boolean;
      readonly explanation?: PlanExplanation;
      readonly document: PooledPlan & { solver: SolverReport; explanation?: PlanExplanation };
    }
  | {
      readonly outcome: 'infeasible';
      readonly reasons: readonly string[];
      readonly explanation?: InfeasibilityExplanation;
      readonly document: NoPlan;
    }
  | {
      readonly outcome: 'no-plan-in-time';
      /** Where plans were found, and none held the rates that were asked for. */
      readonly notHeld?: NotHeld;
      readonly document: NoPlan;
    };

/**
 * The literal formulation is an oracle. With more binary variables than this it would not finish within
 * minutes.
 */
const MOST_LITERAL_CHOICES = 4000;

/** How many pipelines of each sequence of classes the literal formulation has. */
const LITERAL_COPIES = 2;

/** How many nodes the literal formulation's search visits when no option says so. */
const LITERAL_WORK = 1000;

/**
 * solveSpec solves a spec, and writes the plan where an output is named. With `explain` the plan is written again
 * afterwards, with what one GPU more of each class would give. The search runs on its own thread, so that progress is
 * shown and an abort is heard.
 * @param path a spec of kind `pooled`, `pipeline` or `cascade`
 * @throws InputError with all faults of spec, cluster and profiles, where the output would replace one of them, where
 *   `baseline` stands with `explain` or the literal formulation, where the latter would have more than 4000 binary
 *   choices, or as `refuseMarked` does where `strictProfile` is asked for; MissingError where a file is missing
 */
export async function solveSpec(path: string, options: SolveOptions = {}): Promise<Solved> {
  refuseTogether(options);
  if (options.output !== undefined) await checkWritable(options.output);
  const spec = await loadArtifact(path, ['pooled', 'pipeline', 'cascade']);
  if (spec.kind === 'cascade') {
    refuseForCascade(spec, options);
    return solveCascade(spec, options);
  }
  if (spec.kind === 'pipeline') {
    refuseForPipeline(spec, options);
    return solvePipeline(spec, options);
  }
  if (options.frontier === true)
    throw new InputError(`solve ${path}`, [fault('is for specs of kind cascade', option('frontier'))]);
  const loaded = await loadProblem(path, spec);
  const target = await holdTarget({ value: loaded.spec, path }, options.hold);
  if (target !== undefined) refuseWithHold(options);
  await refuseReplacing(`solve ${path}`, outputFiles({ output: options.output }), loaded.read);
  if (options.strictProfile) refuseMarked(path, await pooledFigures(loaded.problem, loaded.profiles));
  if (options.formulation === 'literal') await refuseLarge(path, loaded);
  if (options.measure && loaded.problem.planner.granularity === 'layer')
    throw new InputError(
      `time the partitions of ${path}`,
      [fault('is for plans of blocks; this spec asks for granularity: layer', option('measure'))],
      'Cut the model into more blocks instead: profile it with a larger number of them.',
    );
  const threads = target === undefined ? 1 : options.threads;
  const solver = new SolverPool({ threads, signal: options.signal });
  try {
    const first = await attempted(solver, loaded, target, options);
    const last = options.measure ? await measuredUntilTimed(solver, path, first, options) : first;
    return await answer(solver, last, options);
  } finally {
    await solver.close();
  }
}

/** Attempt is a spec as it was loaded, and what its search gave. */
interface Attempt extends HeldOutcome {
  readonly loaded: LoadedProblem;
}

async function attempted(
  solver: SolverPool,
  loaded: LoadedProblem,
  target: HoldTarget | undefined,
  options: SolveOptions,
): Promise<Attempt> {
  if (target === undefined) return { loaded, outcome: await search(solver, loaded, options) };
  const { threads, signal, onProgress } = options;
  const { PROMISE_SEEDS } = await import('../hold/index.js');
  const tell = (done: HoldDone): void => onProgress?.(holdText(done, PROMISE_SEEDS.length));
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
  path: string,
  first: Attempt,
  options: SolveOptions,
): Promise<Attempt> {
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
    let round: TimingRound | undefined;
    try {
      round = await timePartitions(outcome.plan, loaded.profiles, { between, mostDrift, signal, onProgress });
    } catch (error) {
      // What was found before the abort stands, and the profiles are as they were.
      if (!signal?.aborted) throw error;
      note(UNTIMED);
      return attempt;
    }
    if (round === undefined) return attempt;
    onTimed?.(round);
    if (round.timed === 0) return attempt;
    const again = await loadProblem(path);
    const target = await holdTarget({ value: again.spec, path }, options.hold);
    attempt = await attempted(solver, again, target, options);
    if (!('plan' in attempt.outcome)) note(NO_LONGER_PLANNED);
  }
}

async function answer(
  solver: SolverPool,
  { loaded, outcome, notHeld }: Attempt,
  options: SolveOptions,
): Promise<Solved> {
  switch (outcome.status) {
    case 'infeasible':
      return await infeasible(solver, loaded, outcome, options);
    case 'no-plan-in-time':
      return {
        outcome: 'no-plan-in-time',
        ...(notHeld === undefined ? {} : { notHeld }),
        document: noPlanDocument(outcome, loaded.problem, {
          inputs: loaded.inputs(undefined),
          ...(notHeld === undefined ? {} : { notHeld: notHeldParts(notHeld) }),
        }),
      };
    default:
      return await planned(solver, loaded, outcome, options);
  }
}

function refuseTogether({ baseline, explain, formulation }: SolveOptions): void {
  if (baseline === undefined) return;
  const faults = [
    ...(explain ? [fault("explains the planner's own plan, not a baseline's", option('explain'))] : []),
    ...(formulation === 'literal' ? [fault('is not for baselines', `${option('formulation')} literal`)] : []),
  ];
  if (faults.length > 0) throw new InputError(`solve with ${option('baseline')} ${baseline}`, faults);
}

/** A pipeline has no gap to stop at, and is not timed. One that is given is not searched or explained either. */
function refuseForPipeline({ path, value }: Loaded<'pipeline'>, options: SolveOptions): void {
  const { gap, work, timeLimit, baseline, explain, measure, hold, frontier } = options;
  const searched = value.planner.method === 'given' ? { work, timeLimit, explain } : {};
  const given = { gap, ...searched, baseline, measure, hold };
  const faults = Object.entries(given)
    .filter(([, value]) => value !== undefined && value !== false)
    .map(([name]) => fault('is for specs of kind pooled', option(name)));
  if (frontier === true) faults.push(fault('is for specs of kind cascade', option('frontier')));
  if (options.formulation === 'literal')
    faults.push(fault('is for specs of kind pooled', `${option('formulation')} literal`));
  if (faults.length > 0) throw new InputError(`solve ${path}, a pipeline`, faults);
}

/** A cascade's search proves its bound by itself. */
function refuseForCascade({ path }: Loaded<'cascade'>, options: SolveOptions): void {
  const { gap, baseline, measure, hold } = options;
  const faults = Object.entries({ gap, baseline, measure, hold })
    .filter(([, value]) => value !== undefined && value !== false)
    .map(([name]) => fault('is not for specs of kind cascade', option(name)));
  if (options.formulation === 'literal')
    faults.push(fault('is for specs of kind pooled', `${option('formulation')} literal`));
  if (faults.length > 0) throw new InputError(`solve ${path}, a cascade`, faults);
}

function refuseWithHold({ baseline, explain, formulation, hold }: SolveOptions): void {
  const asked = hold === undefined ? '`planner.hold` of the spec' : option('hold');
  const faults = [
    ...(baseline === undefined
      ? []
      : [fault(`is not for ${asked}: it is planned as it is`, option('baseline'))]),
    ...(explain ? [fault(`is not for ${asked}: it explains a plan of one margin`, option('explain'))] : []),
    ...(formulation === 'literal'
      ? [fault(`is not for ${asked}: it is too slow to be searched`, `${option('formulation')} literal`)]
      : []),
  ];
  if (faults.length > 0) throw new InputError('search for the plan that holds most', faults);
}

async function refuseLarge(path: string, { problem }: LoadedProblem): Promise<void> {
  const { literalChoices } = await import('../milp/index.js');
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
  const outcome = await solver.run({ kind: 'plan', problem, formulation, ...work, ...limits }, tell);
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
  { problem, inputs }: LoadedProblem,
  outcome: InfeasibleOutcome,
  { explain, onProgress, ...options }: SolveOptions,
): Promise<Solved> {
  const { reasons } = outcome;
  const named = { inputs: inputs(undefined) };
  if (!explain) return { outcome: 'infeasible', reasons, document: noPlanDocument(outcome, problem, named) };
  const explanation = await solver.run(
    { kind: 'explain-infeasible', problem, outcome, ...searchLimits(options) },
    ({ phase }) => onProgress?.(phase),
  );
  const document = noPlanDocument(outcome, problem, { ...named, explanation });
  return { outcome: 'infeasible', reasons, explanation, document };
}

type FoundOutcome = Extract<PooledOutcome, { status: 'optimal' | 'feasible' }>;

async function planned(
  solver: SolverPool,
  loaded: LoadedProblem,
  outcome: FoundOutcome,
  options: SolveOptions,
): Promise<Solved> {
  const { output, explain, onProgress } = options;
  const head = emittedHead('pooled-plan', loaded.inputs(output));
  const names = loaded.problem.models.map(({ name }) => name);
  const profiles = loaded.profiles.map(({ profile }) => profile);
  const all = [
    ...ownShareNotes(loaded.spec, names, options.hold),
    ...outcome.notes,
    ...(await serverNotes(loaded.problem.cluster, profiles)),
  ];
  for (const note of await hereNotes(outcome.plan.classes, profiles)) options.onNote?.(note);
  const notes = all.length === 0 ? {} : { notes: all };
  const found: PooledPlan = { ...head, serving: loaded.serving, ...outcome.plan, ...notes };
  if (output !== undefined) await saveArtifact<'pooled-plan'>(output, found);
  const limitReached = missedWhatWasAsked(outcome.limit, found.objective.gap, options);
  const common = { outcome: 'plan', warnings: all, limitReached } as const;
  if (!explain) return { ...common, plan: found, document: { ...found, solver: outcome.solver } };
  const explanation = await solver.run(
    { kind: 'explain', problem: loaded.problem, plan: outcome.plan, ...searchLimits(options) },
    ({ phase }) => onProgress?.(phase),
  );
  const plan = withOneMore(found, explanation);
  if (output !== undefined) await saveArtifact<'pooled-plan'>(output, plan);
  return { ...common, plan, explanation, document: { ...plan, solver: outcome.solver, explanation } };
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
