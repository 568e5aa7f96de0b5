import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { type Cut, cutFault, cutsOf, extractPartition, readModel } from '../../../src/onnx/index.js';
import { inWholeRun, seeds } from '../../cases.js';
import { noise } from '../noise.js';
import { measuredTypes, run, runChain } from '../runtime.js';
import { randomSizeGraph, type SizeGraph, writtenSizes } from '../size-graph.js';
import * as w from '../writer.js';

type Bytes = (name: string) => number | undefined;

/** Definition follows what may be repeated and what must cross, by recursion over a graph's steps. */
class Definition {
  private readonly at: Map<string, number>;
  private readonly repeated = new Map<string, boolean>();

  constructor(private readonly graph: SizeGraph) {
    this.at = new Map(graph.steps.map(({ to }, index) => [to, index]));
  }

  /** Says whether a tensor depends on shapes alone. */
  isSize(name: string): boolean {
    const step = this.step(name);
    if (step === undefined || this.graph.outputs.includes(name) || step.op === 'Tanh') return false;
    return step.op === 'Shape' || step.from.every((from) => this.isSize(from));
  }

  /** Says whether a tensor is made cheaply from inputs, sizes left out of account, and is needed far behind. */
  isFar(name: string): boolean {
    const index = this.at.get(name)!;
    const least = Math.max(16, this.graph.steps.length / 4);
    return !this.isSize(name) && this.nodesFromInputs(name) <= 32 && this.need(name) - index >= least;
  }

  private nodesFromInputs(name: string): number {
    if (this.graph.inputs.includes(name) || this.isSize(name)) return 0;
    const step = this.step(name)!;
    if (this.graph.outputs.includes(name) || step.op === 'Tanh') return Number.POSITIVE_INFINITY;
    return step.from.reduce((sum, from) => sum + this.nodesFromInputs(from), 1);
  }

  /** Gives the last step that uses a tensor, directly or by what is made of it again. */
  private need(name: string): number {
    const uses = this.graph.steps.flatMap((step, index) => {
      if (!step.from.includes(name)) return [];
      return this.isRepeated(step.to) ? [this.need(step.to)] : [index];
    });
    return Math.max(this.at.get(name) ?? 0, ...uses);
  }

  isRepeated(name: string): boolean {
    let answer = this.repeated.get(name);
    if (answer === undefined) {
      answer = this.at.has(name) && (this.isSize(name) || this.isFar(name));
      this.repeated.set(name, answer);
    }
    return answer;
  }

  /** Says whether some tensors are enough for all steps from a position on, and for the outputs. */
  isEnough(tensors: readonly string[], position: number): boolean {
    const can = (name: string): boolean => {
      if (tensors.includes(name)) return true;
      const index = this.at.get(name);
      if (index === undefined) return false;
      return this.isRepeated(name) ? this.graph.steps[index]!.from.every(can) : index >= position;
    };
    const later = this.graph.steps.slice(position).flatMap(({ from }) => from);
    return [...later, ...this.graph.outputs].every(can);
  }

  /** Says whether nodes [from, to) and repeated ones can make a tensor of some others. */
  isMade(name: string, tensors: readonly string[], from: number, to: number): boolean {
    if (tensors.includes(name)) return true;
    const index = this.at.get(name);
    if (index === undefined) return from === 0;
    const makes = this.isRepeated(name) || (index >= from && index < to);
    return makes && this.graph.steps[index]!.from.every((one) => this.isMade(one, tensors, from, to));
  }

  /** Lists what exists before a position. */
  before(position: number): string[] {
    return [...this.graph.inputs, ...this.graph.steps.slice(0, position).map(({ to }) => to)];
  }

  private step(name: string) {
    return this.graph.steps[this.at.get(name) ?? -1];
  }
}

/** drawnBytes gives each tensor 1 to 9 bytes, and lets few values made again be of a kind that cannot be sent. */
function drawnBytes(graph: SizeGraph, next: () => number): Bytes {
  const isMatrix = (op: string) => ['Tanh', 'Neg', 'Add', 'Reshape', 'Expand'].includes(op);
  const bytes = new Map<string, number | undefined>(
    graph.inputs.map((name) => [name, 1 + Math.floor(next() * 9)]),
  );
  for (const { op, to } of graph.steps)
    bytes.set(to, !isMatrix(op) && next() < 0.3 ? undefined : 1 + Math.floor(next() * 9));
  return (name) => bytes.get(name);
}

const total = (names: readonly string[], bytesOf: Bytes) =>
  names.reduce((sum, name) => sum + (bytesOf(name) ?? Number.POSITIVE_INFINITY), 0);

/** baseOf gives what crosses a cut besides what the node before it only shows. */
function baseOf({ tensors, repeated = [] }: Cut): string[] {
  return tensors.filter((name) => !repeated.includes(name));
}

/** cheapest tries every set of tensors that exist before a cut, and gives the fewest bytes that are enough. */
function cheapest(
  definition: Definition,
  {
    position,
    given,
    from,
    bytesOf,
  }: { position: number; given: readonly string[]; from: number; bytesOf: Bytes },
): number {
  const names = definition
    .before(position)
    .filter((name) => bytesOf(name) !== undefined && definition.isMade(name, given, from, position));
  let least = Number.POSITIVE_INFINITY;
  const pickFrom = (index: number, picked: readonly string[], bytes: number): void => {
    if (bytes >= least) return;
    if (index === names.length) {
      if (definition.isEnough(picked, position)) least = bytes;
      return;
    }
    pickFrom(index + 1, picked, bytes);
    pickFrom(index + 1, [...picked, names[index]!], bytes + bytesOf(names[index]!)!);
  };
  pickFrom(0, [], 0);
  return least;
}

describe('cutsOf() on random graphs that compute with sizes', () => {
  const CORE = 8;

  inWholeRun(
    'hands on what is enough and what nothing can be left out of, made of what crossed before',
    () => {
      for (const seed of seeds(20, 300)) {
        const next = noise(seed * 104729);
        const graph = randomSizeGraph(next, 6 + Math.floor(next() * 20));
        const definition = new Definition(graph);
        const bytesOf = drawnBytes(graph, next);
        const cuts = cutsOf(writtenSizes(graph), bytesOf);
        const valid: Cut[] = [{ position: 0, tensors: graph.inputs }];
        for (const cut of cuts) {
          const { position, tensors } = cut;
          const told = `seed ${seed}, cut ${position}`;
          const base = baseOf(cut);
          expect(definition.isEnough(base, position), told).toBe(true);
          for (const name of base)
            expect(
              definition.isEnough(
                base.filter((other) => other !== name),
                position,
              ),
              told,
            ).toBe(false);
          if (tensors.some((name) => bytesOf(name) === undefined)) continue;
          for (const earlier of valid)
            for (const name of tensors)
              expect(definition.isMade(name, earlier.tensors, earlier.position, position), told).toBe(true);
          const isNew = (name: string) => valid.every((earlier) => !earlier.tensors.includes(name));
          expect(
            position === 1 || definition.before(position).slice(-1).every(isUnused) || tensors.some(isNew),
            told,
          ).toBe(true);
          valid.push(cut);
        }
        function isUnused(name: string): boolean {
          return !graph.outputs.includes(name) && !graph.steps.some(({ from }) => from.includes(name));
        }
      }
    },
  );

  it('hands on the fewest bytes that are enough, of all sets of tensors', () => {
    let repeats = 0;
    for (const seed of seeds(20, 200)) {
      const next = noise(seed * 15485863);
      const graph = randomSizeGraph(next, CORE);
      const definition = new Definition(graph);
      const bytesOf = drawnBytes(graph, next);
      let last: { given: readonly string[]; from: number } = { given: graph.inputs, from: 0 };
      for (const cut of cutsOf(writtenSizes(graph), bytesOf).slice(0, CORE)) {
        const base = baseOf(cut);
        const least = cheapest(definition, { position: cut.position, ...last, bytesOf });
        expect(total(base, bytesOf), `seed ${seed}, cut ${cut.position}`).toBe(least);
        if (least < Number.POSITIVE_INFINITY) last = { given: base, from: cut.position };
        if (definition.before(cut.position).some((name) => definition.isRepeated(name))) repeats++;
      }
    }
    expect(repeats).toBeGreaterThan(50);
  });

  it('gives chains with the whole model’s answers, bit for bit, over random cuts and at another batch', async () => {
    for (const seed of seeds(8, 150)) {
      const next = noise(seed * 32452843);
      const graph = randomSizeGraph(next, 6 + Math.floor(next() * 20));
      const model = writtenSizes(graph);
      const inputs = (rows: number) =>
        Object.fromEntries(
          graph.inputs.map((name) => {
            const data = Float32Array.from({ length: rows * 3 }, () => next() - 0.5);
            return [name, new ort.Tensor('float32', data, [rows, 3])];
          }),
        );
      const names = graph.steps.map(({ to }) => to);
      const types = new Map(
        [...(await measuredTypes(model, names, inputs(2)))].map(([name, { dtype, dims }]) => [
          name,
          { dtype, dims: dims!.map(() => undefined) },
        ]),
      );
      const bytesOf = drawnBytes(graph, next);
      const valid = cutsOf(model, bytesOf).filter(
        (cut) =>
          cutFault(model, cut, { types }) === undefined &&
          total(cut.tensors, bytesOf) < Number.POSITIVE_INFINITY,
      );
      const cuts = valid.filter(() => next() < 0.5);
      const options = { level: 'disabled', types, outputs: graph.outputs } as const;
      for (const rows of [2, 5]) {
        const feeds = inputs(rows);
        const whole = await run(model.bytes, feeds, options);
        const chained = await runChain(model, cuts, feeds, options);
        for (const name of graph.outputs)
          expect(chained[name]!.data, `seed ${seed}`).toEqual(whole[name]!.data);
      }
    }
  });
});

describe('cutsOf()', () => {
  const x = w.value('x', w.FLOAT, ['rows', 3]);
  const y = w.value('y', w.FLOAT, ['rows', 3]);
  const made = (nodes: Uint8Array[], parts: w.GraphParts = {}) =>
    readModel(w.model(w.graph({ nodes, inputs: [x], outputs: [y], ...parts })));
  const crossing = (model: ReturnType<typeof made>, bytesOf?: Bytes) =>
    cutsOf(model, bytesOf).map(({ tensors }) => tensors.join());

  it('never repeats a random node, and sends what it made', () => {
    const model = made([
      w.node('Shape', ['x'], ['shape']),
      w.node('ConstantOfShape', ['shape'], ['zeros']),
      w.node('RandomUniformLike', ['zeros'], ['noise']),
      w.node('Tanh', ['x'], ['a']),
      w.node('Tanh', ['a'], ['b']),
      w.node('Add', ['b', 'noise'], ['y']),
    ]);
    expect(crossing(model).slice(2)).toEqual(['x,noise', 'noise,a', 'noise,b']);
  });

  it('sends what a subgraph captures of what is made again, or its source', () => {
    const branch = w.graph({
      nodes: [w.node('Cast', ['size'], ['s'], { attributes: [w.attribute.int('to', w.FLOAT)] })],
      outputs: [w.value('s', w.FLOAT)],
    });
    const model = made(
      [
        w.node('Size', ['x'], ['size']),
        w.node('Tanh', ['x'], ['a']),
        w.node('Tanh', ['a'], ['b']),
        w.node('If', ['yes'], ['c'], {
          attributes: [w.attribute.graph('then_branch', branch), w.attribute.graph('else_branch', branch)],
        }),
        w.node('Add', ['b', 'c'], ['y']),
      ],
      { inputs: [x, w.value('yes', w.BOOL, [])] },
    );
    expect(crossing(model)[2]).toBe('x,yes,b');
    expect(crossing(model, (name) => (name === 'size' ? 8 : 100))[2]).toBe('yes,size,b');
    const part = extractPartition(model, { from: 3, to: 5, types: new Map([['b', { dtype: 'float32' }]]) });
    expect(part.inputs).toEqual(['x', 'yes', 'b']);
  });

  it('leaves a partition every constant node that makes a tensor it uses: of several, the last counts', () => {
    const scalar = (value: number) => ({
      attributes: [w.attribute.tensor('value', w.floats('', [1], [value]))],
    });
    const model = made([
      w.node('Constant', [], ['k'], scalar(1)),
      w.node('Add', ['x', 'k'], ['a']),
      w.node('Tanh', ['a'], ['b']),
      w.node('Tanh', ['b'], ['y']),
      w.node('Constant', [], ['k'], scalar(2)),
    ]);
    const part = readModel(
      extractPartition(model, { from: 0, to: 3, types: new Map([['b', { dtype: 'float32' }]]) }).bytes,
    );
    expect(part.graph.nodes.map(({ op }) => op)).toEqual(['Constant', 'Add', 'Tanh', 'Constant']);
  });
});
