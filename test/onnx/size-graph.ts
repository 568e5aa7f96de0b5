import { type OnnxModel, readModel } from '../../src/onnx/index.js';
import * as w from './writer.js';

/** SizeStep is a node of a random graph that computes with sizes: of matrices [rows, 3], shapes [2] and scalars. */
export interface SizeStep {
  readonly op: 'Tanh' | 'Neg' | 'Add' | 'Reshape' | 'Shape' | 'Gather' | 'Sum' | 'Cast' | 'Expand' | 'Random';
  readonly from: readonly string[];
  readonly to: string;
}

export interface SizeGraph {
  readonly inputs: readonly string[];
  readonly steps: readonly SizeStep[];
  readonly outputs: readonly string[];
}

/** After the random steps comes a line of this many, so that what is used at its end is needed far. */
const TAIL = 18;

/**
 * randomSizeGraph makes some steps over matrices and sizes, then a long line of matrices. What was made before is used
 * again at the line's end.
 */
export function randomSizeGraph(next: () => number, count: number): SizeGraph {
  const pick = <T>(items: readonly T[]) => items[Math.floor(next() * items.length)]!;
  const matrices = ['x', 'mask'];
  const shapes: string[] = [];
  const scalars: string[] = [];
  const floats: string[] = [];
  const steps: SizeStep[] = [];
  const add = (op: SizeStep['op'], from: string[], list: string[]) => {
    steps.push({ op, from, to: `t${steps.length}` });
    list.push(`t${steps.length - 1}`);
  };
  const kinds: (() => void)[] = [
    () => add('Tanh', [pick(matrices.slice(-3))], matrices),
    () => add('Neg', [pick(matrices.slice(-3))], matrices),
    () => add('Add', [pick(matrices), pick([...matrices.slice(-2), ...floats])], matrices),
    () => add('Shape', [pick(matrices.slice(-3))], shapes),
    () => shapes.length > 0 && add('Gather', [pick(shapes)], scalars),
    () => scalars.length > 0 && add('Sum', [pick(scalars), pick(scalars)], scalars),
    () => scalars.length > 0 && add('Cast', [pick(scalars)], floats),
    () => floats.length > 0 && shapes.length > 0 && add('Expand', [pick(floats), pick(shapes)], matrices),
    () => shapes.length > 0 && add('Reshape', [pick(matrices), pick(shapes)], matrices),
  ];
  while (steps.length < count) pick(kinds)();
  const again = [pick([...matrices, ...floats]), pick([...matrices, ...floats])];
  for (let i = 0; i < TAIL; i++)
    add('Tanh', [i === 0 ? pick(matrices.slice(-2)) : matrices.at(-1)!], matrices);
  for (const name of again) add('Add', [matrices.at(-1)!, name], matrices);
  const used = new Set(steps.flatMap(({ from }) => from));
  const unused = matrices.filter((name) => name.startsWith('t') && !used.has(name));
  return { inputs: ['x', 'mask'], steps, outputs: next() < 0.5 ? [steps.at(-1)!.to] : unused };
}

/** writtenSizes gives the graph as a model. */
export function writtenSizes(graph: SizeGraph): OnnxModel {
  const nodeOf = ({ op, from, to }: SizeStep) => {
    switch (op) {
      case 'Gather':
        return w.node('Gather', [...from, 'first'], [to], { attributes: [w.attribute.int('axis', 0)] });
      case 'Sum':
        return w.node('Add', from, [to]);
      case 'Cast':
        return w.node('Cast', from, [to], { attributes: [w.attribute.int('to', w.FLOAT)] });
      case 'Random':
        return w.node('RandomUniformLike', from, [to]);
      default:
        return w.node(op, from, [to]);
    }
  };
  return readModel(
    w.model(
      w.graph({
        nodes: graph.steps.map(nodeOf),
        inputs: graph.inputs.map((name) => w.value(name, w.FLOAT, ['rows', 3])),
        outputs: graph.outputs.map((name) => w.value(name, w.FLOAT, ['rows', 3])),
        initializers: [w.int64s('first', [], [0])],
      }),
    ),
  );
}
