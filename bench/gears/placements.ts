import {
  type FamilyModel,
  type GearMethod,
  type GearProblem,
  mostAccurate,
  type PlacementSolver,
  proportionalArrivals,
  rangesOf,
  solveGears,
} from '../../src/gearplan/index.js';
import { streamOf } from '../../src/random/index.js';
import { tableText } from '../results/table.js';
import { bertFamily, llamaFamily } from './families.js';

const SAMPLES = 2000;
/** The fewest devices are searched for this much less than the accuracy of a plan. */
const LESS_ACCURATE = 0.003;

/** The models and devices of the families that are drawn. */
const DRAWN = [
  [6, 12],
  [6, 24],
] as const;

const arrivalsOf = proportionalArrivals(streamOf(1, 'gears/arrivals').exponential);

/** PlacementCase is a family on devices which cannot hold all of its models. */
interface PlacementCase {
  readonly name: string;
  readonly problem: GearProblem;
}

/**
 * comparePlacements compares plans whose placement comes from CascadeServe's loop with its greedy pruning, from the list
 * of all placements or of those of two sets, and from the MILP: accuracy, its bound, and the fewest devices.
 */
export function comparePlacements(solvePlacement: PlacementSolver) {
  const rows = placementCases().map(({ name, problem }) => {
    const ways = {
      greedy: planned(problem, 'loop'),
      listed: planned(problem, 'gears'),
      milp: planned(problem, 'gears', solvePlacement),
    };
    const accuracy = (ways.milp.accuracy ?? 0) - LESS_ACCURATE;
    const needs = {
      greedy: devicesFor({ problem, accuracy, method: 'loop' }),
      listed: devicesFor({ problem, accuracy, method: 'gears' }),
      milp: devicesFor({ problem, accuracy, method: 'gears', solvePlacement }),
    };
    process.stderr.write(`${name} is planned\n`);
    return { name, ways, needs };
  });
  const percent = (share: number | undefined) => (share === undefined ? '—' : (100 * share).toFixed(2));
  const count = (value: number | undefined) => String(value ?? '—');
  process.stdout.write(
    "\nplacements where devices do not hold all models: the paper's greedy / listed / MILP; accuracy and bound in %\n",
  );
  process.stdout.write(
    tableText([
      ['case', 'accuracy', 'bound', 'seconds', `devices for ${100 * LESS_ACCURATE} points less`, 'bound'],
      ...rows.map(({ name, ways: { greedy, listed, milp }, needs }) => [
        name,
        [greedy, listed, milp].map((way) => percent(way.accuracy)).join(' / '),
        [greedy, listed, milp].map((way) => percent(way.bound)).join(' / '),
        [greedy, listed, milp].map(({ cpuMs }) => (cpuMs / 1e3).toFixed(1)).join(' / '),
        [needs.greedy, needs.listed, needs.milp].map(({ value }) => count(value)).join(' / '),
        [needs.listed, needs.milp].map(({ bound }) => count(bound)).join(' / '),
      ]),
    ]),
  );
  return rows;
}

function planned(problem: GearProblem, method: GearMethod, solvePlacement?: PlacementSolver) {
  const before = process.cpuUsage();
  const found = mostAccurate(problem, { method, arrivalsOf, ...(solvePlacement && { solvePlacement }) });
  const { user, system } = process.cpuUsage(before);
  const figures = 'choice' in found ? { accuracy: found.choice.accuracy, bound: found.choice.bound } : {};
  return { accuracy: undefined, bound: undefined, ...figures, cpuMs: (user + system) / 1e3 };
}

function devicesFor(asked: {
  readonly problem: GearProblem;
  readonly accuracy: number;
  readonly method: GearMethod;
  readonly solvePlacement?: PlacementSolver;
}) {
  const problem = { ...asked.problem, devices: 2 * asked.problem.devices };
  const answer = solveGears({ ...asked, problem, objective: 'devices', arrivalsOf });
  if (!('solution' in answer)) return { value: undefined, bound: undefined };
  return { value: answer.solution.value, bound: answer.solution.bound };
}

function placementCases(): PlacementCase[] {
  const [llama, bert] = [llamaFamily(), bertFamily()];
  const largest = (models: readonly FamilyModel[]) => Math.max(...models.map((model) => model.memoryBytes));
  const cases: PlacementCase[] = [4, 8, 12].map((devices) => ({
    name: `Llama, ${devices} pairs`,
    problem: problemOf(llama, { devices, maxRps: 20, latencyMs: 2000, memoryBytes: largest(llama) }),
  }));
  for (const devices of [2, 4])
    cases.push({
      name: `BERT, ${devices} V100`,
      problem: problemOf(bert, {
        devices,
        maxRps: 7600 * devices,
        latencyMs: 100,
        memoryBytes: 1.05 * largest(bert),
      }),
    });
  for (const [count, devices] of DRAWN)
    cases.push({
      name: `${count} models, ${devices} devices`,
      problem: {
        ...problemOf(drawnFamily(count), { devices, maxRps: 150 * devices, latencyMs: 400, memoryBytes: 9 }),
        thresholds: 8,
      },
    });
  return cases;
}

function problemOf(
  models: readonly FamilyModel[],
  {
    devices,
    maxRps,
    latencyMs,
    memoryBytes,
  }: Pick<GearProblem, 'devices' | 'memoryBytes'> & { readonly maxRps: number; readonly latencyMs: number },
): GearProblem {
  return {
    models,
    devices,
    memoryBytes,
    ranges: rangesOf({ maxRps, ranges: 8 }),
    latencyNs: 1e6 * latencyMs,
    quantile: 0.95,
    thresholds: 32,
  };
}

/** drawnFamily draws models each of which takes 1.4 to 2.6 times the time of the one before and is right more often. */
function drawnFamily(count: number): FamilyModel[] {
  const stream = streamOf(count, 'drawn family');
  const ease = Float64Array.from({ length: SAMPLES }, () => stream.normal());
  let work = 1e6;
  return Array.from({ length: count }, (_, model) => {
    work *= 1.4 + 1.2 * stream.uniform();
    const own = ease.map((z) => 0.4 + 0.12 * model + 0.95 * z + 0.3 * stream.normal());
    return {
      name: `m${model}`,
      latencyNs: Float64Array.from({ length: 8 }, (_, b) => Math.round(work * (1 + 0.25 * b))),
      memoryBytes: 1 + stream.integer(3) + Math.round(0.7 * model),
      correct: Uint8Array.from(own, (x) => (x > 0 ? 1 : 0)),
      certainty: own.map((x) => Math.tanh(Math.abs(x))),
    };
  });
}
