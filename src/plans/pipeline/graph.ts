import { itemAt } from '../../collections/index.js';
import { type Fault, fault, listed, type WhenOutput } from '../../formats/index.js';
import { REQUEST } from '../request-key.js';
import { conditionalEdges } from './choices.js';

/** StageGraph is the DAG of a pipeline's stages, which are known by their indices. */
export interface StageGraph {
  readonly names: readonly string[];
  /** The edges that lead on from each stage. */
  readonly edges: readonly (readonly GraphEdge[])[];
  /** All stages, each after those that lead to it, and else in the order in which they were given. */
  readonly order: readonly number[];
  /** The stages to which no edge leads: requests begin there. */
  readonly entries: readonly number[];
}

/** GraphEdge leads to a later stage. */
export interface GraphEdge {
  readonly to: number;
  /** The share of tasks for which it is taken; 1 where it always is. */
  readonly probability: number;
  /** Edges of one stage with one group are exclusive: exactly one of them is taken. */
  readonly group?: number;
  /** Its index in the stage's `next`. */
  readonly at: number;
  /** Its bit in the stage's verdict; absent where it is always taken. */
  readonly bit?: number;
}

/** StagesAndEdges is what a spec and a plan have in common. */
export interface StagesAndEdges {
  readonly stages: readonly { readonly name: string; readonly next?: readonly (string | GivenEdge)[] }[];
  readonly exclusive?: readonly (readonly string[])[];
}

/** GivenEdge is an edge as files have it. */
export interface GivenEdge {
  readonly to: string;
  readonly probability?: number;
  readonly when?: WhenOutput;
}

const MOST_STAGES = 64;
/** A verdict is a bit for each conditional edge, in a number of 32 bits with a sign. */
const MOST_CONDITIONAL = 31;
/** Probabilities may be written with six digits. */
const ROUNDING = 1e-6;

/** ReadGraph is a graph with the faults of what it was read from. */
export interface ReadGraph {
  readonly graph: StageGraph;
  readonly faults: Fault[];
  /** The stages to which an edge would lead that closes a cycle. */
  readonly inCycles: ReadonlySet<number>;
}

/**
 * readStageGraph reads the DAG of a spec or a plan, with every fault of it but those of `countFaults`. The graph leaves
 * out edges that are at fault, so that what follows can be checked too.
 */
export function readStageGraph(given: StagesAndEdges): ReadGraph {
  const names = given.stages.map(({ name }) => name);
  const indexOf = new Map([...names.entries()].reverse().map(([i, name]) => [name, i]));
  const faults = nameFaults(names, indexOf);
  const edges = given.stages.map((_, i) => stageEdges(given, i, { indexOf, faults }));
  const grouped = withGroups(given, { names, edges, faults });
  const { kept, inCycles } = withoutCycles(names, grouped, faults);
  const reached = new Set(kept.flat().map(({ to }) => to));
  if (names.every((_, i) => grouped.flat().some(({ to }) => to === i)))
    faults.push(fault('has no entry: every stage follows another', '/stages'));
  const entries = names.flatMap((_, i) => (reached.has(i) ? [] : [i]));
  return { graph: { names, edges: kept, order: topologicalOrder(kept), entries }, faults, inCycles };
}

/** countFaults refuses more stages than a graph may have. Functions that take a graph call it first. */
export function countFaults({ stages }: StagesAndEdges): Fault[] {
  const message = `has ${stages.length} stages; give at most ${MOST_STAGES}`;
  return stages.length > MOST_STAGES ? [fault(message, '/stages')] : [];
}

function nameFaults(names: readonly string[], indexOf: ReadonlyMap<string, number>): Fault[] {
  return names.flatMap((name, i) => {
    const at = `/stages/${i}/name`;
    if (name === REQUEST) return [fault(`is ${name}, which stands for the request; name it otherwise`, at)];
    return indexOf.get(name) === i ? [] : [fault(`${name} is the name of another stage too`, at)];
  });
}

interface Reading {
  readonly indexOf: ReadonlyMap<string, number>;
  readonly faults: Fault[];
}

/** edgeOf gives an edge of a file as an object: a name alone is an edge that is always taken. */
export function edgeOf(edge: string | GivenEdge): GivenEdge {
  return typeof edge === 'string' ? { to: edge } : edge;
}

function stageEdges({ stages }: StagesAndEdges, i: number, { indexOf, faults }: Reading): GraphEdge[] {
  const given = (stages[i]?.next ?? []).map(edgeOf);
  const conditional = given.filter(({ probability }) => probability !== undefined).length;
  if (conditional > MOST_CONDITIONAL)
    faults.push(
      fault(
        `has ${conditional} edges with a probability; give at most ${MOST_CONDITIONAL}`,
        `/stages/${i}/next`,
      ),
    );
  const seen = new Set<number>();
  const verdict = conditionalEdges({ next: given });
  return given.flatMap((edge, at) => {
    const { to, probability = 1 } = edge;
    const bit = verdict.indexOf(edge);
    const path = `/stages/${i}/next/${at}`;
    const valid = probability > 0 && probability <= 1;
    if (!valid)
      faults.push(fault(`is ${probability}; give more than 0 and at most 1`, `${path}/probability`));
    const target = indexOf.get(to);
    if (target === undefined) {
      faults.push(fault(`leads to ${to}, and there is no such stage`, path));
      return [];
    }
    if (seen.has(target)) {
      faults.push(fault(`leads to ${to}, as an edge before it does`, path));
      return [];
    }
    seen.add(target);
    return [{ to: target, probability: valid ? probability : 1, at, ...(bit < 0 ? {} : { bit }) }];
  });
}

interface Grouping {
  readonly names: readonly string[];
  readonly edges: readonly GraphEdge[][];
  readonly faults: Fault[];
}

/** withGroups marks exclusive edges: those of every stage that leads to all stages of a group. */
function withGroups({ exclusive = [] }: StagesAndEdges, { names, edges, faults }: Grouping): GraphEdge[][] {
  const marked = edges.map((own) => [...own]);
  exclusive.forEach((group, g) => {
    const path = `/exclusive/${g}`;
    const targets = [...new Set(group)];
    const unknown = targets.filter((name) => !names.includes(name));
    for (const name of unknown) faults.push(fault(`names ${name}, and there is no such stage`, path));
    if (unknown.length > 0) return;
    if (targets.length < 2 || targets.length < group.length) {
      faults.push(fault('does not name two different stages or more, each once', path));
      return;
    }
    if (!markGroup(marked, { group: g, targets, names, faults }))
      faults.push(fault(`is ${listed(group)}; no stage leads to all of them`, path));
  });
  return marked;
}

/** @returns whether a stage leads to all targets */
function markGroup(
  edges: readonly GraphEdge[][],
  {
    group,
    targets,
    names,
    faults,
  }: {
    readonly group: number;
    readonly targets: readonly string[];
    readonly names: readonly string[];
    readonly faults: Fault[];
  },
): boolean {
  const path = `/exclusive/${group}`;
  let found = false;
  edges.forEach((own, i) => {
    const members = own.filter(({ to }) => targets.includes(itemAt(names, to)));
    if (members.length < 2) return;
    if (members.length < targets.length) {
      const led = members.map(({ to }) => names[to]).join(', ');
      faults.push(fault(`is ${listed(targets)}; ${names[i]} leads only to ${led}`, path));
      return;
    }
    found = true;
    const twice = members.find((edge) => edge.group !== undefined);
    if (twice !== undefined)
      faults.push(fault(`names ${names[twice.to]}, which another list has as well`, path));
    const sum = members.reduce((all, { probability }) => all + probability, 0);
    if (Math.abs(sum - 1) > ROUNDING * (1 + ROUNDING))
      faults.push(
        fault(
          `exactly one of them is taken after ${names[i]}, and their probabilities sum to ${Number(sum.toFixed(9))} instead of 1`,
          path,
        ),
      );
    for (const edge of members) own[own.indexOf(edge)] = { ...edge, group };
  });
  return found;
}

/** withoutCycles leaves out each edge that closes a cycle, and tells the cycle. */
function withoutCycles(
  names: readonly string[],
  edges: readonly (readonly GraphEdge[])[],
  faults: Fault[],
): { readonly kept: GraphEdge[][]; readonly inCycles: ReadonlySet<number> } {
  const kept: GraphEdge[][] = edges.map(() => []);
  const inCycles = new Set<number>();
  const done = new Set<number>();
  const way: number[] = [];
  const visit = (i: number): void => {
    way.push(i);
    for (const edge of edges[i] ?? []) {
      const from = way.indexOf(edge.to);
      if (from >= 0) {
        const cycle = [...way.slice(from), edge.to].map((k) => names[k]);
        faults.push(fault(`form a cycle: ${cycle.join(' -> ')}`, '/stages'));
        inCycles.add(edge.to);
        continue;
      }
      kept[i]?.push(edge);
      if (!done.has(edge.to)) visit(edge.to);
    }
    way.pop();
    done.add(i);
  };
  names.forEach((_, i) => {
    if (!done.has(i)) visit(i);
  });
  return { kept, inCycles };
}

/** topologicalOrder takes, of the stages whose predecessors were all taken, the first. */
function topologicalOrder(edges: readonly (readonly GraphEdge[])[]): number[] {
  const waiting = edges.map(() => 0);
  for (const { to } of edges.flat()) waiting[to] = (waiting[to] as number) + 1;
  const order: number[] = [];
  const left = new Set(edges.keys());
  while (left.size > 0) {
    const next = [...left].find((i) => waiting[i] === 0) as number;
    left.delete(next);
    order.push(next);
    for (const { to } of edges[next] ?? []) waiting[to] = (waiting[to] as number) - 1;
  }
  return order;
}

/** predecessorsOf lists, for each stage, the stages that lead to it. */
export function predecessorsOf({ edges }: StageGraph): number[][] {
  return edges.map((_, to) =>
    edges.flatMap((own, from) => (own.some((edge) => edge.to === to) ? [from] : [])),
  );
}

/** ancestorsOf gives, for each stage, all stages from which a way leads to it. */
export function ancestorsOf(graph: StageGraph): Set<number>[] {
  const ancestors = graph.edges.map(() => new Set<number>());
  for (const i of graph.order)
    for (const { to } of graph.edges[i] ?? [])
      for (const before of [i, ...(ancestors[i] ?? [])]) ancestors[to]?.add(before);
  return ancestors;
}
