import type { Stream } from '../../src/random/index.js';
import type { Edge, EdgeCondition, Pool, StageTopology, VirtualDevice } from '../../src/serving/index.js';

/** DagShape says which parts a random DAG may have. */
export interface DagShape {
  /** How many stages it has at most. */
  most?: number;
  /** Whether devices may be in several pools, and whether some are on standby. */
  shares?: boolean;
  standby?: boolean;
}

/**
 * randomDag draws an application of up to ten stages with splits, merges, conditional and unsure edges, early ends, and
 * one or more entries. Its edges lead from stages to later ones.
 */
export function randomDag(
  stream: Stream,
  { most = 10, shares = false, standby = false }: DagShape = {},
): StageTopology {
  const count = 1 + stream.integer(most);
  const from = (choices: number[]) => choices[stream.integer(choices.length)]!;
  const devices: VirtualDevice[] = [];
  const pools = Array.from({ length: count }, (_, partition): Pool => {
    const batch = from([1, 1, 2, 4, 8]);
    const [fixed, perRow] = [1e5 * (1 + stream.integer(90)), 1e4 * (1 + stream.integer(90))];
    const own = Array.from(
      { length: 1 + stream.integer(3) },
      () => devices.length + 0 * devices.push(deviceOf(partition)),
    );
    return {
      model: 0,
      stage: { kind: 'partition', pipeline: 0, partition },
      deviceClass: 'cpu',
      virtual: 1,
      batch,
      throughputRps: 100,
      latencyNs: Float64Array.from({ length: batch }, (_unused, i) => fixed + (i + 1) * perRow),
      transferNs: new Float64Array(batch),
      transferBytes: 0,
      devices: own,
      edges: [],
    };
  });
  pools.forEach((pool, i) => {
    const unsure = stream.uniform() < 0.1;
    for (let to = i + 1; to < count; to++) {
      // Every stage but the first has an edge into it as a rule; those that have none are entries.
      const isLikely = to === i + 1 ? 0.6 : 0.3;
      if (stream.uniform() > isLikely || (unsure && pool.edges.length > 0)) continue;
      const rowNs = from([0, 0, 1e4, 1e6]);
      pool.edges.push({
        to,
        when: unsure ? { kind: 'unsure', below: stream.uniform() } : conditionOf(stream),
        transferNs: Float64Array.from({ length: pool.batch }, (_, b) => (b + 1) * rowNs),
        transferBytes: rowNs,
      });
    }
    pool.transferNs = pool.transferNs.map((_, b) => Math.max(0, ...pool.edges.map((e) => e.transferNs[b]!)));
  });
  if (shares) shareDevices(stream, pools, devices);
  if (standby) for (const device of devices) device.standby = stream.uniform() < 0.4;
  const linkOf = Int32Array.from(devices, (_, device) => device);
  const links = {
    uplinkOf: linkOf,
    downlinkOf: linkOf,
    uplinkCount: devices.length,
    downlinkCount: devices.length,
  };
  const sloNs = 2e7 * (1 + stream.integer(10));
  return {
    models: [{ name: 'dag', sloNs, throughputRps: 100, entries: [0] }],
    pools,
    devices,
    links,
    routes: { kind: 'dag' },
  };
}

function deviceOf(pool: number): VirtualDevice {
  return { name: 'd', pool, server: 's', gpu: 0, deviceClass: 'cpu', virtual: 1 };
}

function conditionOf(stream: Stream): EdgeCondition {
  return stream.uniform() < 0.5 ? { kind: 'always' } : { kind: 'verdict' };
}

function shareDevices(stream: Stream, pools: Pool[], devices: VirtualDevice[]): void {
  devices.forEach((device, d) => {
    const others = pools.flatMap((_, pool) => (pool !== device.pool && stream.uniform() < 0.3 ? [pool] : []));
    if (others.length === 0) return;
    device.otherPools = others;
    for (const pool of others) pools[pool]!.devices.push(d);
  });
}

/** isTaken tells whether an edge of a stage is taken, by the verdict of the stage. */
export function isTaken({ edges }: Pool, edge: Edge, verdict: number): boolean {
  if (edge.when.kind === 'always') return true;
  if (edge.when.kind === 'unsure') return verdict < edge.when.below;
  const asked = edges.filter(({ when }) => when.kind === 'verdict');
  return Math.floor(verdict / 2 ** asked.indexOf(edge)) % 2 === 1;
}

/** A stage that a row comes to, and the stages from which it comes there. */
export type Visit = { stage: number; from: number[] };

/** visitsOf lists the stages that a row comes to, by the verdicts on it. */
export function visitsOf(pools: readonly Pool[], verdictOf: (stage: number) => number): Visit[] {
  const reached = pools.map((): number[] => []);
  const into = new Set(pools.flatMap(({ edges }) => edges.map(({ to }) => to)));
  return pools.flatMap((pool, stage) => {
    if (into.has(stage) && reached[stage]!.length === 0) return [];
    for (const edge of pool.edges) if (isTaken(pool, edge, verdictOf(stage))) reached[edge.to]!.push(stage);
    return [{ stage, from: reached[stage]! }];
  });
}

/**
 * longestNs is the time in which a row passes its stages, each executed alone and at once. A stage waits for the rows
 * that come to it, and until it is known of every other stage before it that none comes from there.
 */
export function longestNs(pools: readonly Pool[], visits: readonly Visit[]): number {
  const knownAt: number[] = [];
  pools.forEach((pool, stage) => {
    const visit = visits.find((one) => one.stage === stage);
    const ready = pools.flatMap(({ edges }, before) =>
      edges.flatMap(({ to, transferNs }) => {
        if (to !== stage) return [];
        return knownAt[before]! + (visit?.from.includes(before) ? transferNs[0]! : 0);
      }),
    );
    knownAt.push(Math.max(0, ...ready) + (visit === undefined ? 0 : pool.latencyNs[0]!));
  });
  return Math.max(...visits.map(({ stage }) => knownAt[stage]!));
}
