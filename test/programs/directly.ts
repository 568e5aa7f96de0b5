import type { CalledFace, Program, ProgramTensor, TensorSource } from '../../src/programs/index.js';
import { streamOf } from '../../src/random/index.js';
import type { TestComponent, TestTensors } from './fake-driver.js';

/** DirectAnswer is what a program answers when its function is called here, with components that are computed at once. */
export interface DirectAnswer {
  readonly outputs: Readonly<Record<string, readonly number[]>>;
  readonly notTaken: readonly string[];
  /** The components that were called, in their order. */
  readonly called: readonly string[];
}

interface DirectSource extends TensorSource {
  readonly tensor: ProgramTensor;
}

/** directly calls the function of a program without a thread, a host or a driver. It draws what run `run` draws under a seed. */
export async function directly(
  module: Readonly<Record<string, unknown>>,
  request: TestTensors,
  {
    components,
    seed,
    run,
  }: { components: Readonly<Record<string, TestComponent>>; seed: number; run: number },
): Promise<DirectAnswer> {
  const called: string[] = [];
  const draws = streamOf(seed, `program/${run}`);
  const handle = (tensors: TestTensors) => ({
    out: (name: string): DirectSource => ({ name, tensor: tensors[name] as ProgramTensor }),
    read: async (name: string) => tensors[name] as never,
  });
  const asked = handle(request);
  const call = (component: string, inputs: Readonly<Record<string, TensorSource>>) => {
    called.push(component);
    const given = Object.entries(inputs).map(([name, source]) => [name, (source as DirectSource).tensor]);
    return handle((components[component] as TestComponent).compute(Object.fromEntries(given)));
  };
  const returned = await (module.default as Program)(
    { in: asked.out, read: asked.read },
    { call, now: () => 0, random: () => draws.uniform() },
  );
  const { outputs } = module as unknown as CalledFace;
  const made = outputs.flatMap(({ name }) => (returned[name] === undefined ? [] : [name]));
  const values = made.map((name) => {
    const output = returned[name] as ProgramTensor | DirectSource;
    const { data } = 'tensor' in output ? output.tensor : output;
    return [name, Array.from(data as Iterable<number>, Number)];
  });
  const notTaken = outputs.map(({ name }) => name).filter((name) => !made.includes(name));
  return { outputs: Object.fromEntries(values), notTaken, called };
}
