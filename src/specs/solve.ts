import {
  asOneRun,
  checkWritable,
  emittedHead,
  everyInput,
  outputFiles,
  refuseReplacing,
  saveArtifact,
} from '../artifacts/index.js';
import { fault, InputError, type NoPlan, option } from '../formats/index.js';
import type { InfeasibilityExplanation } from '../milp/index.js';
import { hereNotes, serverNotes } from './core-notes.js';
import { type AnySpec, refusing, usedSpec } from './every-fault.js';
import { engineFile, forEngine, ingressNotes, madeWith } from './for-engine.js';
import type { NotHeld } from './not-held.js';
import { refuseMarked } from './refuse-marked.js';
import type { SolveOptions } from './solve-options.js';
import type { SpecKind } from './spec-kind.js';
import type { KindTypes, PlanFound, PlanMissing, SolvingOf, SpecOf } from './spec-of.js';
import { type AnySpecTypes, type SpecTypes, specOf } from './specs.js';
import { refuseOptions } from './taken-options.js';

/** PlanSolved is an answer with a plan. */
export interface PlanSolved<T extends KindTypes> {
  readonly outcome: T['outcome'];
  readonly plan: T['plan'];
  readonly warnings: readonly string[];
  /** limitReached says whether a limit or gap that was asked for ended the search, or was not reached. */
  readonly limitReached: boolean;
  readonly explanation?: T['explanation'];
  readonly document: T['plan'] & { solver: NoPlan['solver']; explanation?: T['explanation'] };
}

/** NotSolved is an answer without a plan. */
export type NotSolved =
  | {
      readonly outcome: 'infeasible';
      readonly reasons: readonly string[];
      readonly warnings: readonly string[];
      /** What says more about the reasons. */
      readonly advice?: string;
      readonly explanation?: InfeasibilityExplanation;
      readonly document: NoPlan;
    }
  | {
      readonly outcome: 'no-plan-in-time';
      readonly warnings: readonly string[];
      /** Why no plan was found, as far as simulations say it. */
      readonly reasons: readonly string[];
      /** The reasons why the plans that were tried fail, or what may decide whether there is a plan. */
      readonly advice?: string;
      /** Where plans were found, and none held the rates that were asked for. */
      readonly notHeld?: NotHeld;
      readonly document: NoPlan;
    };

/** Solved is the answer of `plan solve`. `document` is what `--json` prints. */
export type Solved = { [K in SpecKind]: PlanSolved<SpecTypes[K]> }[SpecKind] | NotSolved;

/**
 * solveSpec solves a spec, and writes the plan where an output is named. With `explain` the plan of a pooled spec is written
 * again afterwards, with what one GPU more of each class would give. The search runs on its own thread, so that progress is
 * shown and an abort is heard.
 * @param path a spec of any kind
 * @throws InputError with all faults of spec, cluster and profiles, where the output would replace one of them, where an
 *   option is not for specs of this kind or does not go with another, or as `refuseMarked` does where `strictProfile` is asked
 *   for; MissingError where a file is missing
 */
export function solveSpec(path: string, options: SolveOptions = {}): Promise<Solved> {
  return asOneRun(async () => {
    const writable = options.output === undefined ? Promise.resolve() : checkWritable(options.output);
    // Once the spec is read, its path could not be written; that is reported below, with the option.
    await writable.catch(() => {});
    const [, , { solving, loaded }] = await everyInput<[unknown, unknown, LoadedToSolve<AnySpecTypes>]>(
      `solve ${path}`,
      [
        refusing(() => refuseTogether(options)),
        writable,
        usedSpec(path, (spec) => loadedToSolve(spec, options)),
      ],
    );
    // The kind of the spec chose the planner, so that the plan is of that kind too.
    return (await solved(path, { solving, loaded }, options)) as Solved;
  }, options.signal);
}

/** LoadedToSolve is a spec, with how its kind is solved. */
interface LoadedToSolve<T extends KindTypes> {
  readonly solving: SolvingOf<T>;
  readonly loaded: T['loaded'];
}

async function loadedToSolve(named: AnySpec, options: SolveOptions): Promise<LoadedToSolve<AnySpecTypes>> {
  const profile = await engineFile(options);
  const spec = await forEngine(named, options, profile);
  const { path } = spec;
  const asked: SpecOf<AnySpecTypes> = await specOf(spec.kind);
  const solving: SolvingOf<AnySpecTypes> = await asked.solving();
  const task = `solve ${path}${solving.named}`;
  const [, , loaded] = await everyInput<[unknown, unknown, AnySpecTypes['loaded']]>(task, [
    refusing(() => refuseOptions(task, solving.options(spec), options)),
    solving.refuse(spec, options),
    asked.load(spec),
  ]);
  return { solving, loaded: madeWith(loaded, profile) };
}

async function solved<T extends KindTypes>(
  path: string,
  { solving, loaded }: LoadedToSolve<T>,
  options: SolveOptions,
): Promise<PlanSolved<T> | NotSolved> {
  await refuseReplacing(`solve ${path}`, outputFiles({ output: options.output }), loaded.read);
  if (options.strictProfile) refuseMarked(path, solving.figures(loaded));
  const found = await solving.search(loaded, options);
  return found.isFound ? planned(found, solving.outcome, options) : notPlanned(found);
}

async function planned<T extends KindTypes>(
  { cluster, profiles, limitReached, solver, planFor, explained, ...found }: PlanFound<T>,
  outcome: T['outcome'],
  { output, onNote }: SolveOptions,
): Promise<PlanSolved<T>> {
  const first = await planFor(output, await serverNotes(cluster, profiles));
  const { planOf } = await import('../plans/index.js');
  for (const note of await hereNotes(planOf(first).uses(first), profiles)) onNote?.(note);
  if (output !== undefined) await savePlan(output, first);
  const { plan, explanation = found.explanation } = explained ? await explained(first) : { plan: first };
  if (output !== undefined && explained !== undefined) await savePlan(output, plan);
  const more = explanation === undefined ? {} : { explanation };
  return {
    outcome,
    plan,
    warnings: [...(first.notes ?? []), ...(await ingressNotes(plan))],
    limitReached,
    ...more,
    document: { ...plan, solver, ...more },
  };
}

async function savePlan(output: string, plan: KindTypes['plan']): Promise<void> {
  await saveArtifact<KindTypes['plan']['kind']>(output, plan);
}

function notPlanned({ loaded, answer, notes, explanation, reasons = [], ...told }: PlanMissing): NotSolved {
  const { advice, notHeld } = told;
  const warnings = [...new Set(notes)];
  const document: NoPlan = {
    ...emittedHead('no-plan', loaded.inputs(undefined)),
    ...answer,
    ...(warnings.length === 0 ? {} : { notes: warnings }),
  };
  switch (answer.status) {
    case 'infeasible':
      return {
        outcome: 'infeasible',
        reasons: answer.reasons.map(({ text }) => text),
        warnings,
        ...(advice === undefined ? {} : { advice }),
        ...(explanation === undefined ? {} : { explanation }),
        document,
      };
    case 'no-plan-in-time':
      return {
        outcome: 'no-plan-in-time',
        reasons,
        warnings,
        document,
        ...(advice === undefined ? {} : { advice }),
        ...(notHeld === undefined ? {} : { notHeld }),
      };
  }
}

/** refuseTogether refuses options that do not go together, whatever is solved. */
function refuseTogether({ baseline, explain, formulation }: SolveOptions): void {
  if (baseline === undefined) return;
  const faults = [
    ...(explain ? [fault("explains the planner's own plan, not a baseline's", option('explain'))] : []),
    ...(formulation === 'literal' ? [fault('is not for baselines', option('formulation', 'literal'))] : []),
  ];
  if (faults.length > 0) throw new InputError(`solve with ${option('baseline')} ${baseline}`, faults);
}
