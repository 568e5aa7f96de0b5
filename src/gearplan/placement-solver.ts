import { type HighsEngine, milpWork, type SolveOutcome } from '../lp/index.js';
import { atMostAll, boundOf, busyByCascade, type LoadedCascades, rangeBounds } from './best-gears.js';
import type { ModelPlacement } from './placement.js';
import { ACCURACY_PARTS, type PlacementGoal, PlacementModel, type StatedModel } from './placement-model.js';

/** The rounds in which constraints are added, of the LP and of the MILP; few are needed. */
const MOST_ROUNDS = 100;
/** A MILP of more choices is left to its LP: it would take minutes. */
const MOST_CHOICES = 2000;
/** The nodes of branch and bound that a question may take where nobody says. */
const DEFAULT_NODES = 500;
/** Objectives that differ by less are equal: a solver's tolerances are smaller. */
const SAME = 1e-6;
/** This many placements may be looked at to mend one. */
const MOST_MENDED = 2000;
/** This many numbers of devices are tried for one that reaches the accuracy. */
const MOST_COUNTS = 12;

/** SolvedPlacement is what was proved of all placements, and the best one that was found. */
export interface SolvedPlacement {
  /** Undefined where none was found that reaches the accuracy which is asked for. */
  readonly placement: ModelPlacement | undefined;
  /** No placement allows loads that never wait a higher accuracy, or fewer devices. */
  readonly bound: number;
  /** The nodes of branch and bound that it took. */
  readonly nodes: number;
}

/**
 * PlacementSolver finds the placement on which loads that never wait are served best by the cascades of a frontier.
 * @returns undefined where the solver proved nothing
 */
export type PlacementSolver = (
  searched: LoadedCascades,
  goal: PlacementGoal,
) => SolvedPlacement | 'infeasible' | undefined;

/**
 * placementSolver solves the MILP of placements with HiGHS. First comes the LP, whose constraints are added as its
 * solutions violate them; then its solution is rounded and mended by one device at a time, as long as that is better;
 * then, where that does not reach the LP's bound, the MILP of the choices which a better solution may have, if it is
 * small.
 * @param nodes limits the nodes of branch and bound of each question
 */
export function placementSolver(engine: HighsEngine, nodes: number = DEFAULT_NODES): PlacementSolver {
  return (searched, goal) => new PlacementSearch(searched, goal, engine).solve(nodes);
}

type Solved = Extract<SolveOutcome, { readonly values: Float64Array }>;

/** Rounds is the answer of a model whose constraints were added until its solution violates none. */
interface Rounds {
  readonly stated: StatedModel;
  readonly solved: Solved;
  /** The bound on the objective, which is made small. */
  readonly bound: number;
  readonly nodes: number;
}

/** Known is a placement with its objective. */
interface Known {
  readonly placement: ModelPlacement;
  readonly objective: number;
}

class PlacementSearch {
  private readonly model: PlacementModel;
  private looked = 0;

  constructor(
    private readonly searched: LoadedCascades,
    private readonly goal: PlacementGoal,
    private readonly engine: HighsEngine,
  ) {
    this.model = new PlacementModel(searched, goal);
  }

  solve(nodes: number): SolvedPlacement | 'infeasible' | undefined {
    const lp = this.rounds(false, nodes);
    if (lp === undefined || lp === 'infeasible') return lp;
    let known = this.known(lp.solved.values);
    const slack = this.slack(known, lp.bound);
    if (slack < 0) return this.answer(known, known?.objective as number);
    const { rowDuals } = lp.solved as { rowDuals?: Float64Array };
    if (Number.isFinite(slack) && rowDuals !== undefined) this.model.keepWorth(lp.stated, rowDuals, slack);
    if (this.model.choices.length > MOST_CHOICES) return this.answer(known, lp.bound);
    const milp = this.rounds(true, nodes);
    if (milp === undefined) return this.answer(known, lp.bound);
    // No choice that was kept is part of a better solution.
    if (milp === 'infeasible') return known === undefined ? milp : this.answer(known, known.objective);
    known = better(known, this.known(milp.solved.values));
    return this.answer(known, Math.max(lp.bound, milp.bound), milp.nodes);
  }

  /** slack is by how much the LP's objective may grow until no solution is better than the known one. */
  private slack(known: Known | undefined, bound: number): number {
    if (known === undefined) return Number.POSITIVE_INFINITY;
    const least = this.goal.kind === 'accuracy' ? SAME : 1 - SAME;
    return known.objective - least - bound;
  }

  private answer(known: Known | undefined, bound: number, nodes = 0): SolvedPlacement {
    const least = known === undefined ? bound : Math.min(known.objective, bound);
    const isReached = known !== undefined && known.objective - least <= SAME;
    return {
      placement: known?.placement,
      bound: this.figureOf(isReached ? known.objective : least),
      nodes,
    };
  }

  /** figureOf is the accuracy or number of devices of an objective. */
  private figureOf(objective: number): number {
    if (this.goal.kind === 'devices') return Math.ceil(objective - SAME);
    return atMostAll(this.model.mostAccuracy - objective / ACCURACY_PARTS);
  }

  private rounds(integer: boolean, nodes: number): Rounds | 'infeasible' | undefined {
    let bound = Number.NEGATIVE_INFINITY;
    let taken = 0;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const stated = this.model.state(integer);
      const solved = this.engine.solve(stated.model, integer ? milpWork(nodes - taken) : {});
      if (solved.status === 'infeasible') return 'infeasible';
      if (!('values' in solved)) return undefined;
      taken += solved.nodes;
      bound = Math.max(bound, solved.bound ?? Number.NEGATIVE_INFINITY);
      const isDone = !this.model.addViolated(solved.values) || taken >= nodes;
      if (isDone || solved.status === 'feasible') return { stated, solved, bound, nodes: taken };
    }
    return undefined;
  }

  /** known rounds a solution to whole devices, and mends it. */
  private known(values: Float64Array): Known | undefined {
    const { problem } = this.searched;
    if (this.goal.kind === 'accuracy') {
      const { placement, accuracy } = this.mended(this.model.placementOf(values, problem.devices));
      if (accuracy < 0) return undefined;
      return { placement, objective: ACCURACY_PARTS * (this.model.mostAccuracy - accuracy) };
    }
    const whole = this.model.sets.reduce((sum, _, i) => sum + (values[i] as number), 0);
    let devices = Math.ceil(whole - SAME);
    for (let count = 0; count < MOST_COUNTS && devices <= problem.devices; count++) {
      const { placement, accuracy } = this.mended(this.model.placementOf(values, devices));
      if (accuracy >= this.goal.accuracy) return { placement, objective: devices };
      devices += Math.max(1, Math.round(whole / 16));
    }
    return undefined;
  }

  /** mended exchanges what one device holds, as long as that makes a placement more accurate. */
  private mended(start: ModelPlacement): { readonly placement: ModelPlacement; readonly accuracy: number } {
    let best = { placement: start, accuracy: this.accuracyOf(start) };
    this.looked = 0;
    for (let before = Number.NEGATIVE_INFINITY; best.accuracy > before; ) {
      before = best.accuracy;
      for (const placement of this.neighbours(best.placement)) {
        if (++this.looked > MOST_MENDED) return best;
        const accuracy = this.accuracyOf(placement);
        if (accuracy > best.accuracy) best = { placement, accuracy };
      }
    }
    return best;
  }

  private neighbours(placement: ModelPlacement): ModelPlacement[] {
    return [...new Set(placement)].flatMap((held) =>
      this.model.sets.flatMap((other) =>
        other === held ? [] : [placement.with(placement.indexOf(held), other)],
      ),
    );
  }

  private accuracyOf(placement: ModelPlacement): number {
    const busy = busyByCascade(this.searched, placement);
    return boundOf(this.searched.problem, rangeBounds(this.searched, busy));
  }
}

function better(one: Known | undefined, other: Known | undefined): Known | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other.objective < one.objective ? other : one;
}
