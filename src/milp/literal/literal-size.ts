import type { PooledProblem } from '../problem.js';
import { classesOf, type ModelTable, modelTable } from '../tables/index.js';

/**
 * literalChoices counts the choices (v, b, i, j) of the literal formulation over all its pipelines and partitions. Each
 * is a binary and a whole number of PPipe A.2. The count includes choices whose weights exceed a GPU's memory, which
 * the formulation leaves out. It does not build the model, so it is cheap at any size.
 * @param copies pipelines of each sequence of classes
 */
export function literalChoices(problem: PooledProblem, copies: number): number {
  const classes = classesOf(problem);
  const longest = problem.planner.maxPartitions;
  const perModel = problem.models.map((_, m) =>
    choicesOf(modelTable(problem, m), classes.names.length, longest),
  );
  return copies * perModel.reduce((sum, n) => sum + n, 0);
}

function choicesOf({ cuts, latencies }: ModelTable, classes: number, longest: number): number {
  const perPlace = latencies.filter((row) => row !== undefined).length;
  const inside = cuts.length - 2;
  let total = perPlace;
  for (let length = 2; length <= longest; length++) {
    const ranges = 2 * inside + ((length - 2) * inside * (inside - 1)) / 2;
    total += ranges * perPlace * classes ** (length - 1);
  }
  return total;
}
