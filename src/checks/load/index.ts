/**
 * This folder finds where a report of a load contradicts itself, by the definitions of docs/metrics.md alone.
 */
export { loadReportFaults } from './load-report-faults.js';
