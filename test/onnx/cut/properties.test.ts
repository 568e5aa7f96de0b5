import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { cutFault, cutsOf, extractPartition, type OnnxModel, readModel } from '../../../src/onnx/index.js';
import { noise } from '../feeds.js';
import { runChain, type Tensors } from '../runtime.js';
import * as w from '../writer.js';

/** A node of a random graph, and what it computes, so that the oracle needs neither ONNX nor our code. */
interface Step {
  readonly op: 'Add' | 'Sub' | 'Max' | 'Neg' | 'Abs' | 'Relu';
  readonly from: readonly string[];
  readonly to: string;
}

interface RandomGraph {
  readonly inputs: readonly string[];
  readonly constants: ReadonlyMap<string, number>;
  readonly steps: readonly Step[];
  readonly outputs: readonly string[];
}

const BINARY = ['Add', 'Sub', 'Max'] as const;
const UNARY = ['Neg', 'Abs', 'Relu'] as const;

function randomGraph(next: () => number): RandomGraph {
  const pick = <T>(items: readonly T[]) => items[Math.floor(next() * items.length)]!;
  const inputs = Array.from({ length: 1 + Math.floor(next() * 2) }, (_, i) => `x${i}`);
  const constants = new Map(
    Array.from({ length: Math.floor(next() * 3) }, (_, i) => [`k${i}`, Math.floor(next() * 16) - 8] as const),
  );
  const names = [...inputs, ...constants.keys()];
  const steps: Step[] = [];
  for (let i = 0; i < 3 + next() * 10; i++) {
    const recent = names.slice(-3);
    const two = next() < 0.6;
    const from = two ? [pick(recent), pick(names)] : [pick(recent)];
    steps.push({ op: two ? pick(BINARY) : pick(UNARY), from, to: `t${i}` });
    names.push(`t${i}`);
  }
  const outputs = [...new Set([steps.at(-1)!.to, pick(steps).to])];
  return { inputs, constants, steps, outputs };
}

function written(graph: RandomGraph): OnnxModel {
  return readModel(
    w.model(
      w.graph({
        nodes: graph.steps.map((step) => w.node(step.op, step.from, [step.to])),
        inputs: graph.inputs.map((name) => w.value(name, w.FLOAT, [2])),
        outputs: graph.outputs.map((name) => w.value(name, w.FLOAT, [2])),
        initializers: [...graph.constants].map(([name, value]) => w.floats(name, [2], [value, -value])),
      }),
    ),
  );
}

/** Every tensor's values, computed step by step. */
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

/** Whether a tensor depends on any input, by recursion over its makers. */
function depends(graph: RandomGraph, name: string): boolean {
  if (graph.inputs.includes(name)) return true;
  const maker = graph.steps.find((step) => step.to === name);
  return maker?.from.some((from) => depends(graph, from)) ?? false;
}

/** Live at `position`, by the definition: made before, depends on the input, used after or given as an output. */
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

  it('cutsOf() gives what is live by definition on 150 random graphs', () => {
    for (const seed of SEEDS) {
      const graph = randomGraph(noise(seed * 104729));
      const cuts = cutsOf(written(graph));
      expect(cuts).toHaveLength(graph.steps.length - 1);
      for (const { position, tensors } of cuts)
        expect(tensors, `seed ${seed}, cut ${position}`).toEqual(liveAt(graph, position));
    }
  });

  it('extractPartition() of any [i, j) takes what it uses and gives what is used after', () => {
    for (const seed of SEEDS) {
      const next = noise(seed * 15485863);
      const graph = randomGraph(next);
      const model = written(graph);
      const types = new Map(graph.steps.map((step) => [step.to, TYPE]));
      const cuts = cutsOf(model).filter((cut) => cutFault(model, cut, types) === undefined);
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

  it('runChain() over random cuts of 40 random graphs computes what arithmetic does', async () => {
    for (const seed of SEEDS.slice(0, 40)) {
      const next = noise(seed * 32452843);
      const graph = randomGraph(next);
      const model = written(graph);
      const types = new Map(graph.steps.map((step) => [step.to, TYPE]));
      const cuts = cutsOf(model).filter((cut) => cutFault(model, cut, types) === undefined);
      const positions = cuts.filter(() => next() < 0.6).map((cut) => cut.position);
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
