import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { cutFault, cutsOf } from '../../../src/onnx/index.js';
import { noise } from '../noise.js';
import { type RandomGraph, randomGraph, type Step, written } from '../random-graph.js';
import { runChain, type Tensors } from '../runtime.js';

/** computed gives every tensor's values, computed step by step. */
function computed(graph: RandomGraph, feeds: ReadonlyMap<string, readonly number[]>): Map<string, number[]> {
  const values = new Map([...feeds].map(([name, list]) => [name, [...list]]));
  for (const [name, value] of graph.constants) values.set(name, [value, -value]);
  const apply = (op: Step['op'], a: number, b: number) =>
    ({ Add: a + b, Sub: a - b, Max: Math.max(a, b), Neg: -a, Abs: Math.abs(a), Relu: Math.max(a, 0) })[op];
  for (const { op, from, to } of graph.steps) {
    const [a, b = a] = from.map((name) => values.get(name)!);
    values.set(
      to,
      [0, 1].map((i) => apply(op, a![i]!, b![i]!)),
    );
  }
  return values;
}

describe('random graphs', () => {
  const SEEDS = Array.from({ length: 40 }, (_, i) => i + 1);
  const TYPE = { dtype: 'float32', dims: [2] } as const;

  it('runChain() over random cuts of 40 random graphs computes what arithmetic does', async () => {
    for (const seed of SEEDS) {
      const next = noise(seed * 32452843);
      const graph = randomGraph(next);
      const model = written(graph);
      const types = new Map(graph.steps.map((step) => [step.to, TYPE]));
      const cuts = cutsOf(model).filter((cut) => cutFault(model, cut, { types }) === undefined);
      const positions = cuts.filter(() => next() < 0.6);
      const feeds = new Map(graph.inputs.map((name, i) => [name, [i + 1, -2 * i - 3]]));
      const tensors: Tensors = Object.fromEntries(
        [...feeds].map(([name, list]) => [name, new ort.Tensor('float32', Float32Array.from(list), [2])]),
      );
      const options = { level: 'disabled', types, outputs: graph.outputs } as const;
      const answer = await runChain(model, positions, tensors, options);
      const expected = computed(graph, feeds);
      for (const name of graph.outputs) {
        const values = [...(answer[name]!.data as Float32Array)].map((value) => value + 0);
        expect(values, `seed ${seed}`).toEqual(expected.get(name)!.map((value) => value + 0));
      }
    }
  });
});
