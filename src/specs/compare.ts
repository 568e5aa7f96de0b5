import {
  asOneRun,
  checkWritable,
  decodedText,
  everyInput,
  type InputPath,
  outputFiles,
  readWhole,
  refuseReplacing,
  withOwnFaults,
} from '../artifacts/index.js';
import { itemAt } from '../collections/index.js';
import { type Fault, fault, InputError, option, type ProfileFigures } from '../formats/index.js';
import { caseText } from './case-text.js';
import type { CompareOptions, Comparison } from './compare-options.js';
import { comparisonDocument, refuseUnknownEnding, saveComparison } from './comparison-file.js';
import { type AnySpec, refusing, usedSpec } from './every-fault.js';
import { withFrontier } from './frontier.js';
import { parseMix, type WrittenMix } from './mixes.js';
import { refuseMarked } from './refuse-marked.js';
import { type RefusedCase, sideBySide } from './side-by-side.js';
import { PLAN_KIND, type SpecKind } from './spec-kind.js';
import type { CaseAnswers, ComparedRow, ComparingOf, KindTypes, Prepared } from './spec-of.js';
import { type AnySpecTypes, specOf } from './specs.js';
import { sweepOf } from './sweeps.js';
import { refusedOptions } from './taken-options.js';

/**
 * compareSpec plans one spec for several clusters, SLOs, margins or accuracies, side by side on threads, and writes the
 * comparison where an output is named. Rows come in the order of the cases, whichever ends first. A case without a plan
 * has a row with its status and reasons. A case that an abort left unsolved has none.
 * @throws InputError with all faults of spec, cluster, profiles, mixes and sweeps, where more than 1000 cases are asked
 *   for, of options that are not for specs of this kind, where the output ends in neither `.json` nor `.csv` or would replace
 *   one of the files, or as `refuseMarked` does where `strictProfile` is asked for; MissingError where files are only missing
 */
export function compareSpec(path: string, options: CompareOptions): Promise<Comparison> {
  return asOneRun(() => comparedSpec(path, options), options.signal);
}

async function comparedSpec(path: string, options: CompareOptions): Promise<Comparison> {
  const { output } = options;
  const writable = output === undefined ? Promise.resolve() : checkOutput(output);
  // Once the spec is read, its path could not be written; that is reported below, with the option.
  await writable.catch(() => {});
  const reading = writtenMixes(options);
  const known = await reading.catch(() => undefined);
  const task = `compare mixes of ${path}`;
  const loading = usedSpec(path, (spec) => loadedToCompare(spec, known, options));
  const [, , { kind, comparing, ...asked }] = await everyInput<[unknown, unknown, LoadedToCompare]>(task, [
    writable,
    reading,
    withOwnFaults(task, loading, () => writtenFaults(known, options)),
  ]);
  const found = await compared(comparing, asked, { path, options });
  return { ...found, planKind: PLAN_KIND[kind] };
}

/** A file of mixes may be so long: each of the 1000 cases that are compared at most has then a kilobyte. */
const MOST_MIX_BYTES = 1024 * 1024;

/** LoadedToCompare is a spec, with what its kind answers. */
interface LoadedToCompare {
  readonly kind: SpecKind;
  readonly comparing: ComparingOf<AnySpecTypes>;
  readonly loaded: AnySpecTypes['compared'];
  readonly cases: readonly AnySpecTypes['variant'][];
}

/** @param mixes undefined where they cannot be read, so that nothing is said of cases */
async function loadedToCompare(
  spec: AnySpec,
  mixes: readonly WrittenMix[] | undefined,
  options: CompareOptions,
): Promise<LoadedToCompare> {
  const asked = await specOf(spec.kind);
  const comparing: ComparingOf<AnySpecTypes> = await asked.comparing();
  const task = `compare ${spec.path}`;
  const [, loaded] = await everyInput<[unknown, AnySpecTypes['compared']]>(task, [
    comparing.refuse(spec, options),
    // Where the files can be used, options that are not for the kind are reported with mixes and sweeps.
    withOwnFaults(task, comparing.load(spec), () => refusedOptions(comparing.options, options)),
  ]);
  const cases =
    mixes === undefined ? [] : await casesOf(comparing, loaded, { path: spec.path, mixes, options });
  return { kind: spec.kind, comparing, loaded, cases };
}

/** writtenFaults says what is wrong with mixes and sweeps whatever the spec is. */
function writtenFaults(mixes: readonly WrittenMix[] = [], { sweeps = [] }: CompareOptions): Fault[] {
  const told: Fault[] = [];
  for (const mix of mixes) parseMix(mix, undefined, told);
  sweepOf(sweeps, told);
  return told;
}

/** casesOf lists the cases. Where mixes or sweeps are wrong, what does not fit together in the spec is reported as well. */
async function casesOf<T extends KindTypes>(
  comparing: ComparingOf<T>,
  loaded: T['compared'],
  { path, mixes, options }: AskedCases,
): Promise<readonly T['variant'][]> {
  const { budget, sweeps = [] } = options;
  const told = refusedOptions(comparing.options, options);
  try {
    return comparing.cases(loaded, { mixes, budget, sweeps }, told);
  } catch (error) {
    const fitting = refusing(() => comparing.prepare(loaded, [], options));
    await everyInput(`compare ${path}`, [Promise.reject(error), fitting]);
    throw error;
  }
}

async function checkOutput(output: string): Promise<void> {
  refuseUnknownEnding(output);
  await checkWritable(output);
}

interface Asked {
  readonly path: string;
  readonly options: CompareOptions;
}

interface AskedCases extends Asked {
  readonly mixes: readonly WrittenMix[];
}

async function compared<T extends KindTypes>(
  comparing: ComparingOf<T>,
  { loaded, cases }: { readonly loaded: T['compared']; readonly cases: readonly T['variant'][] },
  { path, options }: Asked,
): Promise<Omit<Comparison, 'planKind'>> {
  const { output, mixFile } = options;
  const named: InputPath[] = mixFile === undefined ? [] : [{ what: 'the file of mixes', path: mixFile }];
  await refuseReplacing(`compare ${path}`, outputFiles({ output }), [...loaded.read, ...named]);
  const prepared = comparing.prepare(loaded, cases, options);
  const jobOf = (variant: T['variant']) => comparing.jobOf(loaded, variant, options);
  if (options.strictProfile) refuseMarked(path, figuresOf(prepared, { cases, jobOf }));
  const answers =
    (await comparing.inTurn?.(loaded, cases, options)) ??
    (await planned(comparing, { cases, jobOf }, options));
  if (options.hold !== undefined) refuseUnconfirmable(path, answers);
  const rows = await rowsOf(comparing, loaded, { cases, answers });
  const marked = rows.map(({ row }) => row);
  const nothingHeld = options.hold !== undefined && rows.length > 0 && rows.every(hasNoPlan);
  const document = comparisonDocument(comparing.hasFrontier ? withFrontier(marked) : marked, {
    cases: cases.length,
    notes: [...prepared.notes, ...new Set(rows.flatMap(({ notes = [] }) => notes))],
    currency: prepared.currency,
    inputs: loaded.inputs(output),
    ...(options.hold === undefined || rows.length === 0
      ? {}
      : { checks: [{ what: 'hold', threshold: options.hold, held: !nothingHeld }] }),
  });
  if (output !== undefined) await saveComparison(output, document);
  const limitReached = answers.some(
    (one) => one !== undefined && !('refused' in one) && comparing.isCut(one, options),
  );
  return { document, limitReached, nothingHeld };
}

/** hasNoPlan says of a row that no plan was found for it, or that there is none. */
function hasNoPlan({ row: { status } }: ComparedRow): boolean {
  return status === 'no-plan-in-time' || status === 'infeasible';
}

/** refuseUnconfirmable refuses a comparison in which no case can be searched for what it holds, as a search alone is refused. */
function refuseUnconfirmable<T extends KindTypes>(path: string, answers: CaseAnswers<T>): void {
  const refusals = answers.flatMap((one) => (one !== undefined && 'refused' in one ? one.refused : []));
  const isAll = answers.every((one) => one !== undefined && 'refused' in one);
  if (!isAll || refusals.length === 0) return;
  throw new InputError(
    `compare ${path}`,
    [...new Set(refusals)].map((said) => fault(said, option('hold'))),
  );
}

interface CasesWithJobs<T extends KindTypes> {
  readonly cases: readonly T['variant'][];
  readonly jobOf: (variant: T['variant']) => T['job'] | RefusedCase;
}

/** figuresOf names the figures that a plan of any case could be made of. A case that is refused has none. */
function figuresOf<T extends KindTypes>(
  { figures }: Prepared<T>,
  { cases, jobOf }: CasesWithJobs<T>,
): readonly ProfileFigures[] {
  if (typeof figures !== 'function') return figures;
  return cases.flatMap((variant) => {
    const job = jobOf(variant);
    return 'refused' in job ? [] : figures(job);
  });
}

/** planned plans all cases side by side. */
function planned<T extends KindTypes>(
  { thread, isWhole }: ComparingOf<T>,
  { cases, jobOf }: CasesWithJobs<T>,
  options: CompareOptions,
): Promise<CaseAnswers<T>> {
  return sideBySide<T['job'], T['answer']>(cases.length, {
    thread,
    jobOf: (i) => {
      const variant = itemAt(cases, i);
      const job = jobOf(variant);
      return 'refused' in job ? job : { name: caseText(variant), job };
    },
    isWhole,
    ...options,
  });
}

/** rowsOf makes the rows of the cases that have an answer. */
async function rowsOf<T extends KindTypes>(
  comparing: ComparingOf<T>,
  loaded: T['compared'],
  { cases, answers }: { readonly cases: readonly T['variant'][]; readonly answers: CaseAnswers<T> },
): Promise<ComparedRow[]> {
  const shares = comparing.shares(loaded, cases, answers);
  const rows: ComparedRow[] = [];
  for (const [i, answer] of answers.entries()) {
    if (answer === undefined) continue;
    const variant = itemAt(cases, i);
    if ('refused' in answer)
      rows.push({ row: { ...comparing.head(variant), status: 'infeasible', reasons: answer.refused } });
    else rows.push(await comparing.row({ variant, answer, share: shares[i], answers }, loaded));
  }
  return rows;
}

async function writtenMixes({ mixes = [], mixFile }: CompareOptions): Promise<WrittenMix[]> {
  const given = mixes.map((text) => ({ text, at: `${option('mixes')} "${text}"` }));
  if (mixFile === undefined) return given;
  const text = decodedText(await readWhole(mixFile, MOST_MIX_BYTES), mixFile);
  const lines = text.split('\n').map((line, i) => ({ text: line.trim(), at: `${mixFile}:${i + 1}` }));
  return [...given, ...lines.filter((line) => line.text !== '' && !line.text.startsWith('#'))];
}
