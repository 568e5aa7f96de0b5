import type { TensorData, Tensors } from '../../../src/execution/index.js';
import type { Program, ProgramTensor, TaskHandle, TensorSource } from '../../../src/programs/index.js';
import { programTensor } from '../../../src/protocol/index.js';
import type { Computed } from './no-op-device.js';

/** pair makes a row of two numbers. */
export function pair(left: number, right: number): TensorData {
  return { dtype: 'float32', dims: [1, 2], data: Float32Array.of(left, right) };
}

function numbersOf(tensor: TensorData | undefined): [number, number] {
  const [left, right] = tensor!.data as Float32Array;
  return [left!, right!];
}

/** ARITHMETIC are components that compute with two numbers a row. What they give tells which of them gave it. */
export const ARITHMETIC: Readonly<Record<string, Computed>> = {
  add: ({ a, b }) => {
    const [[one, two], [three, four]] = [numbersOf(a), numbersOf(b)];
    return { y: pair((one + three) % 1009, (two + 2 * four) % 1013) };
  },
  turn: ({ x }) => {
    const [left, right] = numbersOf(x);
    return { y: pair(right, (left + 3) % 17), z: pair((left - right) % 997, (left * right) % 101) };
  },
  swap: ({ x }) => {
    const [left, right] = numbersOf(x);
    return { y: pair((7 * right + 1) % 499, left) };
  },
};

/** THROWS makes the program throw where a request begins with it. */
export const THROWS = 13;

/** wandering calls, reads and returns what it draws from its first number. */
export const wandering: Program = async (request, { call }) => {
  const { data } = await request.read('x', 'FP32');
  let state = data[0]! * 7919 + data[1]!;
  const draw = (below: number) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
  if (data[0] === THROWS) throw new Error('it throws');
  const sources: TensorSource[] = [request.in('x')];
  const any = () => sources[draw(sources.length)]!;
  const calls: ((source: TensorSource) => TaskHandle)[] = [
    (x) => call('turn', { x }),
    (x) => call('swap', { x }),
    (a) => call('add', { a, b: any() }),
  ];
  let sum = data[0]!;
  for (let left = draw(5); left > 0; left--) {
    const handles = Array.from({ length: 1 + draw(3) }, () => calls[draw(3)]!(any()));
    sources.push(...handles.map((handle) => handle.out('y')));
    if (draw(2) === 0) continue;
    const read = await Promise.all(handles.map((handle) => handle.read('y', 'FP32')));
    for (const value of read) sum = (sum + value.data[0]!) % 65521;
    if (sum % 2 < 1) sources.push(call('turn', { x: any() }).out('z'));
  }
  const made: ProgramTensor = { datatype: 'FP32', shape: [1, 2], data: Float32Array.of(sum, 1) };
  return { y: draw(3) === 0 ? undefined : any(), z: draw(2) === 0 ? made : any() };
};

interface ComputedSource extends TensorSource {
  readonly tensor: TensorData;
}

/** computed evaluates a program for a row at once, with nothing of the driver. It gives what the program answers with, by name. */
export async function computed(
  program: Program,
  request: Tensors,
): Promise<Readonly<Record<string, number[]>>> {
  const handle = (tensors: Tensors) => ({
    out: (name: string): ComputedSource => ({ name, tensor: tensors[name]! }),
    read: async (name: string) => programTensor(tensors[name]!) as never,
  });
  const { out, read } = handle(request);
  const call = (component: string, inputs: Readonly<Record<string, TensorSource>>) => {
    const given = Object.entries(inputs).map(([name, source]) => [name, (source as ComputedSource).tensor]);
    return handle(ARITHMETIC[component]!(Object.fromEntries(given)));
  };
  const returned = await program({ in: out, read }, { call, now: () => 0, random: () => 0 });
  const made = Object.entries(returned).filter(([, output]) => output !== undefined);
  return Object.fromEntries(
    made.map(([name, output]) => {
      const { data } = 'tensor' in output! ? (output as ComputedSource).tensor : (output as ProgramTensor);
      return [name, [...(data as Float32Array)]];
    }),
  );
}
