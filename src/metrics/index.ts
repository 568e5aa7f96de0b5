/**
 * This room turns events and outcomes into the figures that docs/metrics.md defines.
 *
 * It takes a run's events as plain numbers, or counts and latencies. It gives rates, percentiles (exact, or
 * from a histogram with a stated error), utilisations, batch sizes and parts of the latency. It reads no
 * clock and prints nothing. Start reading at `run-metrics.ts`.
 */

export { type CascadeFigures, CascadeFold, type CascadeWindow } from './cascade-fold.js';
export {
  attainmentOverRuns,
  CONFIDENCE,
  highestLowerEnd,
  meanOverRuns,
  type RunsFigure,
  type ShareFigure,
  shareOf,
} from './confidence.js';
export type { ClassFigures, LinkFigures, PoolFigures } from './device-fold.js';
export type { DeviceTimes } from './device-times.js';
export { HISTOGRAM_RELATIVE_ERROR, Histogram } from './histogram.js';
export { latencyHistogram } from './latency-histogram.js';
export { type LevelFigures, LevelFold, type LevelsFigures } from './level-fold.js';
export {
  noOutcomes,
  OUTCOMES,
  type OutcomeCounts,
  type OutcomeRates,
  outcomeRates,
  type RequestOutcome,
} from './outcomes.js';
export { type LatencySummary, quantileOfSorted, summarizeLatencies } from './percentiles.js';
export type { DropCount, LatencySplit, RequestFigures } from './request-fold.js';
export { type BatchView, type RunFigures, RunMetrics, type RunMetricsOptions } from './run-metrics.js';
export type { RunScaling, RunShape } from './run-shape.js';
export { ExactValues, summaryOf, type Values } from './values.js';
export { type WindowFigures, windowCells } from './window-fold.js';
export {
  type ComponentFigures,
  type WorkflowFigures,
  WorkflowMetrics,
  type WorkflowRequestFigures,
  type WorkflowShape,
} from './workflow-metrics.js';
export { type WorstFigures, WorstWindowFold } from './worst-window-fold.js';
