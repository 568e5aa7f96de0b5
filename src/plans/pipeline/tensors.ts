import { itemAt } from '../../collections/index.js';
import { type Fault, fault, listed, type StageInput, type TensorSpec } from '../../formats/index.js';
import { REQUEST } from '../request-key.js';
import { ancestorsOf, predecessorsOf, type ReadGraph, type StageGraph } from './graph.js';
import { canBothBeVisited, wayWithout } from './possible.js';

/** WiredStage is what the tensors of a stage depend on. Without a profile's tensors they are unknown. */
export interface WiredStage {
  readonly inputs?: readonly TensorSpec[] | undefined;
  readonly outputs?: readonly TensorSpec[] | undefined;
  /** Where inputs come from, as the spec says. */
  readonly given?: Readonly<Record<string, string | readonly string[]>> | undefined;
}

/** Wiring holds each stage's inputs with their sources; undefined where they are not known. */
export interface Wiring {
  readonly inputs: readonly (StageInput[] | undefined)[];
  readonly faults: Fault[];
}

/**
 * wireStages finds where every input of every stage comes from: from the place that the spec names, from the request
 * where the stage is an entry, or else from the stage before that gives a tensor of its name. It reports tensors that do
 * not fit, and inputs that some verdicts would leave without a tensor.
 */
export function wireStages(
  { graph, inCycles }: Pick<ReadGraph, 'graph' | 'inCycles'>,
  stages: readonly WiredStage[],
): Wiring {
  const wires = new Wires(graph, stages);
  // Where an edge of a cycle was left out, nobody knows what it would have brought.
  for (const i of graph.order) if (!inCycles.has(i)) wires.wire(i);
  return { inputs: wires.inputs, faults: wires.faults };
}

/** Source is a tensor that an input may come from. */
interface Source {
  /** The stage that gives it; undefined for the request. */
  readonly stage: number | undefined;
  readonly text: string;
  /** The known type and shape of it. */
  readonly tensor: TensorSpec | undefined;
}

class Wires {
  readonly inputs: (StageInput[] | undefined)[];
  readonly faults: Fault[] = [];
  private readonly ancestors: readonly ReadonlySet<number>[];
  private readonly predecessors: readonly (readonly number[])[];
  /** The type and shape that the stages so far expect of each tensor of the request. */
  private readonly asked = new Map<string, TensorSpec>();

  constructor(
    private readonly graph: StageGraph,
    private readonly stages: readonly WiredStage[],
  ) {
    this.inputs = stages.map(() => undefined);
    this.ancestors = ancestorsOf(graph);
    this.predecessors = predecessorsOf(graph);
  }

  wire(i: number): void {
    const { inputs, given = {} } = itemAt(this.stages, i);
    const known = inputs?.map(({ name }) => name);
    for (const name of Object.keys(given))
      if (known !== undefined && !known.includes(name))
        this.tell(`is no input of the model; it has ${listed(known)}`, i, name);
    if (inputs === undefined) {
      for (const [name, refs] of Object.entries(given)) this.namedSources(i, name, refs);
      return;
    }
    const wired = inputs.map((input) => {
      const refs = Object.hasOwn(given, input.name) ? given[input.name] : undefined;
      const sources =
        refs === undefined ? this.sourcesByName(i, input) : this.namedSources(i, input.name, refs);
      if (sources === undefined || sources.length === 0) return undefined;
      for (const source of sources) this.checkFit(i, input, source);
      this.checkThere(i, input, sources);
      return { ...input, from: sources.map(({ text }) => text) };
    });
    if (wired.every((input) => input !== undefined)) this.inputs[i] = wired;
  }

  private tell(message: string, stage: number, input: string): void {
    this.faults.push(fault(message, `/stages/${stage}/inputs/${input}`));
  }

  /** @returns undefined where the tensors of a stage before are not known, or after a fault */
  private sourcesByName(i: number, input: TensorSpec): Source[] | undefined {
    const { name } = input;
    const before = this.predecessors[i] ?? [];
    if (before.length === 0) return [this.ofRequest(name, input)];
    if (before.some((stage) => this.stages[stage]?.outputs === undefined)) return undefined;
    const giving = before.flatMap((stage) => this.outputsNamed(stage, name));
    if (giving.length === 0) {
      this.tellLacking(i, name);
      return undefined;
    }
    for (const [k, one] of giving.entries())
      for (const other of giving.slice(k + 1))
        if (canBothBeVisited(this.graph, one.stage as number, other.stage as number))
          this.tell(
            `may come from ${one.text} or ${other.text}, as both can be there; say in its stage's inputs which counts`,
            i,
            name,
          );
    return giving;
  }

  private tellLacking(i: number, name: string): void {
    const { names } = this.graph;
    const before = (this.predecessors[i] ?? []).map((stage) => names[stage]);
    const further = [...(this.ancestors[i] ?? [])].flatMap((stage) => this.outputsNamed(stage, name));
    const advice = [...further.map(({ text }) => text), `${REQUEST}.${name}`][0];
    this.tell(
      `is given by none of ${before.join(', ')}; say in the stage's inputs where it comes from, such as ${advice}`,
      i,
      name,
    );
  }

  private outputsNamed(stage: number, name: string): Source[] {
    const tensor = this.stages[stage]?.outputs?.find((output) => output.name === name);
    return tensor === undefined ? [] : [{ stage, text: `${this.graph.names[stage]}.${name}`, tensor }];
  }

  private namedSources(i: number, input: string, refs: string | readonly string[]): Source[] | undefined {
    const sources = [refs].flat().map((ref) => this.namedSource(i, input, ref));
    const known = sources.filter((source) => source !== undefined);
    return known.length === sources.length ? known : undefined;
  }

  private namedSource(i: number, input: string, text: string): Source | undefined {
    const dot = text.indexOf('.');
    const [from, tensor] = [text.slice(0, dot), text.slice(dot + 1)];
    if (dot <= 0 || tensor === '') {
      this.tell(`is ${text}; write stage.tensor`, i, input);
      return undefined;
    }
    if (from === REQUEST)
      return this.ofRequest(
        tensor,
        this.stages[i]?.inputs?.find(({ name }) => name === input),
      );
    const stage = this.graph.names.indexOf(from);
    if (stage < 0) this.tell(`comes from ${text}, and there is no stage ${from}`, i, input);
    else if (!this.ancestors[i]?.has(stage))
      this.tell(`comes from ${text}, and no way leads from ${from} to this stage`, i, input);
    else {
      const outputs = this.stages[stage]?.outputs;
      const found = outputs?.find(({ name }) => name === tensor);
      if (outputs === undefined || found !== undefined) return { stage, text, tensor: found };
      const has = listed(outputs.map(({ name }) => name));
      this.tell(`comes from ${text}, which is no output of ${from}; it has ${has}`, i, input);
    }
    return undefined;
  }

  private ofRequest(name: string, asked: TensorSpec | undefined): Source {
    const known = this.asked.get(name);
    // A tensor that is sent must fit all stages that take it, and a later stage that it does not fit is
    // reported.
    if (asked !== undefined && (known === undefined || misfit(known, asked) === undefined))
      this.asked.set(name, narrower(asked, known));
    return { stage: undefined, text: `${REQUEST}.${name}`, tensor: known ?? asked };
  }

  private checkFit(i: number, input: TensorSpec, { text, tensor }: Source): void {
    if (tensor === undefined) return;
    const why = misfit(tensor, input);
    if (why !== undefined) this.tell(`does not fit ${text}: ${why}`, i, input.name);
  }

  /** checkThere tells an input that is without a tensor by some verdicts, at which the stage is visited. */
  private checkThere(i: number, { name }: TensorSpec, sources: readonly Source[]): void {
    if (sources.some(({ stage }) => stage === undefined)) return;
    const way = wayWithout(this.graph, i, new Set(sources.map(({ stage }) => stage as number)));
    if (way === undefined) return;
    const by = way.map((stage) => this.graph.names[stage]).join(' -> ');
    const lacking = listed(sources.map(({ text }) => text));
    this.tell(`is missing where a request comes by ${by}: there is no ${lacking} then`, i, name);
  }
}

/** narrower is the tensor that fits both: an axis is variable where it is for both. */
export function narrower(one: TensorSpec, other: TensorSpec | undefined): TensorSpec {
  if (other === undefined) return one;
  const { variableAxes: free = [], ...fixed } = other;
  const { variableAxes: ownFree = [] } = one;
  const variableAxes = free.filter((axis) => ownFree.includes(axis));
  return {
    ...fixed,
    shape: fixed.shape.map((size, axis) => (free.includes(axis) ? itemAt(one.shape, axis) : size)),
    ...(variableAxes.length > 0 ? { variableAxes } : {}),
    ...(fixed.fill === undefined && one.fill !== undefined ? { fill: one.fill } : {}),
  };
}

/** misfit says why a tensor cannot be fed to an input; undefined where it can. */
export function misfit(tensor: TensorSpec, input: TensorSpec): string | undefined {
  if (tensor.dtype !== input.dtype) return `it is ${tensor.dtype}, and ${input.dtype} is needed`;
  const shapes = `it is ${shapeText(tensor)}, and ${shapeText(input)} is needed`;
  if (tensor.batchAxis !== input.batchAxis) return shapes;
  if (tensor.shape.length !== input.shape.length) return shapes;
  const free = new Set([tensor.batchAxis, ...(tensor.variableAxes ?? []), ...(input.variableAxes ?? [])]);
  return tensor.shape.every((size, axis) => free.has(axis) || size === input.shape[axis])
    ? undefined
    : shapes;
}

function shapeText({ shape, batchAxis, variableAxes = [] }: TensorSpec): string {
  const sizes = shape.map((size, axis) =>
    axis === batchAxis ? 'batch' : variableAxes.includes(axis) ? '?' : String(size),
  );
  return `[${sizes.join(', ')}]`;
}

const BYTES: Readonly<Record<string, number>> = {
  float32: 4,
  float64: 8,
  float16: 2,
  bool: 1,
  int8: 1,
  int16: 2,
  int32: 4,
  int64: 8,
  uint8: 1,
  uint16: 2,
  uint32: 4,
  uint64: 8,
};

/** bytesPerRow counts the bytes of one row of a tensor; undefined for text, whose size depends on the data. */
export function bytesPerRow({ dtype, shape }: TensorSpec): number | undefined {
  const bytes = Object.hasOwn(BYTES, dtype) ? BYTES[dtype] : undefined;
  return bytes === undefined ? undefined : shape.reduce((all, size) => all * size, bytes);
}
