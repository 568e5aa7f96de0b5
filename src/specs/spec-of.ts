import type { FilesRead, InputPath } from '../artifacts/index.js';
import type {
  CompareRow,
  Emitted,
  Fault,
  InputFile,
  Loaded,
  NoPlan,
  OpenCluster,
  Profile,
  ProfileFigures,
} from '../formats/index.js';
import type { InfeasibilityExplanation } from '../milp/index.js';
import type { ServedPlan } from '../plans/index.js';
import type { CompareCases } from './asked-cases.js';
import type { CaseNames } from './case-text.js';
import type { CompareOptions } from './compare-options.js';
import type { Shared } from './easier.js';
import type { NotHeld } from './not-held.js';
import type { PlannerThread, RefusedCase } from './side-by-side.js';
import type { SolveLimits } from './solve-limits.js';
import type { SolveOptions } from './solve-options.js';
import type { SpecKind } from './spec-kind.js';
import type { OptionsTaken } from './taken-options.js';

/** KindTypes are what a kind of spec has of its own, which the skeleton hands on without looking into it. */
export interface KindTypes {
  readonly spec: SpecKind;
  readonly plan: ServedPlan;
  /** How an answer with a plan is named. */
  readonly outcome: string;
  readonly explanation: object;
  /** The spec with all files that it names, checked and resolved. */
  readonly loaded: LoadedSpec;
  /** The same of a comparison, whose cases may replace some of it. */
  readonly compared: LoadedSpec;
  /** A case of a comparison, what a thread is handed for it, and what came of it. */
  readonly variant: CaseNames;
  readonly job: object;
  readonly answer: object;
}

/** LoadedSpec is a spec with the files that it names. */
export interface LoadedSpec {
  /** The files that were read or named. No output may replace them. */
  readonly read: readonly InputPath[];
  /** inputs lists the files that a plan is made from, with paths relative to `holder`. */
  inputs(holder: string | undefined): InputFile[];
}

/** SpecOf is what is asked of specs of a kind. The answers to each question lie behind a door of their own. */
export interface SpecOf<T extends KindTypes> {
  /**
   * load reads all files that a spec names, checks and resolves them.
   * @throws InputError with every fault of the spec, else of the files it names, else of how they fit together;
   *   MissingError where files are only missing
   */
  load(spec: Loaded<T['spec']>, files?: FilesRead): Promise<T['loaded']>;
  /** described says in a line what a spec asks for. */
  described(loaded: T['loaded']): string;
  /** notes gives what is to be known of a spec and its files, whatever the answer: a class that no profile has, among others. */
  notes(loaded: T['loaded']): readonly string[];
  solving(): Promise<SolvingOf<T>>;
  confirming(): Promise<ConfirmingOf<T>>;
  comparing(): Promise<ComparingOf<T>>;
}

/** SolvingOf is how specs of a kind are solved. */
export interface SolvingOf<T extends KindTypes> {
  readonly outcome: T['outcome'];
  /** How a refusal names a spec of the kind: behind its path. */
  readonly named: string;
  /** options says which options a spec takes, and why it does not take the others. */
  options(spec: Loaded<T['spec']>): OptionsTaken;
  /** refuse refuses options that do not go with what the spec itself asks for. It reads no file. @throws InputError */
  refuse(spec: Loaded<T['spec']>, options: SolveOptions): Promise<void>;
  /** figures names the figures of the profiles that a plan could be made of. */
  figures(loaded: T['loaded']): readonly ProfileFigures[];
  /** search looks for a plan, on threads. An abort ends it with what it has. */
  search(loaded: T['loaded'], options: SolveOptions): Promise<PlanFound<T> | PlanMissing>;
}

/** PlanFound is a plan that a search found. */
export interface PlanFound<T extends KindTypes> {
  readonly isFound: true;
  readonly cluster: OpenCluster;
  readonly profiles: readonly Profile[];
  /** limitReached says whether a limit or gap that was asked for ended the search, or was not reached. */
  readonly limitReached: boolean;
  readonly solver: NoPlan['solver'];
  readonly explanation?: T['explanation'];
  /** planFor makes the plan's file, whose inputs are relative to `holder`, with notes on its cluster. */
  planFor(holder: string | undefined, notes: readonly string[]): Promise<T['plan']>;
  /** explained explains a plan that is written already, and adds to it what was found. */
  readonly explained?: (
    plan: T['plan'],
  ) => Promise<{ readonly plan: T['plan']; readonly explanation: T['explanation'] }>;
}

/** PlanMissing says that a search found no plan, and what it knows. */
export interface PlanMissing {
  readonly isFound: false;
  readonly loaded: LoadedSpec;
  /** The answer that is printed, behind the head of a file. */
  readonly answer: Omit<NoPlan, keyof Emitted | 'kind' | 'notes'>;
  /** The notes on the spec and its files, as a plan would have them. */
  readonly notes: readonly string[];
  readonly explanation?: InfeasibilityExplanation;
  /** Where nothing is proved: why no plan was found, as far as simulations say it. */
  readonly reasons?: readonly string[];
  /**
   * Where nothing is proved: what was in the way, or what may decide whether there is a plan; else what says more about
   * the reasons.
   */
  readonly advice?: string;
  /** Where plans were found, and none held the rates that were asked for. */
  readonly notHeld?: NotHeld;
}

/** Repeated is what takes seconds: the search for a gear plan, and the simulations that confirm a promise. */
export type Repeated = 'search' | 'promise';

/** Confirmation says how a plan was confirmed: `evaluated` is recomputed from what it chose, without a search. */
export type Confirmation = 'recomputed' | 'evaluated' | 'unnamed';

/** Confirming is how a plan is confirmed against its spec. */
export interface Confirming {
  /** The spec's file. */
  readonly path: string;
  /** The plan's file, from which its inputs are named. */
  readonly holder: string;
  readonly repeats: readonly Repeated[];
}

/** ConfirmingOf is how plans of specs of a kind are made again from their spec. */
export interface ConfirmingOf<T extends KindTypes> {
  /** faults finds what in a plan is not what its spec gives. */
  faults(plan: T['plan'], loaded: T['loaded'], confirming: Confirming): Promise<readonly Fault[]>;
  /** unconfirmed lists the fields of a plan, by their JSON pointers, that only its search knows, so that nothing confirms them. */
  unconfirmed(plan: T['plan'], repeats: readonly Repeated[]): readonly string[];
  /** confirmed says how much of a plan without faults was made again. */
  confirmed(plan: T['plan'], repeats: readonly Repeated[]): Exclude<Confirmation, 'unnamed'>;
}

/** Prepared is what is known of a comparison before any case is planned. */
export interface Prepared<T extends KindTypes> {
  readonly notes: readonly string[];
  /** The currency of the cluster's prices. */
  readonly currency: string | undefined;
  /** The figures of the profiles that a plan of any case could be made of, or what names those of a case by its job. */
  readonly figures: readonly ProfileFigures[] | ((job: T['job']) => readonly ProfileFigures[]);
}

/** CaseAnswers of a comparison are in the order of its cases. A case that an abort cut short or left unstarted has none. */
export type CaseAnswers<T extends KindTypes> = readonly (T['answer'] | RefusedCase | undefined)[];

/** ComparedRow is the row of a case, and the notes of its plan. */
export interface ComparedRow {
  readonly row: CompareRow;
  readonly notes?: readonly string[] | undefined;
}

/** ComparingOf is how the cases of a comparison of specs of a kind are planned and reported. */
export interface ComparingOf<T extends KindTypes> {
  /** The threads that plan cases side by side. */
  readonly thread: PlannerThread;
  /** The options that a spec takes, and why it does not take the others. */
  readonly options: Pick<OptionsTaken, 'gap' | 'hold'>;
  /** refuse refuses options that do not go with what the spec itself asks for. It reads no file. @throws InputError */
  refuse(spec: Loaded<T['spec']>, options: CompareOptions): Promise<void>;
  /** hasFrontier says whether rows trade a cost for something else, so that some are on a frontier. */
  readonly hasFrontier: boolean;
  load(spec: Loaded<T['spec']>): Promise<T['compared']>;
  /**
   * cases lists every case.
   * @param told the faults that were found before
   * @throws InputError with every fault of the mixes and sweeps, also where they ask for nothing or for more than 1000 cases
   */
  cases(loaded: T['compared'], asked: CompareCases, told: Fault[]): readonly T['variant'][];
  /**
   * prepare finds what is known before any case is planned.
   * @param cases none where they are not known, as something is wrong with mixes or sweeps
   * @throws InputError where what the spec names does not fit together, whichever case is planned
   */
  prepare(loaded: T['compared'], cases: readonly T['variant'][], options: CompareOptions): Prepared<T>;
  /** jobOf makes the job of a case, unless its input is refused. */
  jobOf(loaded: T['compared'], variant: T['variant'], limits: SolveLimits): T['job'] | RefusedCase;
  /** isWhole says whether an answer holds although an abort may have cut its search short. */
  isWhole(answer: T['answer']): boolean;
  /** inTurn plans one case after another, where each takes all threads; it gives nothing where cases go side by side. */
  readonly inTurn?: (
    loaded: T['compared'],
    cases: readonly T['variant'][],
    options: CompareOptions,
  ) => Promise<CaseAnswers<T> | undefined>;
  /** shares says which case has a plan that serves another one too and is better there; there are none where cases share none. */
  shares(loaded: T['compared'], cases: readonly T['variant'][], answers: CaseAnswers<T>): readonly Shared[];
  /** head gives the part of a row that says what was asked for. */
  head(variant: T['variant']): Pick<CompareRow, 'mix' | 'sloMs'>;
  /** row reports a case by its answer, or by the plan that it shares. */
  row(answered: AnsweredCase<T>, loaded: T['compared']): Promise<ComparedRow>;
  /** isCut says whether a limit that was asked for ended the search for a case, or was not reached. */
  isCut(answer: T['answer'], options: CompareOptions): boolean;
}

/** AnsweredCase is a case that was planned, beside the others. */
export interface AnsweredCase<T extends KindTypes> {
  readonly variant: T['variant'];
  readonly answer: T['answer'];
  readonly share: Shared | undefined;
  readonly answers: CaseAnswers<T>;
}
