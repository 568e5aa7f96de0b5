import type { PipelinePlan, PipelineSpec, Profile, StagePlacement } from '../../../src/artifacts/index.js';
import { ToldFaults } from '../../../src/artifacts/index.js';
import { pipelineTopologyOf } from '../../../src/plans/index.js';
import { streamsOf } from '../../../src/random/index.js';
import { chosenScheduler, makeCore } from '../../../src/serving/index.js';
import { arrivalsOf, drawnFates } from '../../../src/simulation/index.js';
import { simulate } from '../../../src/simulator/index.js';
import { arrivalsAt } from '../../../src/workload/index.js';
import type { RandomPipeline } from './random-spec.js';

/** Choice is how one stage is served. */
export interface Choice {
  readonly device: string;
  readonly batch: number;
  readonly replicas: number;
}

type Cluster = Exclude<PipelineSpec['cluster'], string>;

/** planByHand puts a choice for each stage into a plan, of which the replicas are spread over servers one after another. */
export function planByHand({ spec, profiles }: RandomPipeline, choices: readonly Choice[]): PipelinePlan {
  const cluster = spec.cluster as Cluster;
  const next = new Map<string, number>();
  const placement = choices.flatMap(({ device, replicas }, i) =>
    Array.from({ length: replicas }, (): StagePlacement => {
      const k = next.get(device) ?? 0;
      next.set(device, k + 1);
      const { perServer = 1, count = Number.POSITIVE_INFINITY } = cluster.devices[device] ?? {};
      const servers = Math.ceil(Math.min(count, 1000) / perServer);
      const place = { server: `${device}-${k % servers}`, gpu: Math.floor(k / servers) };
      return { ...place, class: device, virtual: 1, stages: [spec.stages[i]?.name as string] };
    }),
  );
  return {
    ...{ kind: 'pipeline-plan', version: '1.0', name: 'p', method: 'given', cluster, attainment: 0.99 },
    ...{ serving: { scheduler: 'inferline' }, sloMs: spec.sloMs, throughputRps: 1, placement, classes: {} },
    longestPath: { stages: [], latencyUs: 1 },
    stages: choices.map((choice, i) => plannedStage(spec.stages[i] as Stage, profiles[i] as Profile, choice)),
  };
}

type Stage = PipelineSpec['stages'][number];

function plannedStage(
  { name, next = [] }: Stage,
  profile: Profile,
  choice: Choice,
): PipelinePlan['stages'][number] {
  const { device, batch, replicas } = choice;
  const measured = profile.devices[device]?.blockLatencyUs[1] ?? {};
  return {
    ...{ name, model: profile.model.name, device, virtual: 1, batch, replicas },
    ...{ scaleFactor: 1, throughputRps: 1 },
    latencyUsByBatch: Array.from({ length: batch }, (_, n) => measured[n + 1]?.[0] ?? null),
    next: next.map((edge) => ({
      ...(typeof edge === 'string' ? { to: edge } : edge),
      transferBytes: profile.blocks.at(-1)?.cutBytes ?? 0,
    })),
  };
}

/** attainmentOf serves the draw of a spec's load that a seed makes by a plan, in the simulator with its links. */
export function attainmentOf({ spec }: RandomPipeline, plan: PipelinePlan, seed: number): number {
  const told = new ToldFaults();
  const scheduler = chosenScheduler({ scheduler: 'inferline' }, told);
  if (scheduler === undefined) throw told.error('refute a plan');
  const { rps, duration = '60s' } = spec.load as { rps: number; duration?: string };
  const durationNs = Number(duration.replace('s', '')) * 1e9;
  const drawn = arrivalsOf(
    { kind: 'drawn', process: 'poisson', durationNs, rps: [rps] },
    [{ name: 'p', throughputRps: 1, weight: 1 }],
    seed,
  );
  const times: number[] = [];
  while (drawn.next()) times.push(drawn.atNs);
  const sloNs = Math.round(spec.sloMs * 1e6);
  let within = 0;
  const topology = pipelineTopologyOf(plan);
  simulate({
    topology,
    arrivals: arrivalsAt(times),
    makeCore: (decisions) => makeCore(scheduler, topology, { decisions, streams: streamsOf(1, 'core') }),
    verdict: drawnFates(plan, seed),
    observers: [
      {
        ended: (endNs, _model, _request, arrivedAtNs) => {
          if (endNs - arrivedAtNs <= sloNs) within++;
        },
      },
    ],
  });
  return times.length === 0 ? 1 : within / times.length;
}
