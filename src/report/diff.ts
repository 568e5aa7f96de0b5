import { type Changed, type ChangedWords, counted, type PlanDifference } from '../formats/index.js';
import type { PlanDiff } from '../plans/index.js';
import { differenceTables } from './kinds/kinds.js';
import {
  apart,
  decimals,
  figure,
  gpusText,
  orDash,
  type Part,
  percent,
  perHour,
  type Table,
} from './table.js';

/** differenceParts show what two plans differ in. */
export function differenceParts(difference: PlanDifference): Part[] {
  const tables = [diffTable(difference), ...differenceTables(difference), fieldDiffTable(difference)];
  return [diffHeadline(difference), ...apart(tables)];
}

/** Headed is what the first line tells of. */
type Headed = PlanDiff & Pick<PlanDifference, 'currency'>;

/**
 * diffHeadline states in a sentence the change of the objective's value, and how many GPUs would serve something else.
 * Values of two kinds of objective stand side by side, without a percentage.
 */
export function diffHeadline({ objective, gpusMoved, same, currency }: Headed): string {
  if (same) return 'the plans are the same';
  const gpus = `${counted(gpusMoved, 'device')} would serve something else`;
  const { kind, kindBefore, before, after } = objective;
  if (kindBefore !== undefined)
    return `${kindBefore} ${figure(before)} → ${kind} ${figure(after)}, which do not compare; ${gpus}`;
  if (kind === 'cost' && currency !== undefined)
    return `${kind} ${perHour(before, { currency: currency.before })} → ${perHour(after, { currency: currency.after })}, which do not compare; ${gpus}`;
  return `${kind} ${arrow(objective, kind === 'accuracy')}; ${gpus}`;
}

/** diffTable lists the rates, those that are held, SLOs, accuracies, objectives, devices in use and their cost that differ. */
export function diffTable({
  models,
  classes,
  hourlyCost,
  currency,
}: Pick<PlanDifference, 'models' | 'classes' | 'hourlyCost' | 'currency'>): Table {
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
    ...costRows(hourlyCost, currency),
  ];
  return { columns: ['of', 'what', 'before', 'after', 'change'], rows };
}

/** costRows gives what devices in use cost, where that differs: prices of two currencies side by side, without a share. */
function costRows(
  hourlyCost: Changed | undefined,
  currency: PlanDifference['currency'],
): readonly string[][] {
  if (hourlyCost === undefined || currency === undefined)
    return rowIfChanged('plan', 'cost per hour', hourlyCost ?? {});
  const { before, after } = hourlyCost;
  const written = (cost: number, unit: string | undefined) => perHour(cost, { currency: unit });
  return [['plan', 'cost', written(before, currency.before), written(after, currency.after), '—']];
}

/** rowIfChanged gives a row for a figure that differs. A side without it has a dash. */
function rowIfChanged(
  name: string,
  what: string,
  { before, after }: Partial<Changed>,
  written = figure,
): string[][] {
  if (before === after) return [];
  const isBoth = before !== undefined && after !== undefined;
  const change = isBoth ? changeText({ before, after }, written === accuracyText) : undefined;
  return [[name, what, orDash(before, written), orDash(after, written), change ?? '—']];
}

/** changeText says by which share a figure changes, and by how many points a share does; nothing of one that was 0. */
function changeText({ before, after }: Changed, isShare: boolean): string | undefined {
  const sign = after >= before ? '+' : '';
  if (isShare) return `${sign}${decimals(100 * (after - before), 2)} points`;
  return before === 0 ? undefined : `${sign}${percent(after / before - 1)}`;
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

function arrow(changed: Changed, isShare: boolean): string {
  const written = isShare ? accuracyText : figure;
  const change = changeText(changed, isShare);
  return `${written(changed.before)} → ${written(changed.after)}${change === undefined ? '' : ` (${change})`}`;
}
