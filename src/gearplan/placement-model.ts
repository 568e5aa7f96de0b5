import { itemAt } from '../collections/index.js';
import { LinearModel, type Term } from '../lp/index.js';
import type { LoadedCascades } from './best-gears.js';
import { type ModelPlacement, maximalSets } from './placement.js';

/** Accuracy is counted in parts of 10,000, so that a solver's tolerances are small beside it. */
export const ACCURACY_PARTS = 1e4;
/** Work that surpasses the devices by so small a share of a device is a matter of rounding. */
const ROUNDING = 1e-7;

/** PlacementGoal is what placements are to be best for. */
export type PlacementGoal =
  | { readonly kind: 'accuracy' }
  /** The fewest devices on which loads that never wait are served at an accuracy. */
  | { readonly kind: 'devices'; readonly accuracy: number };

/** Choice is a cascade that may serve a range. */
interface Choice {
  readonly range: number;
  /** The cascade's place in the frontier. */
  readonly index: number;
}

/** Cut demands of a range that the devices which hold any model of a set have the time for the set's work. */
interface Cut {
  readonly range: number;
  readonly models: number;
}

/** StatedModel is a linear model with the rows by which the worth of a choice is reckoned. */
export interface StatedModel {
  readonly model: LinearModel;
  /** The row of each range that has one cascade serve it. */
  readonly rangeRows: readonly number[];
  readonly cutRows: ReadonlyMap<Cut, number>;
}

/**
 * PlacementModel is the MILP of all placements at once. Devices that hold the same largest set of models are alike, so
 * that a whole number for each set is a placement; a binary variable for each choice says which cascade serves a range.
 * That loads can be balanced (CascadeServe's LP, Eqs. 1–3) is, by max-flow and min-cut, one constraint for each set of
 * models and range: the work of the set is no more than the devices that hold any of it. Of these constraints it has the
 * sets of one model and that of all, and those which were added because a solution violated them.
 */
export class PlacementModel {
  readonly sets: readonly number[];
  private readonly cuts = new Map<string, Cut>();
  private readonly all: number;

  constructor(
    private readonly searched: LoadedCascades,
    private readonly goal: PlacementGoal,
    /** The cascades that may serve each range, of which there are fewer once some were shown not to be the best. */
    public choices: readonly Choice[] = eligible(searched),
  ) {
    const { models, memoryBytes, ranges } = searched.problem;
    this.sets = maximalSets(models, memoryBytes);
    this.all = (1 << models.length) - 1;
    for (const range of ranges.keys()) {
      this.addCut(range, this.all);
      for (const model of models.keys()) this.addCut(range, 1 << model);
    }
  }

  /** state writes down the MILP, or its LP. */
  state(integer: boolean): StatedModel {
    const { devices, ranges } = this.searched.problem;
    const model = new LinearModel();
    const held = model.addVariables(
      this.sets.map((set) => `devices with ${set.toString(2)}`),
      { upper: devices, integer },
    );
    const serves = model.addVariables(
      this.choices.map(({ range, index }) => `range ${range} by ${index}`),
      { upper: 1, integer },
    );
    const used = held.map((variable): Term => [variable, 1]);
    model.addConstraint('devices', used, { upper: devices });
    const rangeRows = ranges.map((_, range) => {
      const terms = serves.flatMap((variable, i): Term[] =>
        this.choices[i]?.range === range ? [[variable, 1]] : [],
      );
      return model.addConstraint(`range ${range}`, terms, { lower: 1, upper: 1 });
    });
    const cutRows = new Map<Cut, number>();
    for (const cut of this.cuts.values()) {
      const name = `range ${cut.range} of ${cut.models.toString(2)}`;
      cutRows.set(cut, model.addConstraint(name, this.cutTerms(cut, held, serves), { upper: 0 }));
    }
    const lost = this.choices.map((choice, i): Term => [serves[i] as number, this.lostBy(choice)]);
    if (this.goal.kind === 'accuracy') model.addObjective('minimize', lost);
    else {
      const most = ACCURACY_PARTS * (this.mostAccuracy - this.goal.accuracy);
      model.addConstraint('accuracy', lost, { upper: most + ROUNDING });
      model.addObjective('minimize', used);
    }
    return { model, rangeRows, cutRows };
  }

  private cutTerms(cut: Cut, held: readonly number[], serves: readonly number[]): Term[] {
    const work = this.choices.flatMap((choice, i): Term[] =>
      choice.range === cut.range ? [[serves[i] as number, this.work(choice, cut.models)]] : [],
    );
    const holders = this.sets.flatMap((set, i): Term[] =>
      (set & cut.models) === 0 ? [] : [[held[i] as number, -1]],
    );
    return [...work, ...holders];
  }

  /** work is the time that a set of models needs for a choice, in devices. */
  private work({ range, index }: Choice, models: number): number {
    const { problem, loads } = this.searched;
    const { toRps } = itemAt(problem.ranges, range);
    let sum = 0;
    for (const [model, work] of itemAt(loads, index).entries()) if ((models >> model) & 1) sum += work;
    return toRps * sum;
  }

  /** lostBy is the accuracy that a choice loses against the most accurate cascade, in parts of 10,000. */
  lostBy({ range, index }: Choice): number {
    const { problem, frontier } = this.searched;
    const lost = itemAt(frontier, 0).accuracy - itemAt(frontier, index).accuracy;
    return ACCURACY_PARTS * itemAt(problem.ranges, range).share * lost;
  }

  /** mostAccuracy is the accuracy where the most accurate cascade serves all loads. */
  get mostAccuracy(): number {
    const { problem, frontier } = this.searched;
    return problem.ranges.reduce((sum, { share }) => sum + share, 0) * itemAt(frontier, 0).accuracy;
  }

  /**
   * addViolated adds for each range the constraint that a solution violates most.
   * @returns whether it violates any
   */
  addViolated(values: Float64Array): boolean {
    const { ranges } = this.searched.problem;
    const before = this.cuts.size;
    for (const range of ranges.keys()) {
      const worst = this.worstSet(this.loadOf(range, values), values);
      if (worst !== undefined) this.addCut(range, worst);
    }
    return this.cuts.size > before;
  }

  /** worstSet is the set of models whose work surpasses most the devices that a solution gives it. */
  private worstSet(load: Float64Array, values: Float64Array): number | undefined {
    let worst: number | undefined;
    let most = ROUNDING;
    for (let set = 1; set <= this.all; set++) {
      let over = 0;
      for (const [model, work] of load.entries()) if ((set >> model) & 1) over += work;
      for (const [i, held] of this.sets.entries()) if ((held & set) !== 0) over -= values[i] as number;
      if (over <= most) continue;
      most = over;
      worst = set;
    }
    return worst;
  }

  /** loadOf is the time that each model needs in a range, by the cascades that a solution gives it. */
  private loadOf(range: number, values: Float64Array): Float64Array {
    const { problem, loads } = this.searched;
    const { toRps } = itemAt(problem.ranges, range);
    const load = new Float64Array(problem.models.length);
    for (const [i, choice] of this.choices.entries()) {
      const part = values[this.sets.length + i] as number;
      if (choice.range !== range || part === 0) continue;
      for (const [model, work] of (loads[choice.index] as Float64Array).entries())
        load[model]! += toRps * part * work;
    }
    return load;
  }

  /** addCut adds to a set the models that only devices hold which the set counts anyhow, so that more is demanded of the same. */
  private addCut(range: number, set: number): void {
    const others = this.sets.reduce((all, held) => ((held & set) === 0 ? all | held : all), 0);
    const models = this.all & ~others;
    const key = `${range}/${models}`;
    if (!this.cuts.has(key)) this.cuts.set(key, { range, models });
  }

  /**
   * keepWorth leaves out the choices that no solution has which is better than a known one: those whose price in the LP
   * surpasses the objective that was reached (reduced costs).
   * @param duals the shadow prices of the rows of `stated`
   * @param slack by how much the LP's objective may grow
   */
  keepWorth({ rangeRows, cutRows }: StatedModel, duals: Float64Array, slack: number): void {
    const cuts = [...cutRows];
    this.choices = this.choices.filter((choice) => {
      let price = this.goal.kind === 'accuracy' ? this.lostBy(choice) : 0;
      price -= duals[rangeRows[choice.range] as number] as number;
      for (const [cut, row] of cuts)
        if (cut.range === choice.range) price -= (duals[row] as number) * this.work(choice, cut.models);
      return price <= slack;
    });
  }

  /** placementOf rounds the devices of a solution to so many. */
  placementOf(values: Float64Array, devices: number): ModelPlacement {
    const parts = this.sets.map((_, i) => values[i] as number);
    const whole = parts.reduce((sum, part) => sum + part, 0);
    const wanted = parts.map((part) => (devices * part) / whole);
    const counts = wanted.map((part) => Math.floor(part + ROUNDING));
    const byRest = wanted
      .map((part, i) => ({ rest: part - (counts[i] as number), i }))
      .sort((a, b) => b.rest - a.rest || a.i - b.i);
    const left = devices - counts.reduce((sum, count) => sum + count, 0);
    for (const { i } of byRest.slice(0, left)) counts[i]! += 1;
    return this.sets.flatMap((held, i) => new Array<number>(counts[i] as number).fill(held));
  }
}

/** eligible lists the choices for which devices have the time if each held all models. */
function eligible({ problem, frontier }: LoadedCascades): Choice[] {
  const { ranges, latencyNs, devices } = problem;
  return ranges.flatMap(({ toRps }, range) =>
    frontier.flatMap(({ floorNs, workNs }, index) =>
      floorNs <= latencyNs && (toRps * workNs) / 1e9 <= devices + ROUNDING ? [{ range, index }] : [],
    ),
  );
}
