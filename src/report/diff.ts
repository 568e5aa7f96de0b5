import { type Changed, type ChangedWords, counted, type PlanDifference } from '../artifacts/index.js';
import type { PlanDiff } from '../plans/index.js';
import { figure, orDash, percent, type Table } from './table.js';

/**
 * diffHeadline states in a sentence the change of the objective's value, and how many GPUs would serve something else.
 * Values of two kinds of objective stand side by side, without a percentage.
 */
export function diffHeadline({ objective, gpusMoved, same }: PlanDiff): string {
  if (same) return 'the plans are the same';
  const gpus = `${counted(gpusMoved, 'GPU')} would serve something else`;
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
    ...classes.flatMap(({ name, used }) => rowIfChanged(name, 'GPUs in use', used, count)),
  ];
  return { columns: ['of', 'what', 'before', 'after', 'change'], rows };
}

/** pipelineDiffTable lists the pipelines that come, go or change their rate. */
export function pipelineDiffTable({ models }: PlanDiff): Table {
  const rows = models.flatMap(({ name, pipelines }) =>
    pipelines.map(({ pipeline, throughputRps, gpus }) => [
      name,
      pipeline,
      `${figure(throughputRps.before)} → ${figure(throughputRps.after)}`,
      `${count(gpus.before)} → ${count(gpus.after)}`,
    ]),
  );
  return { columns: ['model', 'pipeline', 'requests/s', 'GPUs'], rows };
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

/** gearDiffTable lists the loads that two plans of cascades serve differently. */
export function gearDiffTable({ gears = [] }: Pick<PlanDifference, 'gears'>): Table {
  const rows = gears.flatMap(({ fromRps, toRps, cascade, batching, accuracy, p95Ms, sharesDiffer }) => {
    const loads = `${figure(fromRps)} to ${figure(toRps)}`;
    const changed = [
      ['cascade', cascade.before ?? '—', cascade.after ?? '—'],
      ['batches of', batching.before ?? '—', batching.after ?? '—'],
      ['accuracy', orDash(accuracy.before, accuracyText), orDash(accuracy.after, accuracyText)],
      ['p95 ms', orDash(p95Ms.before, figure), orDash(p95Ms.after, figure)],
    ].filter(([, before, after]) => before !== after);
    const shares = sharesDiffer ? [['shares of devices', '', 'others']] : [];
    return [...changed, ...shares].map((row) => [loads, ...row]);
  });
  return { columns: ['requests/s', 'what', 'before', 'after'], rows };
}

function accuracyText(share: number): string {
  return percent(share, 2);
}

/** count writes a number of GPUs, without a fraction when it is whole. */
function count(gpus: number): string {
  return Number.isInteger(gpus) ? String(gpus) : figure(gpus);
}

function arrow({ before, after }: Changed): string {
  const share = before === 0 ? '' : ` (${after >= before ? '+' : ''}${percent(after / before - 1)})`;
  return `${figure(before)} → ${figure(after)}${share}`;
}
