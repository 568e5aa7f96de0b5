import { describe, expect, it } from 'vitest';
import { graphFaults, mostStagesFaults } from '../../../src/checks/pipeline/graph-faults.js';
import type { PlannedEdge } from '../../../src/formats/index.js';
import { readStageGraph } from '../../../src/plans/index.js';
import { type Stream, streamOf } from '../../../src/random/index.js';
import { edge } from '../../pipeline-plans.js';
import { randomGraph } from '../../plans/pipeline/random-graph.js';

interface Drawn {
  stages: { name: string; next: PlannedEdge[] }[];
  exclusive: string[][];
}

/** inOrder gives a random graph as a plan has it: each stage after those that lead to it, under their old names. */
function inOrder(seed: number): Drawn {
  const { stages, exclusive } = randomGraph(seed);
  const sorted = [...stages].sort((a, b) => Number(a.name.slice(1)) - Number(b.name.slice(1)));
  return {
    stages: sorted.map(({ name, next }) => ({
      name,
      next: next.map((one) => (typeof one === 'string' ? edge(one) : { ...one, transferBytes: 0 })),
    })),
    exclusive,
  };
}

const oneOf = <T>(all: readonly T[], stream: Stream): T | undefined => all[stream.integer(all.length || 1)];

/** damaged changes a graph at one place, mostly into one that is none. */
function damaged({ stages, exclusive }: Drawn, stream: Stream): Drawn {
  const stage = oneOf(stages, stream)!;
  const one = oneOf(stage.next, stream);
  const list = oneOf(exclusive, stream);
  const name = oneOf([...stages.map((of) => of.name), 'nowhere', 'request'], stream)!;
  const changes: (() => unknown)[] = [
    () => stage.next.push(edge(name)),
    () => stage.next.push(edge(name, oneOf([0, -1, 0.5, 1, 1.5], stream)!)),
    () => one && Object.assign(one, { to: name }),
    () => one && Object.assign(one, { probability: oneOf([0, 0.3, 2], stream) }),
    () => Object.assign(stage, { name }),
    () => stages.reverse(),
    () => list?.push(name),
    () => list?.pop(),
    () => exclusive.push([stage.name, name]),
    () => list && exclusive.push([...list]),
  ];
  oneOf(changes, stream)!();
  return { stages, exclusive };
}

const isOrder = (message: string) => message.startsWith('leads back') || message.startsWith('form a cycle');
const textOf = ({ path, message }: { path: string; message: string }) => `${path}: ${message}`;

describe('graphFaults()', () => {
  it('finds nothing in graphs whose stages stand in their order', () => {
    for (let seed = 0; seed < 200; seed++) expect(graphFaults(inOrder(seed))).toEqual([]);
  });

  it('finds of random graphs with damage what the reader of graphs finds, and what stands in a wrong order', () => {
    let damagedOnes = 0;
    let disordered = 0;
    for (let seed = 0; seed < 3_000; seed++) {
      const stream = streamOf(seed, 'damage');
      let drawn = inOrder(seed);
      for (let k = stream.integer(3); k >= 0; k--) drawn = damaged(drawn, stream);
      const { graph, faults } = readStageGraph(drawn);
      const isLate = graph.edges.some((own, i) => own.some(({ to }) => to < i));
      const found = graphFaults(drawn);
      const words = (all: typeof found) => all.filter(({ message }) => !isOrder(message)).map(textOf);
      expect(words(found), JSON.stringify(drawn)).toEqual(words(faults));
      const wrongOrder = found.some(({ message }) => isOrder(message));
      expect(wrongOrder).toBe(isLate || faults.some(({ message }) => isOrder(message)));
      damagedOnes += found.length > 0 ? 1 : 0;
      disordered += wrongOrder ? 1 : 0;
    }
    expect(damagedOnes).toBeGreaterThan(1_500);
    expect(disordered).toBeGreaterThan(300);
  });

  it('reports a cycle by its stages, and an edge that only stands in the wrong order by its target', () => {
    const drawn = (stages: Drawn['stages']) => graphFaults({ stages }).map(textOf);
    const cycle = [
      { name: 'a', next: [edge('b')] },
      { name: 'b', next: [edge('c')] },
      { name: 'c', next: [edge('b'), edge('a')] },
    ];
    expect(drawn(cycle)).toEqual([
      '/stages: form a cycle: b -> c -> b',
      '/stages: form a cycle: a -> b -> c -> a',
      '/stages: has no entry: every stage follows another',
    ]);
    expect(drawn([{ name: 'a', next: [edge('a')] }])).toContain('/stages: form a cycle: a -> a');
    expect(
      drawn([
        { name: 'b', next: [] },
        { name: 'a', next: [edge('b')] },
      ]),
    ).toEqual(['/stages/1/next/0: leads back to b; put each stage after those that lead to it']);
  });

  it('refuses more edges than a verdict distinguishes, and more stages than a plan has', () => {
    const stages = Array.from({ length: 33 }, (_, i) => ({
      name: `s${i}`,
      next: i === 0 ? Array.from({ length: 32 }, (__, k) => edge(`s${k + 1}`, 0.5)) : [],
    }));
    expect(graphFaults({ stages }).map(textOf)).toEqual([
      '/stages/0/next: has 32 edges with a probability; give at most 31',
    ]);
    const many = Array.from({ length: 65 }, (_, i) => ({ name: `s${i}`, next: [] }));
    expect(mostStagesFaults({ stages: many }).map(textOf)).toEqual([
      '/stages: has 65 stages; give at most 64',
    ]);
    expect(mostStagesFaults({ stages })).toEqual([]);
  });
});
