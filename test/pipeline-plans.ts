import type { PipelinePlan, PlannedEdge, PlannedStage } from '../src/artifacts/index.js';

/** StageShape is a stage of a `pipelineOf`; what is absent is the simplest. */
export interface StageShape {
  name: string;
  next?: PlannedEdge[];
  batch?: number;
  latencyUs?: number;
  device?: string;
}

/** edge leads to a stage, always or with a probability. */
export const edge = (to: string, probability?: number, transferBytes = 0): PlannedEdge => ({
  to,
  ...(probability === undefined ? {} : { probability }),
  transferBytes,
});

/** pipelineOf makes a pipeline plan. `devices` lists the stages of each device, all on servers of their own. */
export function pipelineOf(
  stages: readonly StageShape[],
  devices: readonly string[][],
  more: Partial<PipelinePlan> = {},
): PipelinePlan {
  const planned = stages.map(
    ({ name, next = [], batch = 1, latencyUs = 1000, device = 'cpu' }): PlannedStage => ({
      ...{ name, model: name, device, virtual: 1, batch, next, scaleFactor: 1, throughputRps: 1 },
      replicas: devices.filter((held) => held.includes(name)).length,
      latencyUsByBatch: Array.from({ length: batch }, (_, i) => latencyUs * (i + 1)),
    }),
  );
  return {
    ...{ kind: 'pipeline-plan', version: '1.0', name: 'app', method: 'given' },
    ...{
      serving: { scheduler: 'stage-local' },
      cluster: { devices: { cpu: {} } },
      sloMs: 1000,
      attainment: 0.99,
    },
    ...{
      throughputRps: 100,
      longestPath: { stages: [], latencyUs: 1 },
      classes: { cpu: { used: devices.length } },
    },
    stages: planned,
    placement: devices.map((held, i) => ({
      server: `cpu-${i}`,
      gpu: 0,
      class: 'cpu',
      virtual: 1,
      stages: held,
    })),
    ...more,
  };
}
