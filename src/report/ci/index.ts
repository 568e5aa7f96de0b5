/**
 * This folder writes verdicts as CI systems read them: JUnit's XML, annotations and Markdown of GitHub. It takes verdicts and
 * what is shown to people as values, and gives text. It reads no files, prints nothing and judges nothing.
 */
export { checkCases, pointCases, rowCases, schedulerCases } from './cases.js';
export { annotations, summaryText } from './github.js';
export { junitText } from './junit.js';
export { type CiCase, type CiFault, type CiReport, isBad } from './verdict.js';
