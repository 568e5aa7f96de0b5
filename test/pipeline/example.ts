import type { PipelineSpec, PipelineStage, Profile, TensorSpec } from '../../src/formats/index.js';
import type { GivenOutcome, GivenProblem, PipelineFiles } from '../../src/pipeline/index.js';
import { planGiven, resolveGiven } from '../../src/pipeline/index.js';
import type { PipelinePlanBody } from '../../src/plans/index.js';

/** tensor is one of 4 floats for each row. */
export function tensor(name: string, more: Partial<TensorSpec> = {}): TensorSpec {
  return { name, dtype: 'float32', shape: [1, 4], batchAxis: 0, ...more };
}

/** profileOf is the profile of a model of one block on two classes, with batches 1 and 4. */
export function profileOf(
  name: string,
  inputs: readonly TensorSpec[],
  outputs: readonly TensorSpec[],
  us: readonly [number, number] = [1000, 2000],
): Profile {
  const blockLatencyUs = { '1': { '1': [us[0]], '4': [us[1]] }, '2': { '1': [2 * us[0]], '4': [2 * us[1]] } };
  return {
    kind: 'profile',
    version: '1.0',
    model: { name, inputs: [...inputs], outputs: [...outputs] },
    blocks: [{ cutBytes: 16, weightBytes: 2 ** 30 }],
    devices: { L4: { blockLatencyUs }, T4: { blockLatencyUs } },
  };
}

/** Asked is a spec with its files. */
export interface Asked {
  spec: PipelineSpec;
  files: PipelineFiles & { profiles: { profile: Profile; path: string }[] };
}

/** example is a pipeline of four stages: detect, then read or face, then merge, which also takes boxes of detect. */
export function example(): Asked {
  const profiles = [
    profileOf(
      'detector',
      [tensor('image')],
      [tensor('crop'), tensor('boxes'), tensor('score', { shape: [1, 1] })],
    ),
    profileOf('reader', [tensor('crop')], [tensor('found')], [2000, 4000]),
    profileOf('embedder', [tensor('crop')], [tensor('found')], [3000, 6000]),
    profileOf('merger', [tensor('found'), tensor('boxes')], [tensor('answer')], [500, 800]),
  ];
  const fixed = { device: 'L4', batch: 4, replicas: 1 };
  const stage = (name: string, more: Partial<PipelineStage> = {}): PipelineStage => ({
    name,
    profile: `${name}.json`,
    ...fixed,
    ...more,
  });
  return {
    spec: {
      kind: 'pipeline',
      cluster: 'cluster.yaml',
      stages: [
        stage('detect', {
          next: [
            { to: 'read', probability: 0.25, when: { output: 'score', atLeast: 0.5 } },
            { to: 'face', probability: 0.75 },
          ],
        }),
        stage('read', { next: ['merge'] }),
        stage('face', { next: ['merge'] }),
        stage('merge', { device: 'T4', inputs: { boxes: 'detect.boxes' } }),
      ],
      exclusive: [['read', 'face']],
      sloMs: 20,
      rps: 500,
      planner: { method: 'given' },
    },
    files: {
      cluster: {
        devices: {
          L4: { count: 4, perServer: 2, virtual: [1, 2], hourlyCost: 0.5, memoryGiB: 4 },
          T4: { hourlyCost: 0.25, memoryGiB: 4 },
        },
        networkGbps: 0.001,
      },
      profiles: profiles.map((profile) => ({ profile, path: `${profile.model.name}.json` })),
    },
  };
}

/** resolved gives the problem of a spec without faults. */
export function resolved({ spec, files }: Asked): GivenProblem {
  const { problem, faults } = resolveGiven(spec, files);
  if (problem === undefined) throw new Error(JSON.stringify(faults));
  return problem;
}

/** faultLines gives the faults of a spec as lines. */
export function faultLines({ spec, files }: Asked): string[] {
  return (resolveGiven(spec, files).faults ?? []).map(({ path, message }) => `${path}: ${message}`);
}

/** planned gives the plan of a spec that has one. */
export function planned(asked: Asked): PipelinePlanBody {
  const outcome: GivenOutcome = planGiven(resolved(asked));
  if (outcome.status !== 'feasible') throw new Error(JSON.stringify(outcome.reasons));
  return outcome.plan;
}
