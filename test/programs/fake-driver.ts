import type { CalledFace, ProgramTensor, TensorMetadata } from '../../src/programs/index.js';
import {
  hasFailed,
  type ProgramCall,
  type ProgramDriver,
  type ProgramEnd,
  type ProgramFailure,
  type ProgramHost,
  type RecordedProgramCall,
  type SourceName,
  sourceKey,
} from '../../src/programs/index.js';
import { type Stream, streamOf } from '../../src/random/index.js';

/** Tensors are tensors by name. */
export type TestTensors = Readonly<Record<string, ProgramTensor>>;

/** TestComponent is a component that is computed at once. */
export interface TestComponent extends CalledFace {
  readonly compute: (inputs: TestTensors) => TestTensors;
}

/** EndedRun is a run as its client sees it: outputs in numbers, wherever they came from. */
export interface EndedRun {
  readonly outputs: Readonly<Record<string, readonly number[]>>;
  readonly notTaken: readonly string[];
  readonly failure?: ProgramFailure;
  /** What was called, in words. */
  readonly calls: readonly string[];
  readonly recorded: readonly RecordedProgramCall[];
}

interface DrivenRun {
  readonly request: TestTensors;
  readonly calls: ProgramCall[];
  readonly wanted: Set<string>;
  readonly given: Map<string, TestTensors>;
  readonly resolve: (ended: EndedRun) => void;
}

/** How a FakeDriver behaves, where it does so otherwise than by default. */
export interface FakeOptions {
  /** What the order of its answers is drawn from. */
  readonly seed?: number;
  /** Whether a read is answered; by default each is. */
  readonly answers?: (run: number, source: SourceName) => boolean;
}

/**
 * FakeDriver computes what programs call, answers what they want in a drawn order, and keeps watch: a task is told
 * once, in its order, takes only what exists, and nothing is told of a run that has ended.
 */
export class FakeDriver implements ProgramDriver {
  host: ProgramHost | undefined;
  readonly broken: string[] = [];
  /** How often it was told something. */
  count = 0;
  private readonly runs = new Map<number, DrivenRun>();
  private readonly waiting: (() => void)[] = [];
  private readonly order: Stream;
  private isDue = false;

  constructor(
    private readonly components: Readonly<Record<string, TestComponent>>,
    private readonly options: FakeOptions = {},
  ) {
    this.order = streamOf(options.seed ?? 1, 'answers');
  }

  /** run runs the program for a request. */
  run(run: number, request: TestTensors): Promise<EndedRun> {
    return new Promise((resolve) => {
      this.runs.set(run, { request, resolve, calls: [], wanted: new Set(), given: new Map() });
      this.host?.begin(run);
    });
  }

  /** waits says how many sources a run has wanted. */
  waits(run: number): number {
    return this.runs.get(run)?.wanted.size ?? 0;
  }

  /** leave cancels a run, of which nothing may be told then. */
  leave(run: number): void {
    this.runs.delete(run);
    this.host?.cancel(run);
  }

  called(run: number, call: ProgramCall): void {
    const driven = this.find(run, 'calls');
    if (driven === undefined) return;
    if (call.task !== driven.calls.length) this.broken.push(`run ${run} calls ${call.task} out of order`);
    for (const { source } of call.inputs)
      if (source.from === 'task' && source.task >= call.task) this.broken.push(`run ${run} takes the future`);
    driven.calls.push(call);
  }

  wanted(run: number, source: SourceName): void {
    const driven = this.find(run, 'wants');
    if (driven === undefined) return;
    const key = sourceKey(source);
    if (driven.wanted.has(key)) this.broken.push(`run ${run} wants ${key} twice`);
    driven.wanted.add(key);
    if (this.options.answers?.(run, source) === false) return;
    this.waiting.push(() => {
      if (this.runs.has(run)) this.host?.give(run, source, this.valueOf(driven, source));
    });
    this.soon();
  }

  ended(run: number, end: ProgramEnd, recorded: readonly RecordedProgramCall[]): void {
    const driven = this.find(run, 'ends');
    if (driven === undefined) return;
    this.runs.delete(run);
    const calls = driven.calls.map(callWords);
    if (hasFailed(end)) driven.resolve({ outputs: {}, notTaken: [], failure: end, calls, recorded });
    else {
      const outputs = Object.entries(end.outputs).map(([name, output]) => {
        const tensor = 'from' in output ? this.valueOf(driven, output) : output;
        return [name, Array.from(tensor.data as Iterable<number>, Number)];
      });
      driven.resolve({ outputs: Object.fromEntries(outputs), notTaken: end.notTaken, calls, recorded });
    }
  }

  private find(run: number, does: string): DrivenRun | undefined {
    this.count += 1;
    const driven = this.runs.get(run);
    if (driven === undefined) this.broken.push(`run ${run} ${does} after its end`);
    return driven;
  }

  private valueOf(driven: DrivenRun, source: SourceName): ProgramTensor {
    if (source.from === 'request') return driven.request[source.input] as ProgramTensor;
    const call = driven.calls[source.task] as ProgramCall;
    const key = String(source.task);
    let given = driven.given.get(key);
    if (given === undefined) {
      const inputs = call.inputs.map(({ name, source }) => [name, this.valueOf(driven, source)]);
      given = (this.components[call.component] as TestComponent).compute(Object.fromEntries(inputs));
      driven.given.set(key, given);
    }
    return given[source.output] as ProgramTensor;
  }

  private soon(): void {
    if (this.isDue || this.waiting.length === 0) return;
    this.isDue = true;
    setImmediate(() => {
      this.isDue = false;
      const [answer] = this.waiting.splice(this.order.integer(this.waiting.length), 1);
      answer?.();
      this.soon();
    });
  }
}

/** callWords writes a call: `add(a: 0.y, b: request.x)`. */
export function callWords({ component, inputs, rows }: ProgramCall): string {
  const words = inputs.map(({ name, source }) =>
    source.from === 'request'
      ? `${name}: request.${source.input}`
      : `${name}: ${source.task}.${source.output}`,
  );
  return `${component}(${words.join(', ')})${rows === 1 ? '' : `*${rows}`}`;
}

/** numbers makes a tensor of one row. */
export function numbers(...values: number[]): ProgramTensor {
  return { datatype: 'FP32', shape: [1, values.length], data: Float32Array.from(values) };
}

const pair = (name: string): TensorMetadata => ({ name, datatype: 'FP32', shape: [-1, 2] });

function first(tensor: ProgramTensor | undefined): number[] {
  return Array.from((tensor as ProgramTensor).data as Float32Array);
}

/** ARITHMETIC are components that compute with two numbers a row. */
export const ARITHMETIC: Readonly<Record<string, TestComponent>> = {
  add: {
    inputs: [pair('a'), pair('b')],
    outputs: [pair('y')],
    compute: ({ a, b }) => ({ y: numbers(...first(a).map((value, i) => value + (first(b)[i] as number))) }),
  },
  turn: {
    inputs: [pair('x')],
    outputs: [pair('y'), pair('z')],
    compute: ({ x }) => {
      const [left, right] = first(x) as [number, number];
      return { y: numbers(right, (left + 3) % 17), z: numbers(left - right, (left * right) % 101) };
    },
  },
};
