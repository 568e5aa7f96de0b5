import { describe, expect, it } from 'vitest';
import { type Stream, streamOf, streamsOf } from '../../../src/random/index.js';
import type { Pool, ServingCore, StageTopology, VirtualDevice } from '../../../src/serving/index.js';
import { SCHEDULERS } from '../../../src/serving/schedulers.js';
import { PARD_POLICIES } from '../../../src/serving/stage-local/index.js';
import { seeds, WHOLE, whole } from '../../cases.js';
import { runVirtual, type WatchedCore } from '../virtual-driver.js';
import { type DispatchRule, durationNs, edgesOf, type Fate, type Pipeline } from './pipeline.js';
import { randomChain, randomDag, withApplications, withUnlike } from './random-pipelines.js';
import { resimulated } from './resimulate.js';
import { SCHEDULER_NAMES, type SchedulerName } from './rules.js';

const DISPATCHES: DispatchRule[] = ['turns', 'least-work', 'two-choices'];

/** Served is what both tell of a request: its end, the stage of its drop, and the device and start of each of its batches. */
interface Served {
  outcome: string;
  endNs: number;
  droppedAt?: number | undefined;
  batches: { device: number; startNs: number }[];
}

/** made gives a core of a scheduler, or nothing where there is no such scheduler yet. */
function made(name: SchedulerName, dispatch: DispatchRule, seed: number, changes: object = {}) {
  const scheduler = Object.entries(SCHEDULERS).find(([known]) => known === name)?.[1];
  if (scheduler === undefined) return undefined;
  return (
    topology: StageTopology,
    decisions: Parameters<typeof scheduler.core>[1]['decisions'],
  ): ServingCore =>
    scheduler.core(
      topology,
      { decisions, streams: streamsOf(seed, 'core') },
      { ...scheduler.policy, dispatch: { kind: dispatch }, ...changes },
    );
}

/** servedByCore serves a pipeline with the core, in virtual time. */
function servedByCore(pipeline: Pipeline, makeCore: NonNullable<ReturnType<typeof made>>): Served[] {
  const { arrivalsNs, rows, verdict, applications } = pipeline;
  const run = runVirtual({
    topology: topologyOf(pipeline),
    arrivals: arrivalsNs.map((at, request) => ({
      at,
      rows: rows?.[request] ?? 1,
      model: applications?.of[request] ?? 0,
    })),
    makeCore: (topology, decisions) => makeCore(topology, decisions) as WatchedCore,
    ...(verdict === undefined ? {} : { verdict }),
  });
  const served = arrivalsNs.map((): Served => ({ outcome: 'none', endNs: Infinity, batches: [] }));
  for (const { arrival, outcome, at, place } of run.ended) {
    Object.assign(served[arrival]!, { outcome, endNs: at });
    if (outcome === 'dropped') served[arrival]!.droppedAt = place;
  }
  for (const { device, from, arrivals } of run.executed)
    for (const arrival of arrivals) served[arrival]!.batches.push({ device, startNs: from });
  return served.map((one) => ({ ...one, batches: one.batches.toSorted(byStart) }));
}

function byStart(a: Served['batches'][number], b: Served['batches'][number]): number {
  return a.startNs - b.startNs || a.device - b.device;
}

/** servedByHand is the same of the re-simulation. */
function servedByHand(fates: Fate[]): Served[] {
  return fates.map(({ outcome, endNs, droppedAt, visits }) => ({
    outcome,
    endNs,
    batches: visits
      .flatMap(({ device, startNs }) => (startNs === undefined ? [] : [{ device, startNs }]))
      .toSorted(byStart),
    ...(droppedAt === undefined ? {} : { droppedAt }),
  }));
}

function topologyOf(pipeline: Pipeline): StageTopology {
  const { stages, sloNs, applications } = pipeline;
  const devices = stages.flatMap((stage, pool) =>
    Array.from({ length: stage.devices }, (_, i): VirtualDevice => {
      const name = `s${pool}/gpu${i}/0`;
      const poolClass = stage.unlikeNs === undefined ? {} : { poolClass: i };
      return { name, pool, server: `s${pool}`, gpu: i, deviceClass: 'cpu', virtual: 1, ...poolClass };
    }),
  );
  const pools = stages.map((stage, partition): Pool => {
    const { batch, unlikeNs, devices: count } = stage;
    // Only planned batches of other stages count.
    const latencyNs = unlikeNs === undefined ? stage.latencyNs : stage.latencyNs.map(() => durationNs(stage));
    const transferNs = new Float64Array(batch);
    return {
      model: 0,
      stage: { kind: 'partition', pipeline: 0, partition },
      deviceClass: 'cpu',
      virtual: 1,
      batch,
      transferNs,
      latencyNs: Float64Array.from(latencyNs),
      transferBytes: 0,
      ...(unlikeNs && {
        classes: unlikeNs.map((own) => {
          return { deviceClass: 'cpu', virtual: 1, latencyNs: Float64Array.from(own) };
        }),
      }),
      throughputRps: (1e9 * count * batch) / latencyNs[batch - 1]!,
      devices: devices.flatMap(({ pool }, device) => (pool === partition ? [device] : [])),
      edges: edgesOf(pipeline)[partition]!.map(({ to, isConditional }) => {
        return { to, when: { kind: isConditional ? 'verdict' : 'always' }, transferNs, transferBytes: 0 };
      }),
    };
  });
  const throughputRps = Math.min(...pools.map((pool) => pool.throughputRps));
  const linkOf = Int32Array.from(devices, (_, device) => device);
  return {
    models: (applications?.slosNs ?? [sloNs]).map((ns, m) => ({
      name: `m${m}`,
      sloNs: ns,
      throughputRps,
      entries: [0],
    })),
    pools,
    devices,
    links: {
      uplinkOf: linkOf,
      downlinkOf: linkOf,
      uplinkCount: devices.length,
      downlinkCount: devices.length,
    },
    routes: { kind: pipeline.edges === undefined ? 'chains' : 'dag' },
  };
}

/** firstDifference says where both differ first by the time at which it shows, undefined where they agree. */
function firstDifference(core: Served[], hand: Served[]): string | undefined {
  const texts = [core, hand].map((served) =>
    served.map(({ outcome, endNs, droppedAt, batches }) =>
      JSON.stringify({ outcome, endNs, droppedAt, batches }),
    ),
  );
  const differing = core.flatMap((_, i) => (texts[0]![i] === texts[1]![i] ? [] : [i]));
  const endOf = (i: number) => Math.min(core[i]!.endNs, hand[i]!.endNs);
  const [first] = differing.toSorted((a, b) => endOf(a) - endOf(b));
  if (first === undefined) return undefined;
  return `${differing.length} differ, first request ${first}: core ${texts[0]![first]}, by hand ${texts[1]![first]}`;
}

/** difference serves a random pipeline both ways, by its seed. */
function difference(
  name: SchedulerName,
  seed: number,
  { draw, periodNs = 1e9 }: { draw: (stream: Stream) => Pipeline; periodNs?: number },
): string | undefined {
  const stream = streamOf(seed, 'pard/agrees');
  const pipeline = draw(stream);
  const dispatch = DISPATCHES[stream.integer(DISPATCHES.length)]!;
  const makeCore = made(name, dispatch, seed, { statePeriodNs: periodNs });
  if (makeCore === undefined) return undefined;
  const streams = streamsOf(seed, 'core');
  const [waits, choices] = [streams('pard/waits'), streams('dispatch')];
  const fates = resimulated(pipeline, { scheduler: name, dispatch, waits, choices, periodNs });
  const found = firstDifference(servedByCore(pipeline, makeCore), servedByHand(fates));
  return found && `seed ${seed}, ${dispatch}, of ${fates.length} requests: ${found}`;
}

describe('the core and the re-simulation', () => {
  const chain = (stream: Stream) => randomChain(stream, whole(80, 400));
  const dag = (stream: Stream) => randomDag(stream, whole(40, 150));
  const shared = (stream: Stream) => withApplications(stream, dag(stream));
  const shapes = {
    chains: { draw: chain, quick: whole(1, 4), long: 200 },
    'DAGs, of requests of one or more rows': { draw: dag, quick: whole(1, 5), long: 400 },
    'DAGs that applications share, each with an SLO of its own': {
      draw: shared,
      quick: whole(1, 5),
      long: 400,
    },
    'DAGs whose stages share their state at once': { draw: dag, quick: whole(1, 2), long: 200, periodNs: 0 },
    'chains of unlike devices': {
      draw: (stream: Stream) => withUnlike(stream, chain(stream)),
      quick: whole(1, 4),
      long: 200,
    },
    'DAGs of unlike devices': {
      draw: (stream: Stream) => withUnlike(stream, dag(stream)),
      quick: whole(1, 2),
      long: 200,
    },
  };
  for (const [nth, [what, { quick, long, ...shape }]] of Object.entries(shapes).entries())
    describe(`agree request for request on ${what}`, () => {
      // Each scheduler is tried on every other shape, and each shape under every other scheduler.
      for (const name of SCHEDULER_NAMES.filter((_, i) => WHOLE || (i + nth) % 6 === 0))
        it.skipIf(made(name, 'turns', 1) === undefined)(`under ${name}`, () => {
          expect(seeds(quick, long).flatMap((seed) => difference(name, seed, shape) ?? [])).toEqual([]);
        });
    });
});

describe('classes of devices that are equal', () => {
  it('serve as if there were one', () => {
    for (const name of SCHEDULER_NAMES)
      for (const seed of seeds(whole(1, 2), 20)) {
        const chain = randomChain(streamOf(seed, 'pard/alike'), whole(120, 300));
        const stages = chain.stages.map((stage) => ({
          ...stage,
          unlikeNs: Array.from({ length: stage.devices }, () => stage.latencyNs),
        }));
        const [alike, classed] = [chain, { ...chain, stages }].map((one) =>
          servedByCore(one, made(name, DISPATCHES[seed % 3]!, seed)!),
        );
        expect(firstDifference(classed!, alike!), `${name}, seed ${seed}`).toBeUndefined();
      }
  });
});

describe('the schedulers that form batches when a device is free', () => {
  it('serve as naive does where each stage has one device, since collecting ahead changes nothing in order of arrival', () => {
    for (const seed of seeds(whole(6, 20), 300)) {
      const stream = streamOf(seed, 'pard/agrees');
      // Where much comes at one instant, these schedulers look at a device before its next tasks are handed on.
      const chain = randomChain(stream, 200, [1]);
      for (const stage of chain.stages) stage.devices = 1;
      const { policy, core } = SCHEDULERS.inferline;
      const served = servedByCore(chain, (topology, decisions) =>
        core(topology, { decisions, streams: streamsOf(seed, 'core') }, policy),
      );
      const waits = streamOf(seed, 'waits');
      const fates = resimulated(chain, { scheduler: 'naive', waits, draws: 1 });
      expect(firstDifference(served, servedByHand(fates)), `seed ${seed}`).toBeUndefined();
    }
  });
});

describe('branches that are learnt', () => {
  it('change nothing where there are none, since the same waits are drawn', () => {
    for (const seed of seeds(whole(2, 4), 100)) {
      const chain = randomChain(streamOf(seed, 'pard/learnt'), 400);
      const served = (['worst', 'learnt'] as const).map((branches) => {
        const drop = { ...PARD_POLICIES.pard.drop, branches };
        return servedByCore(chain, made('pard', 'turns', seed, { drop })!);
      });
      expect(served[1]).toEqual(served[0]);
    }
  });
});
