import type { PipelineEdge } from '../../../src/formats/index.js';
import { type Stream, streamOf } from '../../../src/random/index.js';

/** Given is a DAG as a spec has it. */
export interface Given {
  readonly stages: { name: string; next: PipelineEdge[] }[];
  readonly exclusive: string[][];
}

/** randomGraph draws a DAG of 2 to 7 stages, in any order, with edges that are taken always, by chance or exclusively. */
export function randomGraph(seed: number, most = 7): Given {
  const stream = streamOf(seed, 'graph');
  const count = 2 + stream.integer(most - 1);
  const exclusive: string[][] = [];
  const stages = Array.from({ length: count }, (_, i) => {
    const later = Array.from({ length: count - i - 1 }, (_, k) => `s${i + 1 + k}`);
    const targets = later.filter(() => stream.uniform() < 0.45);
    const grouped =
      targets.length >= 2 && stream.uniform() < 0.5
        ? targets.slice(0, 2 + stream.integer(targets.length - 1))
        : [];
    const isFree =
      grouped.length > 0 && !exclusive.some((group) => group.some((name) => grouped.includes(name)));
    if (isFree) exclusive.push(grouped);
    const shares = sharesOf(stream, grouped.length);
    return {
      name: `s${i}`,
      next: targets.map((to): PipelineEdge => {
        const at = isFree ? grouped.indexOf(to) : -1;
        if (at >= 0) return { to, probability: shares[at] as number };
        return stream.uniform() < 0.5 ? { to } : { to, probability: 0.05 + 0.9 * stream.uniform() };
      }),
    };
  });
  const valid = exclusive.filter((group) =>
    stages.every(({ next }) => {
      const led = next.filter(({ to }) => group.includes(to)).length;
      return led < 2 || led === group.length;
    }),
  );
  const alone = valid.filter((group) => stages.filter(({ next }) => leadsToAll(next, group)).length === 1);
  return { stages: shuffled(stages, stream), exclusive: alone };
}

function leadsToAll(next: readonly PipelineEdge[], group: readonly string[]): boolean {
  return group.every((name) => next.some(({ to }) => to === name));
}

function sharesOf(stream: Stream, count: number): number[] {
  const drawn = Array.from({ length: count }, () => 1 + stream.integer(4));
  const sum = drawn.reduce((all, one) => all + one, 0);
  return drawn.map((one) => one / sum);
}

function shuffled<T>(all: readonly T[], stream: Stream): T[] {
  return all
    .map((one) => ({ one, key: stream.uniform() }))
    .sort((a, b) => a.key - b.key)
    .map(({ one }) => one);
}

/** Fate is one outcome of all verdicts: its probability, and the stages that are visited. */
export interface Fate {
  readonly probability: number;
  readonly visited: ReadonlySet<string>;
}

/** fatesOf lists every outcome of the verdicts of every stage, visited or not, by trying all of them. */
export function fatesOf({ stages, exclusive }: Given): Fate[] {
  const verdicts = stages.flatMap(({ name, next }) => {
    const groups = exclusive.filter((group) => leadsToAll(next, group));
    const free = next.filter(({ to }) => !groups.some((group) => group.includes(to)));
    return [
      ...free.map(({ to, probability = 1 }) => [
        { edges: [`${name}>${to}`], probability },
        ...(probability < 1 ? [{ edges: [], probability: 1 - probability }] : []),
      ]),
      ...groups.map((group) =>
        next
          .filter(({ to }) => group.includes(to))
          .map(({ to, probability = 1 }) => ({ edges: [`${name}>${to}`], probability })),
      ),
    ];
  });
  let outcomes: { probability: number; edges: string[] }[] = [{ probability: 1, edges: [] }];
  for (const choices of verdicts)
    outcomes = outcomes.flatMap((outcome) =>
      choices.map(({ edges, probability }) => ({
        probability: outcome.probability * probability,
        edges: [...outcome.edges, ...edges],
      })),
    );
  const entries = stages
    .map(({ name }) => name)
    .filter((name) => !stages.some(({ next }) => next.some(({ to }) => to === name)));
  return outcomes.map(({ probability, edges }) => ({ probability, visited: reachedFrom(entries, edges) }));
}

function reachedFrom(entries: readonly string[], edges: readonly string[]): Set<string> {
  const visited = new Set(entries);
  const left = [...entries];
  for (let from = left.pop(); from !== undefined; from = left.pop())
    for (const edge of edges) {
      const [source, target = ''] = edge.split('>');
      if (source !== from || visited.has(target)) continue;
      visited.add(target);
      left.push(target);
    }
  return visited;
}

/** waysOf lists every way from an entry to an end, as names. */
export function waysOf({ stages }: Given): string[][] {
  const byName = new Map(stages.map((stage) => [stage.name, stage]));
  const from = (name: string): string[][] => {
    const next = byName.get(name)?.next ?? [];
    return next.length === 0 ? [[name]] : next.flatMap(({ to }) => from(to).map((way) => [name, ...way]));
  };
  const led = new Set(stages.flatMap(({ next }) => next.map(({ to }) => to)));
  return stages.filter(({ name }) => !led.has(name)).flatMap(({ name }) => from(name));
}
