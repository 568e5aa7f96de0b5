import type {
  CauseParts,
  CorrectedProfile,
  Verification,
  VerifiedAnswers,
  VerifiedFigure,
  VerifiedFigureName,
} from '../formats/index.js';
import { stageMark } from '../formats/index.js';
import { count, figure, milliseconds, orDash, percent, type Table } from './table.js';

interface FigureWords {
  readonly name: string;
  readonly written: (value: number) => string;
}

const share: FigureWords['written'] = (value) => percent(value, 2);
const ms: FigureWords['written'] = (value) => `${figure(value)} ms`;

const WORDS: Readonly<Record<VerifiedFigureName, FigureWords>> = {
  attainment: { name: 'attainment', written: share },
  dropRate: { name: 'drop rate', written: share },
  goodputRps: { name: 'goodput/s', written: figure },
  throughputRps: { name: 'throughput/s', written: figure },
  meanLatencyMs: { name: 'latency mean', written: ms },
  p50LatencyMs: { name: 'latency p50', written: ms },
  p90LatencyMs: { name: 'latency p90', written: ms },
  p95LatencyMs: { name: 'latency p95', written: ms },
  p99LatencyMs: { name: 'latency p99', written: ms },
  batches: { name: 'batches', written: count },
  accuracy: { name: 'accuracy', written: share },
};

/** verifyTable has one row per figure, of all requests or of one model's: simulated, live, and the difference. */
export function verifyTable(figures: readonly VerifiedFigure[], of = 'figure'): Table {
  return {
    columns: [of, 'simulated', 'live', 'difference'],
    rows: figures.map(({ name, simulated, live, difference }) => {
      const { name: said, written } = WORDS[name];
      return [
        said,
        ...[simulated, live].map((value) => orDash(value, written)),
        differenceText(name, difference),
      ];
    }),
  };
}

function differenceText(name: VerifiedFigureName, difference: number | undefined): string {
  if (difference === undefined) return '—';
  const sign = difference < 0 ? '−' : '+';
  const size = Math.abs(difference);
  const isShare = name === 'attainment' || name === 'dropRate' || name === 'accuracy';
  return `${sign}${isShare ? `${(100 * size).toFixed(2)} points` : WORDS[name].written(size)}`;
}

/** verifiedAnswersTable has one row per model of a cascade: its share of the answers, simulated and live. */
export function verifiedAnswersTable(answers: readonly VerifiedAnswers[]): Table {
  return {
    columns: ['answered by', 'simulated', 'live'],
    rows: answers.map(({ stage, simulated, live }) => [stage, share(simulated), share(live)]),
  };
}

/** verifiedExecutionTable has one row per size of batch of each partition. */
export function verifiedExecutionTable({ executions }: Verification): Table {
  return {
    columns: ['model', 'part', 'on', 'batch', 'planned ms', 'measured ms', 'factor', 'simulated', 'live'],
    spare: ['simulated', 'live', 'model', 'planned ms', 'measured ms'],
    rows: executions.map((one) => [
      one.model,
      stageMark(one),
      `1/${one.virtual} ${one.class}`,
      String(one.batch),
      orDash(one.plannedUs, milliseconds),
      orDash(one.measuredUs, milliseconds),
      orDash(one.factor, figure),
      count(one.simulatedBatches),
      count(one.liveBatches),
    ]),
  };
}

/** causeLines says in sentences what the differences come from. There is none where that is not known. */
export function causeLines({ causes, figures }: Verification): string[] {
  if (causes === undefined) return [];
  const of = (name: VerifiedFigureName): number =>
    figures.find((found) => found.name === name)?.difference ?? 0;
  const { attainment, meanLatencyMs, p95LatencyMs, frontMs } = causes;
  const points = (value: number): string => signed(100 * value, (size) => `${size.toFixed(2)} points`);
  const milli = (value: number): string => signed(value, ms);
  return [
    ...(attainment === undefined
      ? []
      : [`attainment ${points(of('attainment'))}: ${partsText(attainment, points)}`]),
    `mean latency ${milli(of('meanLatencyMs'))}: ${partsText(meanLatencyMs, milli)}`,
    `p95 ${milli(of('p95LatencyMs'))}: ${partsText(p95LatencyMs, milli)}`,
    `executions are those that took longer or shorter than planned, the front is sending, HTTP and parsing (${ms(frontMs)} a request), and queueing is the rest`,
  ];
}

/**
 * withinLines says whether the attainments are as near as was asked, where it was asked: that of all requests, and that of
 * each model that differs by more than is allowed.
 */
export function withinLines({ within, figures, models }: Verification): string[] {
  if (within === undefined) return [];
  const { allowed } = within;
  const further = models.filter((model) => attainmentOff(model.figures) > allowed);
  return [
    withinLine('the attainments', attainmentOff(figures), allowed),
    ...further.map((model) =>
      withinLine(`the attainments of ${model.name}`, attainmentOff(model.figures), allowed),
    ),
  ];
}

function attainmentOff(figures: Verification['figures']): number {
  const { simulated = 0, live = 0 } = figures.find(({ name }) => name === 'attainment') ?? {};
  return Math.abs(live - simulated);
}

function withinLine(what: string, off: number, allowed: number): string {
  const said = off <= allowed ? 'within' : 'more than';
  return `${what} differ by ${(100 * off).toFixed(2)} points, ${said} the ${figure(100 * allowed)} that are allowed`;
}

function partsText({ executions, front, queueing }: CauseParts, text: (value: number) => string): string {
  return `${text(executions)} from executions, ${text(front)} from the front, ${text(queueing)} from queueing`;
}

function signed(value: number, text: (size: number) => string): string {
  return `${value < 0 ? '−' : '+'}${text(Math.abs(value))}`;
}

/** correctedLines says which cells of a profile were corrected, and which were not. */
export function correctedLines({ model, cells, kept }: CorrectedProfile): string[] {
  const said = cells.map((cell) => `${cellText(cell)} × ${figure(cell.factor)}`);
  const left = kept.map(cellText);
  return [
    `${model}: ${said.join(', ')}`,
    ...(left.length === 0 ? [] : [`${model}: not measured, and left as it was: ${left.join(', ')}`]),
  ];
}

function cellText({
  class: name,
  virtual,
  batch,
}: Pick<CorrectedProfile['kept'][number], 'class' | 'virtual' | 'batch'>): string {
  return `${virtual === 1 ? '' : `1/${virtual} `}${name} batch ${batch}`;
}
