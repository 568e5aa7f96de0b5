import type { PipelinePlan, PlannedEdge, PlannedStage } from '../src/formats/index.js';
import { edgeBytes, longestPath, scaleFactors } from '../src/pipeline/index.js';
import { readStageGraph } from '../src/plans/index.js';

const NO_PROFILE = { kind: 'profile' as const, version: '1.0', blocks: [], devices: {} };

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
      name,
      model: name,
      device,
      virtual: 1,
      batch,
      next,
      scaleFactor: 1,
      throughputRps: 1,
      replicas: devices.filter((held) => held.includes(name)).length,
      latencyUsByBatch: Array.from({ length: batch }, (_, i) => latencyUs * (i + 1)),
    }),
  );
  return {
    kind: 'pipeline-plan',
    version: '1.0',
    name: 'app',
    method: 'given',
    serving: { scheduler: 'stage-local' },
    cluster: { devices: { cpu: {} } },
    sloMs: 1000,
    attainment: 0.99,
    throughputRps: 100,
    longestPath: { stages: [], latencyUs: 1 },
    classes: { cpu: { used: devices.length } },
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

/** figured gives a plan without links, each of whose stages is on one class, the figures that follow from the rest of it. */
export function figured(plan: PipelinePlan): PipelinePlan {
  const { rps, shared = [] } = plan;
  const { graph } = readStageGraph(plan);
  const { factors } = scaleFactors(graph);
  const bytes = edgeBytes(
    graph,
    plan.stages.map(({ inputs, outputs }) => ({
      inputs,
      profile: { ...NO_PROFILE, model: { name: '', ...(outputs && { outputs }) } },
    })),
  );
  const fullUs = ({ batch, latencyUsByBatch }: PlannedStage) => latencyUsByBatch[batch - 1] as number;
  const stages = plan.stages.map((stage, i) => ({
    ...stage,
    scaleFactor: factors[i] as number,
    throughputRps: (1e6 * stage.batch) / fullUs(stage),
    next: stage.next.map((edge, k) => ({
      ...edge,
      transferBytes: isListed(plan, stage, edge) ? (bytes[i]?.[k] as number) : edge.transferBytes,
    })),
  }));
  /** servedRps is what devices serve that hold all of these stages. */
  const servedRps = (held: readonly PlannedStage[]) =>
    (held[0]?.replicas ?? 1) /
    held.reduce((sum, { scaleFactor, throughputRps }) => sum + scaleFactor / throughputRps, 0);
  const busy = (held: readonly PlannedStage[]) =>
    rps === undefined ? {} : { maxProvisioningRatio: rps / servedRps(held) };
  const sets = shared.map((set) => stages.filter(({ name }) => set.stages.includes(name)));
  const alone = stages.filter((stage) => !sets.some((set) => set.includes(stage))).map((stage) => [stage]);
  const path = longestPath(graph, {
    stageUs: (i) => fullUs(stages[i] as PlannedStage),
    edgeUs: () => 0,
  });
  return {
    ...plan,
    stages: stages.map((stage) => ({ ...stage, ...busy([stage]) })),
    ...(plan.shared && { shared: shared.map((set, k) => ({ ...set, ...busy(sets[k] ?? []) })) }),
    longestPath: path,
    throughputRps: Math.min(...[...sets, ...alone].map(servedRps)),
  };
}

/** isListed says whether a plan lists the tensors that an edge sends. */
function isListed({ stages }: PipelinePlan, { outputs }: PlannedStage, { to }: PlannedEdge): boolean {
  return outputs !== undefined && stages.find(({ name }) => name === to)?.inputs !== undefined;
}
