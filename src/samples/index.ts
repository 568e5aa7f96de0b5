/**
 * This room runs sample requests through the models of a pipeline, and counts what their verdicts choose, or through
 * the program of a workflow, and records what it calls.
 *
 * Files of requests and the stages of a spec go in; scale factors and probabilities with their confidence intervals come
 * out, or the verdicts themselves. Rows are fed, and verdicts read, by the code that serves them. The room measures no
 * time, and writes no files. Start reading at `run-samples.ts`, then `count.ts`.
 */
export { type CountedEdge, type CountedStage, countVerdicts, unplannable, verdictLines } from './count.js';
export { inputsOfSamples } from './described.js';
export { type FamilyRun, type RunModel, recordFamily } from './family.js';
export { type LabelledFiles, readLabelled } from './labelled.js';
export type { Labelled, ReadLabels } from './labels.js';
export { numbersIn } from './numbers.js';
export { type ReadSamples, readSamples, type SampleFile } from './read-samples.js';
export {
  type CalledComponent,
  type RecordedSamples,
  type RecordOptions,
  RunRecorder,
} from './record-runs.js';
export { type RowVerdicts, runSamples } from './run-samples.js';
