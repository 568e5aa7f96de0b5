import type { Change, PlanDiff } from '../api/index.js';
import { figure, percent, type Table } from './table.js';

/**
 * diffHeadline states in a sentence the change of the objective's value, and how many GPUs would serve something else.
 * Values of two kinds of objective stand side by side, without a percentage.
 */
export function diffHeadline({ objective, gpusMoved, same }: PlanDiff): string {
  if (same) return 'the plans are the same';
  const gpus = `${gpusMoved} GPU${gpusMoved === 1 ? '' : 's'} would serve something else`;
  const { kind, kindBefore, before, after } = objective;
  if (kindBefore !== undefined)
    return `${kindBefore} ${figure(before)} → ${kind} ${figure(after)}, which do not compare; ${gpus}`;
  return `${kind} ${arrow(objective)}; ${gpus}`;
}

/** diffTable lists the rates, SLOs and GPUs in use that differ. */
export function diffTable({ models, classes }: PlanDiff): Table {
  const rows = [
    ...models.flatMap(({ name, throughputRps, sloMs }) => [
      ...rowIfChanged(name, 'requests/s', throughputRps),
      ...rowIfChanged(name, 'SLO ms', sloMs),
    ]),
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

function rowIfChanged(name: string, what: string, { before, after }: Change, written = figure): string[][] {
  if (before === after) return [];
  const share = before === 0 ? '—' : `${after > before ? '+' : ''}${percent(after / before - 1)}`;
  return [[name, what, written(before), written(after), share]];
}

/** count writes a number of GPUs, without a fraction when it is whole. */
function count(gpus: number): string {
  return Number.isInteger(gpus) ? String(gpus) : figure(gpus);
}

function arrow({ before, after }: Change): string {
  const share = before === 0 ? '' : ` (${after >= before ? '+' : ''}${percent(after / before - 1)})`;
  return `${figure(before)} → ${figure(after)}${share}`;
}
