import type { PipelinePlan, PipelineSpec, Profile, StagePlacement } from '../../../src/formats/index.js';
import { ToldFaults } from '../../../src/formats/index.js';
import { leastSloMs } from '../../../src/pipeline/index.js';
import { pipelineTopologyOf, plannedScheduler } from '../../../src/plans/index.js';
import { streamsOf } from '../../../src/random/index.js';
import { makeCore } from '../../../src/serving/index.js';
import { arrivalsOf, drawnFates } from '../../../src/simulation/index.js';
import { OutcomeCode, simulate } from '../../../src/simulator/index.js';
import type { RandomPipeline } from './random-spec.js';

/** Choice is how one stage is served. */
export interface Choice {
  readonly device: string;
  readonly batch: number;
  readonly replicas: number;
}

type Cluster = Exclude<PipelineSpec['cluster'], string>;

/**
 * planByHand puts a choice for each stage into a plan, of which the replicas are spread over servers one after another, and
 * which a scheduler serves.
 */
export function planByHand(
  { spec, profiles }: RandomPipeline,
  choices: readonly Choice[],
  scheduler: string,
): PipelinePlan {
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
    kind: 'pipeline-plan',
    version: '1.0',
    name: 'p',
    method: 'given',
    cluster,
    attainment: 0.99,
    serving: { scheduler },
    sloMs: leastSloMs(spec),
    throughputRps: 1,
    ...(spec.applications === undefined ? {} : { applications: spec.applications }),
    placement,
    classes: {},
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
    name,
    model: profile.model.name,
    device,
    virtual: 1,
    batch,
    replicas,
    scaleFactor: 1,
    throughputRps: 1,
    latencyUsByBatch: Array.from({ length: batch }, (_, n) => measured[n + 1]?.[0] ?? null),
    next: next.map((edge) => ({
      ...(typeof edge === 'string' ? { to: edge } : edge),
      transferBytes: profile.blocks.at(-1)?.cutBytes ?? 0,
    })),
  };
}

/**
 * attainmentsOf serves the draw of a spec's load that a seed makes by a plan, in the simulator with its links, under the plan's
 * scheduler, and gives the share in time of the requests of each application; of all where the spec has none.
 */
export function attainmentsOf({ spec }: RandomPipeline, plan: PipelinePlan, seed: number): number[] {
  const told = new ToldFaults();
  const { serving, kind } = plan;
  const scheduler = plannedScheduler(serving, { options: {}, leastSloNs: 1e6 * plan.sloMs, kind }, told);
  if (scheduler === undefined) throw told.error('refute a plan');
  const { rps, duration = '60s' } = spec.load as { rps: number; duration?: string };
  const durationNs = Number(duration.replace('s', '')) * 1e9;
  const served = spec.applications ?? [{ name: 'p', share: 1, sloMs: spec.sloMs as number }];
  const drawn = arrivalsOf(
    { kind: 'drawn', process: 'poisson', durationNs, rps: served.map(({ share }) => share * rps) },
    served.map(({ name, share }) => ({
      name,
      throughputRps: share,
      weight: share,
      ...(spec.applications === undefined ? {} : { loadOf: 'p' }),
    })),
    seed,
  );
  const arrivals: { at: number; model: number }[] = [];
  while (drawn.next()) arrivals.push({ at: drawn.atNs, model: drawn.model });
  const counted = served.map(({ sloMs }, k) => ({
    sloNs: Math.round(sloMs * 1e6),
    of: arrivals.filter(({ model }) => model === k).length,
    within: 0,
  }));
  const topology = pipelineTopologyOf(plan);
  let next = -1;
  simulate({
    topology,
    arrivals: {
      next: () => ++next < arrivals.length,
      get atNs() {
        return arrivals[next]?.at as number;
      },
      get model() {
        return arrivals[next]?.model as number;
      },
    },
    makeCore: (decisions) => makeCore(scheduler, topology, { decisions, streams: streamsOf(seed, 'core') }),
    verdict: drawnFates(plan, seed),
    observers: [
      {
        ended: (endNs, model, _request, arrivedAtNs, outcome) => {
          const own = counted[model] as (typeof counted)[number];
          const isAnswered = outcome === OutcomeCode.inTime || outcome === OutcomeCode.late;
          if (isAnswered && endNs - arrivedAtNs <= own.sloNs) own.within++;
        },
      },
    ],
  });
  return counted.map(({ of, within }) => (of === 0 ? 1 : within / of));
}
