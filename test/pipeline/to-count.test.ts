import { describe, expect, it } from 'vitest';
import type { PipelineSpec, Profile, TensorSpec } from '../../src/formats/index.js';
import { type RunPipeline, resolveRun } from '../../src/pipeline/to-count.js';

const tensor = (name: string, size = 1): TensorSpec => ({
  name,
  dtype: 'float32',
  shape: [1, size],
  batchAxis: 0,
});
const profile = { model: { name: 'm', inputs: [tensor('x', 2)], outputs: [tensor('y', 2)] } } as Profile;
const high = { output: 'y', index: 0, atLeast: 0 };

function resolve(stages: PipelineSpec['stages'], exclusive?: string[][]) {
  const spec = { kind: 'pipeline', stages, ...(exclusive && { exclusive }) } as PipelineSpec;
  return resolveRun(
    spec,
    stages.map(() => ({ profile, path: 'm.json' })),
  );
}
const stage = (name: string, next?: PipelineSpec['stages'][number]['next'], x = 'request.x') => ({
  name,
  profile: 'm.json',
  inputs: { x },
  ...(next && { next }),
});
const told = (resolved: ReturnType<typeof resolve>) =>
  resolved.faults?.map(({ path, message }) => `${path}: ${message}`);

describe('resolveRun()', () => {
  it('takes edges without probabilities, and with any', () => {
    const { pipeline, faults } = resolve(
      [
        stage('a', [{ to: 'b', when: high }, 'c', { to: 'd', probability: 0.9, when: high }, 'e']),
        ...['b', 'c', 'd', 'e'].map((name) => stage(name)),
      ],
      [['d', 'e']],
    ) as { readonly pipeline: RunPipeline; readonly faults?: undefined };
    expect(faults).toBeUndefined();
    expect(pipeline.graph.edges[0]?.map(({ to, bit }) => [to, bit])).toEqual([
      [1, 0],
      [2, undefined],
      [3, 1],
      [4, 2],
    ]);
    expect(pipeline.stages[1]?.inputs?.[0]?.from).toEqual(['request.x']);
  });

  it('wants a condition of every edge that is not always taken', () => {
    expect(told(resolve([stage('a', [{ to: 'b', probability: 0.4 }]), stage('b')]))).toEqual([
      expect.stringContaining('/stages/0/next/0: leads to b with probability 0.4, and no output says when'),
    ]);
    expect(told(resolve([stage('a', ['b']), stage('b')]))).toEqual([
      '/stages: have no edge with a condition, so there is nothing to count',
    ]);
  });

  it('reports the faults of graph, tensors and conditions together', () => {
    const found = told(
      resolve([
        stage('a', [{ to: 'b', when: { output: 'z', atLeast: 0 } }, 'nobody']),
        stage('b', [{ to: 'c', when: { output: 'y', index: 2, below: 1 } }], 'a.z'),
        stage('c', [{ to: 'd', when: { output: 'y', index: 0 } }]),
        stage('d'),
      ]),
    );
    expect(found).toEqual([
      expect.stringContaining('leads to nobody, and there is no such stage'),
      expect.stringContaining('/stages/1/inputs/x: comes from a.z, which is no output of a'),
      '/stages/2/next/0/when: needs either atLeast or below',
      expect.stringContaining('/stages/0/next/0/when: reads z, which is no output of the model'),
      expect.stringContaining('/stages/1/next/0/when/index: is 2; y has 2 elements in a row'),
    ]);
  });
});
