/**
 * This folder finds where reports of simulated runs, sweeps of loads and comparisons of schedulers contradict themselves, by the
 * definitions of docs/metrics.md alone. It simulates nothing.
 */
export { schedulerComparisonFaults } from './scheduler-comparison-faults.js';
export { simulationReportFaults } from './simulation-report-faults.js';
export { simulationSweepFaults } from './simulation-sweep-faults.js';
