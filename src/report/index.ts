/**
 * This room shows results to people.
 *
 * It takes result objects, and gives tables as values, sentences, and formatted figures. It draws and prints nothing:
 * `cli` does, with a table library. Start reading at `table.ts`, then the file of a command.
 */
export { bundleTable } from './bundle.js';
export { compareNotes, compareTable } from './compare.js';
export { deviceTable } from './devices.js';
export { diffHeadline, diffTable, fieldDiffTable, gearDiffTable, pipelineDiffTable } from './diff.js';
export {
  bindingText,
  classExplanationTable,
  infeasibilityTable,
  sloExplanationTable,
} from './explain.js';
export {
  answeredTable,
  cascadeLines,
  cascadeWindowTable,
  familyTable,
  frontierTable,
  gearHeadlines,
  gearTable,
  gearUseTable,
  heldTable,
  oneMoreLine,
} from './gears.js';
export { proposalTable, proposedDevicesTable } from './init.js';
export { answeredByLine, labelledLine, loadModelTable, loadTable } from './load.js';
export {
  pathTable,
  pipelineHeadline,
  planSetLine,
  planSetTable,
  sampleLines,
  setClassTable,
  stageChangeTable,
  stageClassTable,
  stageDiffTable,
  stageTable,
  standbyLines,
} from './pipeline.js';
export {
  classUseTable,
  holdLines,
  notHeldText,
  pipelineTable,
  planHeadline,
  timesText,
  timingLines,
} from './plan.js';
export {
  blockTable,
  boundaryChangeLine,
  chainLines,
  latencyTable,
  measuredText,
  warningLines,
} from './profile.js';
export { edgeTable, measuredLines, visitTable } from './sampled.js';
export {
  busyTable,
  dropTable,
  largestLoads,
  missedShares,
  outcomeTable,
  poolTable,
  runsTable,
  simulationHeadlines,
  splitTable,
  sweepTable,
  windowTable,
} from './simulate.js';
export { bytes, figure, milliseconds, percent, type Table } from './table.js';
export { requestsText, traceTable } from './trace.js';
export {
  causeLines,
  correctedLines,
  verifiedAnswersTable,
  verifiedExecutionTable,
  verifyTable,
  withinLines,
} from './verify.js';
