import type { Cascade, FamilyModel } from '../../../src/gearplan/index.js';

/** Tried is a cascade that was tried sample by sample. */
export interface Tried extends Omit<Cascade, 'models' | 'thresholds' | 'visits'> {
  readonly models: number[];
  readonly thresholds: number[];
  readonly visits: number[];
}

/** figuresOf sends every sample through a cascade, one after another. */
export function figuresOf(
  models: readonly FamilyModel[],
  { chosen, levels, quantile }: { chosen: number[]; levels: number[]; quantile: number },
): Tried {
  const samples = models[0]!.correct.length;
  const comes = chosen.map(() => 0);
  let right = 0;
  const floors: number[] = [];
  for (let s = 0; s < samples; s++) {
    let floorNs = 0;
    for (const [step, m] of chosen.entries()) {
      comes[step]! += 1;
      floorNs += Math.min(...models[m]!.latencyNs);
      if (step < levels.length && models[m]!.certainty[s]! < levels[step]!) continue;
      right += models[m]!.correct[s]!;
      break;
    }
    floors.push(floorNs);
  }
  const visits = comes.map((count) => count / samples);
  const least = (m: number) => Math.min(...models[m]!.latencyNs.map((ns, b) => ns / (b + 1)));
  floors.sort((a, b) => a - b);
  return {
    models: chosen,
    thresholds: levels,
    visits,
    accuracy: right / samples,
    workNs: chosen.reduce((sum, m, step) => sum + visits[step]! * least(m), 0),
    floorNs: floors[Math.ceil(quantile * samples - 1e-9) - 1]!,
  };
}

/**
 * allCascades lists every cascade of up to so many models in any order, with every threshold that tells samples apart, each
 * tried sample by sample.
 * @param most only so many thresholds of each model, evenly spaced among these
 */
export function allCascades(
  models: readonly FamilyModel[],
  {
    quantile,
    longest = 4,
    most = Number.POSITIVE_INFINITY,
  }: { quantile: number; longest?: number; most?: number },
): Tried[] {
  const levelsOf = models.map(({ certainty }) => {
    const distinct = [...new Set(certainty)].sort((a, b) => a - b);
    // A level above all certainties lets every sample go on.
    const levels = [...distinct.slice(1), distinct.at(-1)! + 1];
    const step = Math.max(1, levels.length / most);
    return Array.from(
      { length: Math.min(most, levels.length) },
      (_, i) => levels[Math.floor((i + 0.5) * step)]!,
    );
  });
  const all: Tried[] = [];
  const extend = (chosen: number[], levels: number[]) => {
    if (chosen.length > 0) all.push(figuresOf(models, { chosen, levels, quantile }));
    if (chosen.length === longest) return;
    for (let next = 0; next < models.length; next++) {
      if (chosen.includes(next)) continue;
      if (chosen.length === 0) extend([next], []);
      else for (const level of levelsOf[chosen.at(-1)!]!) extend([...chosen, next], [...levels, level]);
    }
  };
  extend([], []);
  return all;
}
