import { type OnnxModel, readModel } from '../../src/onnx/index.js';
import * as w from './writer.js';

/** Step is a node of a random graph with what it computes, so that the oracle needs neither ONNX nor our code. */
export interface Step {
  readonly op: 'Add' | 'Sub' | 'Max' | 'Neg' | 'Abs' | 'Relu';
  readonly from: readonly string[];
  readonly to: string;
}

export interface RandomGraph {
  readonly inputs: readonly string[];
  readonly constants: ReadonlyMap<string, number>;
  readonly steps: readonly Step[];
  readonly outputs: readonly string[];
}

const BINARY = ['Add', 'Sub', 'Max'] as const;
const UNARY = ['Neg', 'Abs', 'Relu'] as const;

export function randomGraph(next: () => number): RandomGraph {
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

export function written(graph: RandomGraph): OnnxModel {
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
