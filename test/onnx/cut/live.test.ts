import { expect, test } from 'vitest';
import { cutsOf, largestCut, type OnnxModel, peakBytes, readModel } from '../../../src/onnx/index.js';
import { streamOf } from '../../../src/random/index.js';
import * as w from '../writer.js';

/** Step is a node as the oracle sees it. */
interface Step {
  readonly from: readonly string[];
  readonly to: string;
}

function randomSteps(uniform: () => number): Step[] {
  const names = ['x'];
  return Array.from({ length: 3 + Math.floor(uniform() * 9) }, (_, i) => {
    const pick = () => names[Math.floor(uniform() * names.length)]!;
    const step = { from: [names.at(-1)!, pick()], to: `t${i}` };
    names.push(step.to);
    return step;
  });
}

function written(steps: readonly Step[], outputs: readonly string[]): OnnxModel {
  return readModel(
    w.model(
      w.graph({
        nodes: steps.map(({ from, to }) => w.node('Add', from, [to])),
        inputs: [w.value('x', w.FLOAT, [2])],
        outputs: outputs.map((name) => w.value(name, w.FLOAT, [2])),
      }),
    ),
  );
}

/** simulated runs nodes [from, to) with a set of live tensors, and gives the most bytes in it at any time. */
function simulated(
  steps: readonly Step[],
  outputs: readonly string[],
  { from, to, bytesOf }: { from: number; to: number; bytesOf: (name: string) => number },
): number {
  const ours = steps.slice(from, to);
  const made = new Set(ours.map((step) => step.to));
  const given = new Set(ours.flatMap((step) => step.from).filter((name) => !made.has(name)));
  const wanted = new Set([...outputs, ...steps.slice(to).flatMap((step) => step.from)]);
  const there = new Set(given);
  let most = 0;
  ours.forEach((step, i) => {
    there.add(step.to);
    most = Math.max(
      most,
      [...there].reduce((sum, name) => sum + bytesOf(name), 0),
    );
    const later = new Set(ours.slice(i + 1).flatMap((next) => next.from));
    for (const name of there)
      if (!given.has(name) && !later.has(name) && !wanted.has(name)) there.delete(name);
  });
  return most;
}

test('peakBytes() equals a run of the nodes with a set of live tensors, for whole models and parts', () => {
  const { uniform } = streamOf(7, 'graphs');
  for (let k = 0; k < 60; k++) {
    const steps = randomSteps(uniform);
    const last = steps.at(-1)!.to;
    // A tensor that no node reads is an output here, so it does not wait for a reader.
    const read = new Set(steps.flatMap(({ from }) => from));
    const outputs = [...new Set([last, ...steps.map(({ to }) => to).filter((name) => !read.has(name))])];
    const model = written(steps, outputs);
    const sizes = new Map(
      ['x', ...steps.map(({ to }) => to)].map((name) => [name, 1 + Math.floor(uniform() * 9)]),
    );
    const bytesOf = (name: string) => sizes.get(name)!;
    const from = Math.floor(uniform() * steps.length);
    const ranges = [
      { from: 0, to: steps.length },
      { from, to: from + 1 + Math.floor(uniform() * (steps.length - from)) },
    ];
    for (const range of ranges)
      expect(peakBytes(model, range, bytesOf)).toBe(simulated(steps, outputs, { ...range, bytesOf }));
  }
});

test('largestCut() finds the cut of most bytes, with the tensors that cross it', () => {
  const { uniform } = streamOf(8, 'graphs');
  for (let k = 0; k < 40; k++) {
    const steps = randomSteps(uniform);
    const model = written(steps, [steps.at(-1)!.to]);
    const bytesOf = (name: string) => (name === 'x' ? 5 : Number(name.slice(1)) + 1);
    const sums = cutsOf(model).map(({ tensors }) => tensors.reduce((sum, name) => sum + bytesOf(name), 0));
    expect(largestCut(model, bytesOf)?.bytes).toBe(Math.max(...sums));
  }
});

test('largestCut() counts memory that two tensors may share once, and says where the cut is', () => {
  const nodes = [
    w.node('Neg', ['x'], ['a'], { name: 'make' }),
    w.node('Reshape', ['a', 'flat'], ['b'], { name: 'view' }),
    w.node('Neg', ['b'], ['c']),
    w.node('Add', ['a', 'c'], ['y']),
  ];
  const graph = w.graph({
    nodes,
    initializers: [w.int64s('flat', [1], [2])],
    inputs: [w.value('x', w.FLOAT, [2])],
    outputs: [w.value('y', w.FLOAT, [2])],
  });
  const bytesOf = (name: string) => ({ a: 100, b: 100, c: 1 })[name] ?? 0;
  const cut = largestCut(readModel(w.model(graph)), bytesOf);
  expect(cut).toEqual({ bytes: 101, node: 'Neg_2', tensors: ['a', 'c'] });
});

test('largestCut() is undefined where a model has fewer than two nodes', () => {
  const model = written([{ from: ['x'], to: 't0' }], ['t0']);
  expect(largestCut(model, () => 1)).toBeUndefined();
});
