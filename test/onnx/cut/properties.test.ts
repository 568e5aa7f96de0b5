import { describe, expect, it } from 'vitest';
import { cutFault, cutsOf, extractPartition } from '../../../src/onnx/index.js';
import { noise } from '../noise.js';
import { type RandomGraph, randomGraph, written } from '../random-graph.js';

/** depends says whether a tensor depends on any input, by recursion over its makers. */
function depends(graph: RandomGraph, name: string): boolean {
  if (graph.inputs.includes(name)) return true;
  const maker = graph.steps.find((step) => step.to === name);
  return maker?.from.some((from) => depends(graph, from)) ?? false;
}

/** liveAt follows the definition: a tensor is made before, depends on the input, and is used after or is an output. */
function liveAt(graph: RandomGraph, position: number): string[] {
  const before = graph.steps.slice(0, position).map((step) => step.to);
  const after = graph.steps.slice(position).filter((step) => depends(graph, step.to));
  return [...graph.inputs, ...before].filter(
    (name) =>
      depends(graph, name) &&
      (graph.outputs.includes(name) || after.some((step) => step.from.includes(name))),
  );
}

describe('random graphs', () => {
  const SEEDS = Array.from({ length: 150 }, (_, i) => i + 1);
  const TYPE = { dtype: 'float32', dims: [2] } as const;

  it('cutsOf() gives the tensors that are live by definition, on 150 random graphs', () => {
    for (const seed of SEEDS) {
      const graph = randomGraph(noise(seed * 104729));
      const cuts = cutsOf(written(graph));
      expect(cuts).toHaveLength(graph.steps.length - 1);
      for (const { position, tensors } of cuts)
        expect(tensors, `seed ${seed}, cut ${position}`).toEqual(liveAt(graph, position));
    }
  });

  it('extractPartition() of any [i, j) has the tensors it uses as inputs, and those used after it as outputs', () => {
    for (const seed of SEEDS) {
      const next = noise(seed * 15485863);
      const graph = randomGraph(next);
      const model = written(graph);
      const types = new Map(graph.steps.map((step) => [step.to, TYPE]));
      const cuts = cutsOf(model).filter((cut) => cutFault(model, cut, { types }) === undefined);
      const ends = [0, ...cuts.map((cut) => cut.position), graph.steps.length];
      const from = Math.floor(next() * (ends.length - 1));
      const to = from + 1 + Math.floor(next() * (ends.length - 1 - from));
      const [i, j] = [ends[from]!, ends[to]!];
      if (i === 0 && j === graph.steps.length) continue;
      const part = extractPartition(model, { from: i, to: j, types });
      const own = graph.steps.slice(i, j).filter((step) => depends(graph, step.to));
      const made = own.map((step) => step.to);
      const used = new Set(own.flatMap((step) => step.from));
      const earlier = [...graph.inputs, ...graph.steps.slice(0, i).map((step) => step.to)];
      expect(part.inputs, `seed ${seed} [${i}, ${j})`).toEqual(
        earlier.filter((name) => used.has(name) && depends(graph, name)),
      );
      const live = liveAt(graph, j);
      const given = j === graph.steps.length ? graph.outputs : live;
      const wanted = made.filter((name) => given.includes(name) || graph.outputs.includes(name));
      const constantOutputs =
        j === graph.steps.length ? graph.outputs.filter((name) => !depends(graph, name)) : [];
      expect(part.outputs, `seed ${seed} [${i}, ${j})`).toEqual([...wanted, ...constantOutputs]);
    }
  });
});
