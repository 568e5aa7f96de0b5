import type { GraphEdge, StageGraph } from '../plans/index.js';

/** ScaleFactors holds the probability that a request visits each stage (InferLine's scale factors). */
export interface ScaleFactors {
  readonly factors: number[];
  /**
   * exact says whether they are exact; otherwise the edges that meet in a stage were taken as independent.
   */
  readonly exact: boolean;
}

/** With more states at once than this, or more steps in all, factors are not computed exactly. */
const MOST_STATES = 2 ** 16;
const MOST_STEPS = 2 ** 22;

/**
 * scaleFactors computes how probable it is that a request visits each stage: all verdicts are tried out, stage by stage
 * in topological order. A state is the set of later stages that are already led to, and states that are alike are
 * joined, so that branches that have met again cost nothing.
 */
export function scaleFactors(graph: StageGraph): ScaleFactors {
  return exactFactors(graph) ?? { factors: independentFactors(graph), exact: false };
}

type States = Map<bigint, number>;

function exactFactors({ edges, order, entries }: StageGraph): ScaleFactors | undefined {
  const bits = edges.map((_, i) => 1n << BigInt(i));
  const factors = edges.map(() => 0);
  let states: States = new Map([[entries.reduce((mask, i) => mask | (bits[i] as bigint), 0n), 1]]);
  let steps = 0;
  for (const i of order) {
    const bit = bits[i] as bigint;
    const [visited, passed] = split(states, bit);
    factors[i] = Math.min(1, sum(visited.values()));
    let led = visited;
    for (const choices of choicesOf(edges[i] ?? [])) {
      steps += led.size * choices.length;
      led = taken(led, choices, bits);
      if (led.size > MOST_STATES || steps > MOST_STEPS) return undefined;
    }
    states = joined(led, passed);
    if (states.size > MOST_STATES) return undefined;
  }
  return { factors, exact: true };
}

/** split parts the states in those that visit a stage, without its bit, and the others. */
function split(states: States, bit: bigint): [States, States] {
  const visited: States = new Map();
  const passed: States = new Map();
  for (const [state, probability] of states)
    if ((state & bit) === 0n) passed.set(state, probability);
    else visited.set(state & ~bit, probability);
  return [visited, passed];
}

/** Choice is one outcome of a verdict: the stage that is led to, if any. */
interface Choice {
  readonly to?: number;
  readonly probability: number;
}

/** choicesOf lists the independent verdicts about a stage's edges: one for each edge, and one for each group. */
function choicesOf(edges: readonly GraphEdge[]): Choice[][] {
  const groups = [...new Set(edges.flatMap(({ group }) => (group === undefined ? [] : [group])))];
  return [
    ...edges
      .filter(({ group }) => group === undefined)
      .map(({ to, probability }): Choice[] =>
        probability === 1 ? [{ to, probability }] : [{ to, probability }, { probability: 1 - probability }],
      ),
    ...groups.map((group) => edges.filter((edge) => edge.group === group)),
  ];
}

function taken(states: States, choices: readonly Choice[], bits: readonly bigint[]): States {
  const after: States = new Map();
  for (const [state, probability] of states)
    for (const choice of choices) {
      const next = choice.to === undefined ? state : state | (bits[choice.to] as bigint);
      after.set(next, (after.get(next) ?? 0) + probability * choice.probability);
    }
  return after;
}

function joined(a: States, b: States): States {
  const all = new Map(a);
  for (const [state, probability] of b) all.set(state, (all.get(state) ?? 0) + probability);
  return all;
}

function independentFactors({ edges, order, entries }: StageGraph): number[] {
  const missed = edges.map((_, i): number => (entries.includes(i) ? 0 : 1));
  for (const i of order)
    for (const { to, probability } of edges[i] ?? [])
      missed[to] = (missed[to] as number) * (1 - (1 - (missed[i] as number)) * probability);
  return missed.map((probability) => 1 - probability);
}

function sum(values: Iterable<number>): number {
  let all = 0;
  for (const value of values) all += value;
  return all;
}
