import type { DeployTarget } from './bundle.js';
import type { Emitted } from './common.js';

/** A bundle for another engine holds its lint report under this name. */
export const LINT_REPORT = 'lint.json';

/** LintReport is what is wrong with the files of a bundle for another engine, or may go wrong with them there. */
export interface LintReport extends Emitted {
  kind: 'lint-report';
  target: DeployTarget;
  /** The findings that the engine refuses, or that would not serve the plan. */
  faults: LintFinding[];
  /** The findings that may go wrong, or where the engine does otherwise than the plan. */
  warnings: LintFinding[];
}

/** LintFinding is a place in a file that breaks a rule. */
export interface LintFinding {
  /** The name of the rule, by which docs/targets.md explains it. */
  rule: string;
  /** The path of the file in the bundle. */
  file: string;
  /** The line, counted from 1; absent where the file as a whole is meant. */
  line?: number;
  /** The place in the file as a JSON pointer; empty where the file as a whole is meant. */
  path: string;
  message: string;
}
