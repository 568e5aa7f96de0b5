import { smallestOf } from '../../collections/index.js';
import { LinearModel, type Term } from '../../lp/index.js';
import type { Column } from '../columns/index.js';
import { columnKey } from '../master/index.js';
import type { ResolvedPlanner } from '../problem.js';
import { SLACK } from '../rounding.js';
import type { ClassTable, ModelTable, ProblemTables, Slot } from '../tables/index.js';
import { coefficient, type PlanGoal, type PlanUnits, planUnits } from './plan-units.js';

/** UsedColumn is a column in use, with the virtual GPUs of each of its partitions. */
export interface UsedColumn {
  readonly column: Column;
  readonly virtualGpus: readonly number[];
  /** The rate, if it is held below what its GPUs could serve because another class must serve a minimum share. */
  readonly rps?: number;
}

/** PlanModel is the integer problem over some columns, with variables by column and partition. */
export interface PlanModel {
  readonly model: LinearModel;
  readonly columns: readonly Column[];
  readonly least: number | undefined;
  readonly throughput: readonly number[];
  /** The units of each variable: virtual GPUs, or whole GPUs of `perUnit` virtual GPUs if each pool fills its own. */
  readonly units: readonly (readonly number[])[];
  readonly perUnit: readonly (readonly number[])[];
  /** The units of throughput variables and of the objective. */
  readonly scale: PlanUnits;
  /**
   * isProof says whether the solver's bound holds. The solver takes small figures for 0; if the model has such figures,
   * the true optimum may be above that bound.
   */
  readonly isProof: boolean;
  /** priceOf is the price of the whole GPUs of a solution. */
  readonly priceOf: (values: ArrayLike<number>) => number;
  /** solutionOf gives the values that stand for columns in use, which must be among the plan's, for a solver to start from. */
  readonly solutionOf: (used: readonly UsedColumn[]) => Float64Array;
}

type Draft = Omit<PlanModel, 'priceOf' | 'isProof' | 'solutionOf'>;

/** The solver drops entries of 10⁻⁹ and keeps a row to within 10⁻⁷, so it does not see figures smaller than this. */
const LEAST_SEEN = 1e-5;

/**
 * planModel states PPipe A.2 over given columns as a MILP, and does not solve it. The columns fix p, t and n of the
 * printed formulation, so that PPipe Eqs. (16)–(20), (24), (26) and (27) hold by construction. The counts (23), the
 * rates (25), (28) and the objective (15) remain, with whole GPUs counted as `wholeGpusPer` says. Rows of our own add
 * minimum shares, servers of one virtual size, and a price as the objective.
 */
export function planModel(
  { classes, tables }: ProblemTables,
  columns: readonly Column[],
  { planner, goal }: { readonly planner: ResolvedPlanner; readonly goal: PlanGoal },
): PlanModel {
  const model = new LinearModel();
  const least = goal.kind === 'throughput' ? model.addVariable('least throughput/weight') : undefined;
  const throughput = model.addVariables(columns.map((column, c) => `x[${columnName(column, c)}]`));
  const { units, perUnit } = addUnits(model, tables, columns, planner);
  const unitRps = columns.map(({ parts }, c) => parts.map(({ rps }, d) => rps * (perUnit[c]?.[d] as number)));
  const scale = planUnits({ columns, unitRps }, classes, goal);
  const plan: Draft = { model, columns, least, throughput, units, perUnit, scale };
  addRates(plan, unitRps);
  const wholeGpus = addWholeGpus(plan, classes, tables, planner);
  addClassLimits(plan, classes, wholeGpus);
  const servers = planner.virtualPer === 'server' ? addServers(plan, classes, wholeGpus) : [];
  addDemands(plan, tables, goal);
  addMinShares(plan, tables, classes);
  const price = addGoal(plan, classes, wholeGpus);
  const priceOf = (values: ArrayLike<number>) =>
    price.reduce((sum, [variable, cost]) => sum + cost * Math.round(values[variable] as number), 0);
  const solutionOf = (used: readonly UsedColumn[]) => solution(plan, { goal, wholeGpus, servers }, used);
  return { ...plan, priceOf, solutionOf, isProof: model.smallestCoefficient() > LEAST_SEEN };
}

function columnName({ model, parts }: Column, c: number): string {
  return `${model}.${c}:${parts.map((p) => `${p.end}@${p.slot}b${p.batch}`).join('|')}`;
}

/** addUnits adds g of Eqs. (21), (22): whole numbers of virtual GPUs, or of whole GPUs if a pool fills them alone. */
function addUnits(
  model: LinearModel,
  tables: readonly ModelTable[],
  columns: readonly Column[],
  planner: ResolvedPlanner,
): Pick<PlanModel, 'units' | 'perUnit'> {
  const perUnit = columns.map(({ model: m, parts }) =>
    parts.map(({ slot }) => (planner.wholeGpusPer === 'pool' ? slotOf(tables, m, slot).virtual : 1)),
  );
  const units = columns.map((column, c) =>
    column.parts.map((_, d) => model.addVariable(`g[${columnName(column, c)},${d}]`, { integer: true })),
  );
  return { units, perUnit };
}

function slotOf(tables: readonly ModelTable[], model: number, slot: number): Slot {
  return (tables[model] as ModelTable).slots[slot] as Slot;
}

/** addRates adds Eqs. (25), (28): x_l ≤ X·g for every partition, with X no larger than what a model can need. */
function addRates(
  { model, columns, throughput, units, scale }: Draft,
  unitRps: readonly (readonly number[])[],
): void {
  columns.forEach((column, c) => {
    column.parts.forEach((_, d) => {
      const rps = (unitRps[c]?.[d] as number) / (scale.rps[column.model] as number);
      const terms: Term[] = [
        [throughput[c] as number, 1],
        [units[c]?.[d] as number, -coefficient(Math.min(1, rps))],
      ];
      model.addConstraint(`rate[${columnName(column, c)},${d}]`, terms, { upper: 0 });
    });
  });
}

/** WholeGpus are the whole GPUs of one class and, if sizes must not mix, of one virtual size. */
interface WholeGpus {
  readonly classIndex: number;
  readonly virtual: number | undefined;
  /** The sum of these terms is a number of whole GPUs. */
  readonly terms: readonly Term[];
  /** The variable that counts them, and the sum that it must reach, where they do not add up to whole ones. */
  readonly rounded?: { readonly variable: number; readonly parts: readonly Term[] };
}

/**
 * addWholeGpus groups partitions that fill whole GPUs together: n_G ≥ Σ g/v with n_G whole. The units of a pool are
 * whole GPUs already.
 */
function addWholeGpus(
  plan: Draft,
  classes: ClassTable,
  tables: readonly ModelTable[],
  planner: ResolvedPlanner,
): WholeGpus[] {
  const groups = new Map<string, { classIndex: number; virtual: number | undefined; terms: Term[] }>();
  plan.columns.forEach(({ model: m, parts }, c) => {
    parts.forEach(({ slot }, d) => {
      const { classIndex, virtual } = slotOf(tables, m, slot);
      const apart = planner.virtualPer === 'server' ? virtual : undefined;
      const who = planner.wholeGpusPer === 'position' ? `${tables[m]?.name} #${m} position ${d}` : 'all';
      const key = `${who} on ${classes.names[classIndex]}${apart === undefined ? '' : `/${apart}`}`;
      const group = groups.get(key) ?? { classIndex, virtual: apart, terms: [] };
      const size = planner.wholeGpusPer === 'pool' ? 1 : 1 / virtual;
      group.terms.push([plan.units[c]?.[d] as number, size]);
      groups.set(key, group);
    });
  });
  if (planner.wholeGpusPer === 'pool') return [...groups.values()];
  return [...groups].map(([key, { classIndex, virtual, terms }]) => {
    const whole = plan.model.addVariable(`n[${key}]`, { integer: true });
    plan.model.addConstraint(`whole GPUs of ${key}`, [...terms, [whole, -1]], { upper: 0 });
    return { classIndex, virtual, terms: [[whole, 1]], rounded: { variable: whole, parts: terms } };
  });
}

/** addClassLimits adds Eqs. (9), (23): the number of GPUs of each class. */
function addClassLimits({ model }: Draft, classes: ClassTable, wholeGpus: readonly WholeGpus[]): void {
  classes.names.forEach((name, k) => {
    const terms = wholeGpus.filter((group) => group.classIndex === k).flatMap((group) => group.terms);
    model.addConstraint(`GPUs of ${name}`, terms, { upper: classes.available[k] as number });
  });
}

/** Servers are the variables of one virtual size on one class: its full servers, and whether it has the smaller last one. */
interface Servers {
  readonly classIndex: number;
  readonly seats: number;
  readonly small: number;
  readonly full: number;
  readonly last: number | undefined;
  /** The sum of these terms is the number of GPUs of this size. */
  readonly terms: readonly Term[];
}

/**
 * addServers gives every virtual size servers of its own. The last server, if it is smaller, goes to one of the sizes.
 */
function addServers({ model }: Draft, classes: ClassTable, wholeGpus: readonly WholeGpus[]): Servers[] {
  return classes.names.flatMap((name, k) => {
    const perServer = classes.perServer[k] as number;
    const available = classes.available[k] as number;
    const small = available % perServer;
    const sizes = [...new Set(wholeGpus.filter((g) => g.classIndex === k).map((g) => g.virtual as number))];
    const full = sizes.map((v) => model.addVariable(`servers[${name}/${v}]`, { integer: true }));
    const last =
      small > 0 ? sizes.map((v) => model.addVariable(`last server[${name}/${v}]`, { integer: true })) : [];
    const servers = sizes.map((v, i): Servers => {
      const terms = wholeGpus.filter((g) => g.classIndex === k && g.virtual === v).flatMap((g) => g.terms);
      // The solver accepts no infinite coefficient, and a server holds no more GPUs than the cluster has.
      const most = Math.min(perServer, available);
      const seats: Term[] = [[full[i] as number, -most]];
      if (last[i] !== undefined) seats.push([last[i], -small]);
      model.addConstraint(`GPUs of ${name}/${v}`, [...terms, ...seats], { upper: 0 });
      return { classIndex: k, seats: most, small, full: full[i] as number, last: last[i], terms };
    });
    const one = (variable: number): Term => [variable, 1];
    model.addConstraint(`servers of ${name}`, full.map(one), { upper: Math.floor(available / perServer) });
    if (small > 0) model.addConstraint(`last server of ${name}`, last.map(one), { upper: 1 });
    return servers;
  });
}

function throughputTerms({ columns, throughput }: Draft, m: number): Term[] {
  return columns.flatMap((column, c): Term[] => (column.model === m ? [[throughput[c] as number, 1]] : []));
}

/**
 * addDemands adds a row per model: its throughput is at least its weight times the least throughput/weight (PPipe §3,
 * Objective), or at least its rate if the goal is the price.
 */
function addDemands(plan: Draft, tables: readonly ModelTable[], goal: PlanGoal): void {
  tables.forEach(({ name }, m) => {
    const terms = throughputTerms(plan, m);
    const unit = plan.scale.rps[m] as number;
    if (goal.kind === 'price') {
      const least = coefficient((goal.rps[m] as number) / unit);
      plan.model.addConstraint(`throughput of ${name}`, terms, { lower: least });
      return;
    }
    const share = coefficient(((goal.weights[m] as number) * plan.scale.value) / unit);
    terms.push([plan.least as number, -share]);
    plan.model.addConstraint(`throughput of ${name}`, terms, { lower: 0 });
  });
}

/** addMinShares adds the minimum share of a model's throughput that pipelines with a class must serve. */
function addMinShares(plan: Draft, tables: readonly ModelTable[], classes: ClassTable): void {
  tables.forEach((table, m) => {
    classes.names.forEach((name, k) => {
      const share = table.minShare[k] as number;
      if (share === 0) return;
      const terms = plan.columns.flatMap(({ model, parts }, c): Term[] => {
        if (model !== m) return [];
        const uses = parts.some(({ slot }) => slotOf(tables, m, slot).classIndex === k);
        return [[plan.throughput[c] as number, (uses ? 1 : 0) - share]];
      });
      plan.model.addConstraint(`share of ${name} in ${table.name}`, terms, { lower: 0 });
    });
  });
}

/**
 * addGoal adds Eqs. (1), (15), or the price of the whole GPUs in use.
 * @returns the terms of the price, in the problem's unit
 */
function addGoal(plan: Draft, classes: ClassTable, wholeGpus: readonly WholeGpus[]): Term[] {
  const { model, least, scale } = plan;
  const price = wholeGpus.flatMap(({ classIndex, terms }) =>
    terms.map(([v, a]): Term => [v, a * (classes.unitCost[classIndex] as number)]),
  );
  if (least === undefined)
    model.addObjective(
      'minimize',
      price.map(([v, cost]): Term => [v, coefficient(cost / scale.value)]),
    );
  else model.addObjective('maximize', [[least, 1]]);
  return price;
}

/** WholeVariables are the parts of a plan's model from which the whole numbers beside its units follow. */
interface WholeVariables {
  readonly goal: PlanGoal;
  readonly wholeGpus: readonly WholeGpus[];
  readonly servers: readonly Servers[];
}

function solution(
  plan: Draft,
  { goal, wholeGpus, servers }: WholeVariables,
  used: readonly UsedColumn[],
): Float64Array {
  const { model, columns, units, perUnit, throughput, scale, least } = plan;
  const values = new Float64Array(model.variableNames.length);
  const indexOf = new Map(columns.map((column, c) => [columnKey(column), c]));
  const served = scale.rps.map(() => 0);
  for (const one of used) {
    const c = indexOf.get(columnKey(one.column)) as number;
    const m = one.column.model;
    one.virtualGpus.forEach((g, d) => {
      values[units[c]?.[d] as number] = g / (perUnit[c]?.[d] as number);
    });
    values[throughput[c] as number] = usedRps(one) / (scale.rps[m] as number);
    served[m] = (served[m] as number) + usedRps(one);
  }
  const sum = (terms: readonly Term[]) => terms.reduce((all, [v, a]) => all + a * (values[v] as number), 0);
  for (const { rounded } of wholeGpus)
    if (rounded !== undefined) values[rounded.variable] = Math.ceil(sum(rounded.parts) - SLACK);
  seatServers(values, servers, sum);
  if (goal.kind === 'throughput' && least !== undefined)
    values[least] = smallestOf(
      goal.weights.flatMap((w, m) => (w > 0 ? [(served[m] as number) / w / scale.value] : [])),
    );
  return values;
}

/** The smaller last server goes to the first size whose remainder fits on it, as in placement. */
function seatServers(
  values: Float64Array,
  servers: readonly Servers[],
  sum: (terms: readonly Term[]) => number,
): void {
  const small = new Set<number>();
  for (const { classIndex, seats, small: room, full, last, terms } of servers) {
    const gpus = Math.round(sum(terms));
    const rest = gpus % seats;
    const onSmall = last !== undefined && rest > 0 && rest <= room && !small.has(classIndex);
    if (onSmall) {
      small.add(classIndex);
      values[last] = 1;
    }
    values[full] = onSmall ? Math.floor(gpus / seats) : Math.ceil(gpus / seats);
  }
}

/**
 * usedColumns gives the columns of which every partition has a virtual GPU in a solution. Only columns of models with a
 * minimum share get a planned rate (`rps`, in requests/s).
 * @param values the solution, by variable of the plan's model
 */
export function usedColumns(
  plan: PlanModel,
  values: ArrayLike<number>,
  tables: readonly ModelTable[],
): UsedColumn[] {
  return plan.columns.flatMap((column, c): UsedColumn[] => {
    const virtualGpus = (plan.units[c] as readonly number[]).map(
      (unit, d) => Math.round(values[unit] as number) * (plan.perUnit[c]?.[d] as number),
    );
    if (!virtualGpus.every((g) => g > 0)) return [];
    const shared = tables[column.model]?.minShare.some((share) => share > 0) === true;
    const rps = (values[plan.throughput[c] as number] as number) * (plan.scale.rps[column.model] as number);
    return [{ column, virtualGpus, ...(shared ? { rps } : {}) }];
  });
}

/**
 * usedRps is the requests per second of a column in use: those of its slowest partition, whose virtual GPUs add up
 * (PPipe Eqs. (14), (28)), and at most its planned `rps`, if a minimum share of another class holds it back.
 */
export function usedRps({ column, virtualGpus, rps: planned = Infinity }: UsedColumn): number {
  return Math.min(planned, smallestOf(column.parts.map(({ rps }, d) => rps * (virtualGpus[d] as number))));
}
