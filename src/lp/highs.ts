import type { Highs, HighsCallbackMap, Model, ModelStatusCode, OptionValue } from 'highs';
import type { LinearModel, Violation } from './linear-model.js';

/** SolveLimit names what ended a solve early. */
export type SolveLimit = 'nodes' | 'time' | 'iterations' | 'interrupted' | 'target';

/**
 * SolveOutcome is a union of all ends of a solve: an objective can be read only if there is a solution, and a bound
 * only if one was proved. HiGHS may find out that a model is unbounded or infeasible without knowing which. An LP that
 * was stopped early gives no solution.
 */
export type SolveOutcome =
  | {
      readonly status: 'optimal';
      readonly objective: number;
      /** A proven bound on the objective of the given model. */
      readonly bound: number;
      readonly values: Float64Array;
      /** The shadow prices of the rows, only for LPs. */
      readonly rowDuals?: Float64Array;
      readonly nodes: number;
    }
  | {
      readonly status: 'feasible';
      readonly objective: number;
      /** A proven bound; absent where the solve was stopped before there was one. */
      readonly bound?: number;
      readonly values: Float64Array;
      readonly limit: SolveLimit;
      readonly nodes: number;
    }
  | { readonly status: 'infeasible' | 'unbounded' | 'unbounded-or-infeasible' }
  | { readonly status: 'stopped'; readonly limit: SolveLimit; readonly nodes: number }
  | { readonly status: 'failed'; readonly message: string };

/** SolverOptions holds the limits of one solve. */
export interface SolverOptions {
  /** A MIP stops at this relative gap; 0, the default, proves the optimum. The other limits are off by default. */
  readonly gap?: number;
  readonly maxNodes?: number;
  /** A MIP stops, as `interrupted`, after this many of the solver's checkpoints; it passes some at every node. */
  readonly maxCheckpoints?: number;
  readonly maxSeconds?: number;
  /** An LP stops after this many simplex iterations. */
  readonly maxIterations?: number;
  /** A solution to start from. */
  readonly start?: ArrayLike<number>;
  /** interrupted is asked from time to time; true ends the solve with the present result. */
  readonly interrupted?: () => boolean;
  /** onProgress gets the value and the bound of a MIP each time that the solver logs both. */
  readonly onProgress?: (value: number, bound: number) => void;
  /** Whether to solve the LP relaxation of an integer model. */
  readonly relaxed?: boolean;
}

/**
 * milpWork gives the solver options that limit a MILP to a number of nodes. A large MILP passes many checkpoints before
 * its first node, so these are limited too: to 5,000, and 50 more per node.
 */
export function milpWork(nodes: number): { maxNodes: number; maxCheckpoints: number } {
  return { maxNodes: nodes, maxCheckpoints: 5000 + 50 * nodes };
}

/**
 * NewColumns are variables to append to an open model, with bounds 0 … ∞, each with its cost and its entries by row.
 */
export interface NewColumns {
  readonly costs: readonly number[];
  readonly starts: readonly number[];
  readonly rows: readonly number[];
  readonly coefficients: readonly number[];
}

/** OpenModel stays in the solver, so that it can grow and be solved again from its last basis. */
export interface OpenModel {
  addColumns(columns: NewColumns): void;
  setRowBounds(row: number, lower: number, upper: number): void;
  setVariableBounds(variable: number, lower: number, upper: number): void;
  solve(options?: SolverOptions): SolveOutcome;
  close(): void;
}

/** HighsEngine is one HiGHS instance. Keep it: its first solves are several times slower than later ones. */
export interface HighsEngine {
  readonly version: string;
  /**
   * solve solves a model from the start. A solution that violates the model by more than a part in 10⁵ counts as
   * `failed`. So does an error of the solver while it runs.
   */
  solve(model: LinearModel, options?: SolverOptions): SolveOutcome;
  /**
   * open opens a model for repeated solves, whose solutions are not checked. The caller closes it: an unclosed one
   * leaks the solver's memory.
   */
  open(model: LinearModel): OpenModel;
}

/** HiGHS accepts only finite options, so this number stands for no limit (it is three billion years). */
const NO_TIME_LIMIT = 1e17;

/** loadHighs loads the WebAssembly solver HiGHS anew, which takes about 50 ms. Nothing else loads it. */
export async function loadHighs(): Promise<HighsEngine> {
  // The package's types are written for require(); import() gives the function itself as the default.
  const { default: loader } = (await import('highs')) as unknown as { default: () => Promise<Highs> };
  const highs = await loader();
  return {
    version: highs.version.string,
    solve(model, options = {}) {
      const native = build(highs, model);
      try {
        return checked(model, runNative(highs, native, options, model.integer.some(Boolean)));
      } finally {
        native.dispose();
      }
    },
    open: (model) => openModel(highs, model),
  };
}

function openModel(highs: Highs, model: LinearModel): OpenModel {
  const native = build(highs, model);
  const isMip = model.integer.some(Boolean);
  return {
    addColumns({ costs, starts, rows, coefficients }) {
      const count = costs.length;
      if (count === 0) return;
      native.addCols({
        cost: Float64Array.from(costs),
        lower: new Float64Array(count),
        upper: new Float64Array(count).fill(Infinity),
        matrix: {
          format: 'csc',
          numRows: model.constraintNames.length,
          numCols: count,
          starts: Int32Array.from([...starts, rows.length]),
          indices: Int32Array.from(rows),
          values: Float64Array.from(coefficients),
        },
      });
    },
    setRowBounds: (row, lower, upper) => void native.changeRowBounds(row, lower, upper),
    setVariableBounds: (variable, lower, upper) => void native.changeColBounds(variable, lower, upper),
    solve: (options = {}) => runNative(highs, native, options, isMip),
    close: () => native.dispose(),
  };
}

function build(highs: Highs, model: LinearModel): Model {
  const { variableType, objectiveSense } = highs.constants;
  const native = highs.createModel({
    numCols: model.variableNames.length,
    numRows: model.constraintNames.length,
    sense: model.sense === 'maximize' ? objectiveSense.maximize : objectiveSense.minimize,
    colCost: model.objective,
    colLower: model.lower,
    colUpper: model.upper,
    rowLower: model.rowLower,
    rowUpper: model.rowUpper,
    matrix: {
      format: 'csr',
      numRows: model.constraintNames.length,
      numCols: model.variableNames.length,
      starts: model.starts,
      indices: model.indices,
      values: model.coefficients,
    },
    ...(model.integer.some(Boolean)
      ? { integrality: model.integer.map((i) => (i ? variableType.integer : variableType.continuous)) }
      : {}),
  });
  native.options.set({ output_flag: false, random_seed: 1 });
  return native;
}

function runNative(highs: Highs, native: Model, options: SolverOptions, isMip: boolean): SolveOutcome {
  native.zeroAllClocks();
  native.options.set(nativeOptions(options));
  if (options.start !== undefined) native.setSolution({ colValue: Float64Array.from(options.start) });
  try {
    const { modelStatus } = native.run(callbacksOf(highs, options));
    return outcomeOf(highs, native, modelStatus, isMip && options.relaxed !== true);
  } catch (error) {
    return { status: 'failed', message: (error as Error).message };
  }
}

function nativeOptions(options: SolverOptions): Record<string, OptionValue> {
  return {
    mip_rel_gap: options.gap ?? 0,
    mip_abs_gap: 0,
    mip_feasibility_tolerance: 1e-7,
    mip_max_nodes: options.maxNodes ?? 2147483647,
    simplex_iteration_limit: options.maxIterations ?? 2147483647,
    time_limit: options.maxSeconds ?? NO_TIME_LIMIT,
    solve_relaxation: options.relaxed ?? false,
  };
}

function callbacksOf(
  highs: Highs,
  { interrupted, onProgress, maxCheckpoints = Infinity }: SolverOptions,
): HighsCallbackMap {
  const { simplexInterrupt, mipInterrupt, mipLogging } = highs.constants.callbackType;
  let checkpoints = 0;
  const stop = (event: { interrupt(): void }): undefined => {
    if (++checkpoints > maxCheckpoints || interrupted?.()) event.interrupt();
  };
  const isLimited = interrupted !== undefined || maxCheckpoints < Infinity;
  return {
    ...(isLimited ? { [mipInterrupt]: stop } : {}),
    ...(interrupted === undefined ? {} : { [simplexInterrupt]: stop }),
    ...(onProgress === undefined
      ? {}
      : {
          [mipLogging]: ({ data }): undefined => {
            const { mip_primal_bound: value, mip_dual_bound: bound } = data;
            if (Number.isFinite(value) && Number.isFinite(bound))
              onProgress(value as number, bound as number);
          },
        }),
  };
}

function outcomeOf(highs: Highs, native: Model, status: ModelStatusCode, isMip: boolean): SolveOutcome {
  const s = highs.constants.modelStatus;
  switch (status) {
    case s.optimal:
    case s.empty:
      return optimal(highs, native, isMip);
    case s.infeasible:
      return { status: 'infeasible' };
    case s.unbounded:
      return { status: 'unbounded' };
    case s.unboundedOrInfeasible:
      return { status: 'unbounded-or-infeasible' };
    case s.timeLimit:
      return stopped(highs, native, 'time', isMip);
    case s.iterationLimit:
      return stopped(highs, native, 'iterations', isMip);
    case s.solutionLimit:
      return stopped(highs, native, 'nodes', isMip);
    case s.interrupted:
      return stopped(highs, native, 'interrupted', isMip);
    case s.objectiveBound:
    case s.objectiveTarget:
      return stopped(highs, native, 'target', isMip);
    default:
      return { status: 'failed', message: `HiGHS ended with status ${status}` };
  }
}

/**
 * An early end gives the incumbent of a MIP, if there is one, and no solution otherwise (a stopped LP proves nothing).
 */
function stopped(highs: Highs, native: Model, limit: SolveLimit, isMip: boolean): SolveOutcome {
  const has = native.info.get('primal_solution_status') === highs.constants.solutionStatus.feasible;
  if (!isMip || !has) return { status: 'stopped', limit, nodes: isMip ? nodesOf(native) : 0 };
  const bound = mipBound(native);
  return {
    status: 'feasible',
    limit,
    objective: native.getObjectiveValue(),
    ...(bound === undefined ? {} : { bound }),
    values: native.getSolution().colValue,
    nodes: nodesOf(native),
  };
}

function optimal(highs: Highs, native: Model, isMip: boolean): SolveOutcome {
  const { colValue: values, rowDual } = native.getSolution();
  const objective = native.getObjectiveValue();
  if (isMip)
    return {
      status: 'optimal',
      objective,
      bound: mipBound(native) ?? objective,
      values,
      nodes: nodesOf(native),
    };
  const dualStatus = native.info.get('dual_solution_status');
  const hasDuals = dualStatus === highs.constants.solutionStatus.feasible;
  const duals = hasDuals ? { rowDuals: rowDual } : {};
  return { status: 'optimal', objective, bound: objective, values, nodes: 0, ...duals };
}

/** mipBound is what the search for whole numbers has proved: until it has solved an LP, HiGHS gives an infinity. */
function mipBound(native: Model): number | undefined {
  const bound = Number(native.info.get('mip_dual_bound'));
  return Number.isFinite(bound) ? bound : undefined;
}

function nodesOf(native: Model): number {
  return Math.max(0, Number(native.info.get('mip_node_count')));
}

/** A solution that violates the model counts as none, whatever the solver reports. */
function checked(model: LinearModel, outcome: SolveOutcome): SolveOutcome {
  if (outcome.status !== 'optimal' && outcome.status !== 'feasible') return outcome;
  const broken = model.violations(outcome.values, 1e-5);
  if (broken.length === 0) return outcome;
  return { status: 'failed', message: `the solver's solution breaks ${broken.map(nameOf).join(', ')}` };
}

function nameOf({ name, amount }: Violation): string {
  return `${name} by ${amount}`;
}
