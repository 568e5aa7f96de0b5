import { type HighsEngine, LinearModel, milpWork, type Term } from '../lp/index.js';
import type { Column } from './columns/index.js';
import type { ModelTable, ProblemTables } from './tables/index.js';

/** Replica is a GPU alone, or a pair of GPUs of two classes, with the column that serves most on it. */
export interface Replica {
  readonly column: Column;
  readonly rps: number;
  /** The class of each partition. */
  readonly classes: readonly number[];
}

/** PairDivision is what a division of GPUs among models depends on. */
interface PairDivision extends ProblemTables {
  /** The replicas of every model. */
  readonly replicas: readonly (readonly Replica[])[];
  /** The least throughput/weight without partitioning; 0 if some model cannot be served so. */
  readonly least: number;
}

/** The division is a small MILP, so it needs few nodes. */
const MOST_NODES = 10_000;

/** The solver may miss the value of its first objective by this part, when the second one is asked for. */
const TOLERANCE = 1e-6;

/**
 * dividedForPairs divides the GPUs among the models: each gets as many as it needs to serve, without partitioning, the
 * least throughput/weight of the best such plan, and an even part of the remainder, which goes to the first models
 * first. Several divisions do so, because some GPUs add nothing to the least throughput/weight. Of these, the one is
 * taken with which pairs and single GPUs serve the highest least throughput/weight, and then one that leaves most GPUs
 * to be divided evenly.
 * @returns the GPUs by model and class
 */
export function dividedForPairs(division: PairDivision, highs: HighsEngine): number[][] {
  const { classes, tables, least } = division;
  const even = tables.map((_, m) => classes.available.map((n) => evenPart(n, tables.length, m)));
  if (!(least > 0) || tables.length === 1) return even;
  const { model, own, shares, served } = divisionModel(division);
  model.addObjective('maximize', [[served, 1]]);
  const first = highs.solve(model, milpWork(MOST_NODES));
  if (first.status !== 'optimal' && first.status !== 'feasible') return even;
  model.lower[served] = (first.values[served] as number) * (1 - TOLERANCE);
  model.addObjective(
    'minimize',
    own.flat().map((variable): Term => [variable, 1]),
  );
  const second = highs.solve(model, { ...milpWork(MOST_NODES), start: first.values });
  const { values } = second.status === 'optimal' || second.status === 'feasible' ? second : first;
  return shares.map((row) =>
    row.map((terms) => terms.reduce((sum, [v, a]) => sum + a * Math.round(values[v] as number), 0)),
  );
}

/** The part of n that goes to model m if the first models get what cannot be divided evenly. */
function evenPart(n: number, models: number, m: number): number {
  return Math.floor(n / models) + (m < n % models ? 1 : 0);
}

interface DivisionModel {
  readonly model: LinearModel;
  /** The GPUs that each model takes as without partitioning, by model and class. */
  readonly own: readonly (readonly number[])[];
  /** The sum of these terms is the number of GPUs that a model gets of a class. */
  readonly shares: readonly (readonly (readonly Term[])[])[];
  /** The least throughput/weight of pairs and single GPUs, as a multiple of that without partitioning. */
  readonly served: number;
}

function divisionModel(division: PairDivision): DivisionModel {
  const { classes, tables, replicas } = division;
  const model = new LinearModel();
  const served = model.addVariable('least throughput/weight');
  const alone = replicas.map((own) =>
    classes.names.map(
      (_, k) => own.find((one) => one.classes.length === 1 && one.classes[0] === k)?.rps ?? 0,
    ),
  );
  const own = tables.map(({ name }, m) =>
    classes.names.map((device, k) => {
      // A class that cannot run a model whole is of no use to it without partitioning.
      const bounds = (alone[m]?.[k] as number) > 0 ? {} : { upper: 0 };
      return model.addVariable(`own[${name},${device}]`, { integer: true, ...bounds });
    }),
  );
  const shares = addShares(model, division, own);
  const draft = { model, own, shares, served };
  for (const m of tables.keys()) addReplicas(draft, division, m, alone[m] as number[]);
  return draft;
}

/** addShares divides what the models do not take as their own evenly, and gives one GPU more to the first models. */
function addShares(
  model: LinearModel,
  { classes, tables }: PairDivision,
  own: readonly (readonly number[])[],
): Term[][][] {
  const even = classes.names.map((device) => model.addVariable(`even[${device}]`, { integer: true }));
  const more = tables.map(({ name }, m) =>
    classes.names.map((device) => {
      // If the last model got one more as well, all would, and the even part would be larger.
      const upper = m < tables.length - 1 ? 1 : 0;
      return model.addVariable(`more[${name},${device}]`, { upper, integer: true });
    }),
  );
  const shares = tables.map((_, m) =>
    classes.names.map((__, k): Term[] => [
      [own[m]?.[k] as number, 1],
      [even[k] as number, 1],
      [more[m]?.[k] as number, 1],
    ]),
  );
  classes.names.forEach((device, k) => {
    const each = tables.flatMap((_, m): Term[] => [
      [own[m]?.[k] as number, 1],
      [more[m]?.[k] as number, 1],
    ]);
    const all = classes.available[k] as number;
    const terms: Term[] = [[even[k] as number, tables.length], ...each];
    model.addConstraint(`GPUs of ${device}`, terms, { lower: all, upper: all });
    for (let m = 1; m < tables.length; m++) {
      const [before, after] = [more[m - 1]?.[k] as number, more[m]?.[k] as number];
      const falling: Term[] = [
        [before, 1],
        [after, -1],
      ];
      model.addConstraint(`more of ${device} ${m}`, falling, { lower: 0 });
    }
  });
  return shares;
}

/** addReplicas counts the replicas on the GPUs of model m, and says what it serves with and without partitioning. */
function addReplicas(
  { model, own, shares, served }: DivisionModel,
  { classes, tables, replicas, least }: PairDivision,
  m: number,
  alone: readonly number[],
): void {
  const { name, weight } = tables[m] as ModelTable;
  const items = (replicas[m] as readonly Replica[]).map((one) => {
    const count = model.addVariable(`replicas[${name},${one.classes.join('-')}]`, { integer: true });
    return { ...one, count };
  });
  classes.names.forEach((device, k) => {
    const taken = items.flatMap((one): Term[] => (one.classes.includes(k) ? [[one.count, 1]] : []));
    const there = shares[m]![k]!.map(([v, a]): Term => [v, -a]);
    model.addConstraint(`${device} of ${name}`, [...taken, ...there], { upper: 0 });
  });
  if (weight <= 0) return;
  const unit = weight * least;
  const whole = classes.names.map((_, k): Term => [own[m]?.[k] as number, (alone[k] as number) / unit]);
  model.addConstraint(`${name} without partitioning`, whole, { lower: 1 - TOLERANCE });
  const rates = items.map(({ rps, count }): Term => [count, rps / unit]);
  model.addConstraint(`throughput of ${name}`, [...rates, [served, -1]], { lower: 0 });
}
