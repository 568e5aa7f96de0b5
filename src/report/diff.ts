import { type Changed, type ChangedWords, counted, type PlanDifference } from '../artifacts/index.js';
import type { PlanDiff } from '../plans/index.js';
import { differenceTables } from './kinds/kinds.js';
import { apart, figure, gpusText, orDash, type Part, percent, type Table } from './table.js';

/** differenceParts show what two plans differ in. */
export function differenceParts(difference: PlanDifference): Part[] {
  const tables = [diffTable(difference), ...differenceTables(difference), fieldDiffTable(difference)];
  return [diffHeadline(difference), ...apart(tables)];
}

/**
 * diffHeadline states in a sentence the change of the objective's value, and how many GPUs would serve something else.
 * Values of two kinds of objective stand side by side, without a percentage.
 */
export function diffHeadline({ objective, gpusMoved, same }: PlanDiff): string {
  if (same) return 'the plans are the same';
  const gpus = `${counted(gpusMoved, 'device')} would serve something else`;
  const { kind, kindBefore, before, after } = objective;
  if (kindBefore !== undefined)
    return `${kindBefore} ${figure(before)} → ${kind} ${figure(after)}, which do not compare; ${gpus}`;
  return `${kind} ${arrow(objective)}; ${gpus}`;
}

/** diffTable lists the rates, those that are held, SLOs, accuracies, objectives and GPUs in use that differ. */
export function diffTable({ models, classes }: Pick<PlanDifference, 'models' | 'classes'>): Table {
  const rows = [
    ...models.flatMap(
      ({ name, throughputRps, heldRps = {}, sloMs, accuracy = {}, p95Ms = {}, objectives, switching }) => [
        ...rowIfChanged(name, 'requests/s', throughputRps),
        ...rowIfChanged(name, 'held requests/s', heldRps),
        ...rowIfChanged(name, 'SLO ms', sloMs),
        ...rowIfChanged(name, 'accuracy', accuracy, accuracyText),
        ...rowIfChanged(name, 'p95 ms', p95Ms),
        ...rowOfWords(name, 'objectives', objectives),
        ...rowOfWords(name, 'served by', switching),
      ],
    ),
    ...classes.flatMap(({ name, used }) => rowIfChanged(name, 'devices in use', used, gpusText)),
  ];
  return { columns: ['of', 'what', 'before', 'after', 'change'], rows };
}

/** rowIfChanged gives a row for a figure that differs. A side without it has a dash. */
function rowIfChanged(
  name: string,
  what: string,
  { before, after }: Partial<Changed>,
  written = figure,
): string[][] {
  if (before === after) return [];
  const share =
    before === undefined || before === 0 || after === undefined
      ? '—'
      : `${after > before ? '+' : ''}${percent(after / before - 1)}`;
  return [[name, what, orDash(before, written), orDash(after, written), share]];
}

function rowOfWords(name: string, what: string, words: ChangedWords | undefined): string[][] {
  return words === undefined ? [] : [[name, what, words.before ?? '—', words.after ?? '—', '—']];
}

/** fieldDiffTable lists the further fields that differ. */
export function fieldDiffTable({ fields = [] }: Pick<PlanDifference, 'fields'>): Table {
  const rows = fields.map(({ path, before = '—', after = '—' }) => [path, before, after]);
  return { columns: ['field', 'before', 'after'], rows };
}

function accuracyText(share: number): string {
  return percent(share, 2);
}

function arrow({ before, after }: Changed): string {
  const share = before === 0 ? '' : ` (${after >= before ? '+' : ''}${percent(after / before - 1)})`;
  return `${figure(before)} → ${figure(after)}${share}`;
}
