import type { LintRule } from '../../lint/lint.js';
import { MODEL_RULES } from './rules-models.js';
import { QUEUE_RULES } from './rules-queues.js';
import { SERVER_RULES } from './rules-servers.js';
import { WARNINGS } from './rules-warnings.js';

/** TRITON_RULES are the rules of bundles for Triton. */
export const TRITON_RULES: readonly LintRule[] = [
  ...MODEL_RULES,
  ...QUEUE_RULES,
  ...SERVER_RULES,
  ...WARNINGS,
];
