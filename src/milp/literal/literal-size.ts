import type { PooledProblem } from '../problem.js';
import { classesOf, type ModelTable, modelTable } from '../tables/index.js';

/**
 * literalChoices counts the choices (v, b, i, j) of the literal formulation. Each is a binary and a whole number of
 * PPipe A.2. It counts without building the model, so it is cheap at any size.
 * @param copies pipelines of each sequence of classes
 */
export function literalChoices(problem: PooledProblem, copies: number): number {
  const classes = classesOf(problem);
  const longest = problem.planner.maxPartitions;
  const perModel = problem.models.map((_, m) => choicesOf(modelTable(problem, m), classes.names, longest));
  return copies * perModel.reduce((sum, n) => sum + n, 0);
}

function choicesOf(table: ModelTable, classes: readonly string[], longest: number): number {
  const rows = classes.map((_, k) => rowsOf(table, k));
  const perPlace = rows.reduce((sum, n) => sum + n, 0);
  const cuts = table.cuts.length - 2;
  let total = perPlace;
  for (let length = 2; length <= longest; length++) {
    const ranges = 2 * cuts + ((length - 2) * cuts * (cuts - 1)) / 2;
    total += ranges * perPlace * classes.length ** (length - 1);
  }
  return total;
}

/** The virtual sizes and batch sizes of a class that were measured. */
function rowsOf({ slots, batches, prefixUs }: ModelTable, k: number): number {
  let rows = 0;
  slots.forEach((slot, s) => {
    if (slot.classIndex !== k) return;
    for (let b = 0; b < batches.length; b++) if (prefixUs[s * batches.length + b] !== undefined) rows += 1;
  });
  return rows;
}
