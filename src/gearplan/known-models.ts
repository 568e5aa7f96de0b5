import { itemAt } from '../collections/index.js';
import type { FamilyModel } from './problem.js';
import type { ClassProblem, ResolvedCascade } from './resolve.js';

/**
 * KnownModels keeps the models of the last spec. The cascades of a family are remembered with its models, so that specs of
 * one family, which came one by one with models of their own, have their cascades found once.
 */
export class KnownModels {
  private last: readonly (readonly FamilyModel[])[] = [];

  /** in gives a spec in which models that are the same as those of the last spec are those of the last spec. */
  in(resolved: ResolvedCascade): ResolvedCascade {
    const classes = resolved.classes.map((of): ClassProblem => {
      const models = this.last.find((before) => areSame(before, of.problem.models));
      return models === undefined ? of : { ...of, problem: { ...of.problem, models } };
    });
    this.last = classes.map(({ problem }) => problem.models);
    return { ...resolved, classes };
  }
}

function areSame(some: readonly FamilyModel[], others: readonly FamilyModel[]): boolean {
  return some.length === others.length && some.every((one, i) => isSame(one, itemAt(others, i)));
}

function isSame(one: FamilyModel, other: FamilyModel): boolean {
  return (
    one.name === other.name &&
    one.memoryBytes === other.memoryBytes &&
    haveSame(one.latencyNs, other.latencyNs) &&
    haveSame(one.correct, other.correct) &&
    haveSame(one.certainty, other.certainty)
  );
}

function haveSame(some: Uint8Array | Float64Array, others: Uint8Array | Float64Array): boolean {
  return some.length === others.length && some.every((value, i) => value === others[i]);
}
