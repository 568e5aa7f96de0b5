/**
 * This room shows results to people.
 *
 * It takes result objects, and gives tables as values, sentences, and formatted figures. It draws and prints nothing:
 * `cli` does, with a table library. Start reading at `table.ts`, then the file of a command; what plans of one kind have of
 * their own is in `kinds/`, where `kinds.ts` has an entry for each.
 */
export { bundleTable } from './bundle.js';
export { checkLine, missedLines } from './checks.js';
export {
  annotations,
  type CiCase,
  type CiReport,
  checkCases,
  isBad,
  junitText,
  pointCases,
  rowCases,
  schedulerCases,
  summaryText,
} from './ci/index.js';
export { compareHeadline, compareNotes, compareTable } from './compare.js';
export { deviceTable } from './devices.js';
export { differenceParts, diffHeadline, diffTable } from './diff.js';
export { engineLines } from './engine.js';
export { foundDevicesTable, proposalLine, proposalTable, proposedDevicesTable } from './init.js';
export { infeasibilityTable } from './kinds/explain.js';
export { familyTable } from './kinds/gears.js';
export { solvedParts, solvedRemarks } from './kinds/kinds.js';
export { planSetParts } from './kinds/pipeline.js';
export { notHeldText, timingLines } from './kinds/pooled.js';
export { answeredByLine, labelledLine, loadModelTable, loadPriorityTable, loadTable } from './load.js';
export {
  blockTable,
  boundaryChangeLine,
  chainLines,
  latencyTable,
  measuredText,
  warningLines,
} from './profile.js';
export { callTable, edgeTable, measuredLines, visitTable } from './sampled.js';
export { schedulersParts } from './scheduler-comparison.js';
export { largestLoads, simulationParts, sweepTable } from './simulate.js';
export { bytes, figure, milliseconds, type Part, percent, type Table } from './table.js';
export { requestsText, traceTable, windowText } from './trace.js';
export { uncheckedNote } from './unchecked.js';
export {
  causeLines,
  correctedLines,
  verifiedAnswersTable,
  verifiedExecutionTable,
  verifyTable,
  withinLines,
} from './verify.js';
export { groupedWarnings } from './warnings.js';
