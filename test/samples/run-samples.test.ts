import { describe, expect, it } from 'vitest';
import type { Executor, Tensors } from '../../src/execution/index.js';
import type { TensorSpec } from '../../src/formats/index.js';
import type { RunPipeline } from '../../src/pipeline/index.js';
import { readStageGraph } from '../../src/plans/index.js';
import { runSamples } from '../../src/samples/run-samples.js';

const tensor = (name: string): TensorSpec => ({ name, dtype: 'float32', shape: [1, 1], batchAxis: 0 });
const stage = (name: string, from: string | string[], next: RunPipeline['stages'][number]['next']) => ({
  name,
  inputs: [{ ...tensor('x'), from: [from].flat() }],
  outputs: [tensor('y')],
  next,
});
const above = (atLeast: number) => ({ output: 'y', atLeast });

/** A request goes on from `first` to `half` where it has 4 or more, and to `more` always; both lead to `last`. */
const stages = [
  stage('last', ['half.y', 'more.y'], [{ to: 'end', probability: 0.5, when: above(9) }]),
  stage('first', 'request.x', [{ to: 'half', probability: 0.5, when: above(4) }, { to: 'more' }]),
  stage('half', 'first.y', [{ to: 'last' }]),
  stage('more', 'first.y', [{ to: 'last' }]),
  stage('end', 'last.y', []),
];
const pipeline: RunPipeline = { graph: readStageGraph({ stages }).graph, stages, exclusive: [] };
const work: Record<string, (x: number) => number> = {
  first: (x) => x,
  half: (x) => x / 2,
  more: (x) => x + 8,
  last: (x) => x,
};

/** fakeExecutor runs each stage's arithmetic in place of its model, and notes what was run. */
function fakeExecutor(ran: string[]): Pick<Executor, 'load' | 'run'> {
  const loaded: string[] = [];
  return {
    load: async (path) => ({ model: loaded.push(path) - 1, inputs: [], outputs: [], loadMs: 0 }) as never,
    run: async (model, feeds: Tensors) => {
      const name = loaded[model] as string;
      const x = (feeds.x!.data as Float32Array)[0] as number;
      ran.push(`${name} ${x}`);
      const y = {
        dtype: 'float32',
        dims: [1, 1],
        data: Float32Array.of((work[name] as (x: number) => number)(x)),
      };
      return { outputs: { y }, deviceUs: 0 } as never;
    },
  };
}

const row = (x: number): Tensors => ({ x: { dtype: 'float32', dims: [1, 1], data: Float32Array.of(x) } });
const files = stages.map(({ name }) => name);

describe('runSamples()', () => {
  it('sends each row along the edges that its verdicts take, in the order of the graph', async () => {
    const ran: string[] = [];
    const verdicts = await runSamples([row(4), row(3)], pipeline, { executor: fakeExecutor(ran), files });
    // The first source that there is feeds `last`: that of `half` where the row went there.
    expect(ran).toEqual(['first 4', 'half 4', 'more 4', 'last 2', 'first 3', 'more 3', 'last 11']);
    expect(verdicts.map((one) => [...one])).toEqual([
      [0, 1, 0, 0, -1],
      [1, 0, -1, 0, 0],
    ]);
  });

  it('does not load models after which nothing is chosen', async () => {
    const ran: string[] = [];
    const executor = fakeExecutor(ran);
    const loads: string[] = [];
    const load: Executor['load'] = (path) => {
      loads.push(path);
      return executor.load(path);
    };
    await runSamples([row(20)], pipeline, { executor: { ...executor, load }, files });
    expect(loads).toEqual(['last', 'first', 'half', 'more']);
  });

  it('reports after each row how many are done, and stops where the caller asks', async () => {
    const done: number[] = [];
    const stop = new AbortController();
    const onRow = (rows: number): void => {
      done.push(rows);
      if (rows === 2) stop.abort();
    };
    const options = { executor: fakeExecutor([]), files, signal: stop.signal, onRow };
    await expect(runSamples([row(1), row(2), row(3)], pipeline, options)).rejects.toThrow('aborted');
    expect(done).toEqual([1, 2]);
  });

  it('says which sample and stage a model failed for', async () => {
    const executor = fakeExecutor([]);
    const run: Executor['run'] = async (model, feeds) => {
      if ((feeds.x!.data as Float32Array)[0] === 7) {
        const { ExecutionError } = await import('../../src/execution/index.js');
        throw new ExecutionError('the index is out of range');
      }
      return executor.run(model, feeds);
    };
    await expect(
      runSamples([row(1), row(7)], pipeline, { executor: { ...executor, run }, files }),
    ).rejects.toThrow('Cannot run the samples: sample 2: first failed: the index is out of range');
  });
});
