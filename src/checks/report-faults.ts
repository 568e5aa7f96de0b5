import type { ArtifactTypes, Fault } from '../formats/index.js';
import { comparisonFaults, verificationFaults } from './compared/index.js';
import { loadReportFaults } from './load/index.js';
import {
  schedulerComparisonFaults,
  simulationReportFaults,
  simulationSweepFaults,
} from './simulated/index.js';

/** AnyReport is a file that tells of runs, of a load or of comparisons. */
type AnyReport = ArtifactTypes[
  | 'simulation-report'
  | 'simulation-sweep'
  | 'scheduler-comparison'
  | 'comparison'
  | 'load-report'
  | 'verification'];

/** reportFaults finds where a report of any kind contradicts itself. */
export function reportFaults(report: AnyReport): Fault[] {
  switch (report.kind) {
    case 'simulation-report':
      return simulationReportFaults(report);
    case 'simulation-sweep':
      return simulationSweepFaults(report);
    case 'scheduler-comparison':
      return schedulerComparisonFaults(report);
    case 'comparison':
      return comparisonFaults(report);
    case 'load-report':
      return loadReportFaults(report);
    case 'verification':
      return verificationFaults(report);
  }
}
