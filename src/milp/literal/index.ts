/**
 * This folder states the formulation of PPipe A.1/A.2 as printed, repaired where it is too strict. Small instances are
 * checked against it.
 */

export { solveLiteral } from './literal.js';
export { literalChoices } from './literal-size.js';
