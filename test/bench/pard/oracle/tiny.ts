import { offlineProblem } from '../../../../bench/pard/oracle/of-topology.js';
import type { OfflineProblem } from '../../../../bench/pard/oracle/problem.js';
import { type Stream, streamOf } from '../../../../src/random/index.js';
import type { Edge, EdgeCondition, StageTopology, VirtualDevice } from '../../../../src/serving/index.js';
import type { VerdictOf } from '../../../../src/simulator/index.js';

/** TinyShape says how large a tiny case may be. */
export interface TinyShape {
  readonly requests: number;
  readonly stages: number;
  readonly workers: number;
  readonly batch: number;
  /** A fork and a join of four stages in place of a chain; drawn ones take each branch or not. */
  readonly dag?: 'fork-join' | 'drawn';
}

/** TinyCase is a topology, what comes to it, what its models say, and the offline problem that this makes. */
export interface TinyCase {
  readonly topology: StageTopology;
  readonly arrivalNs: Float64Array;
  readonly verdict: VerdictOf | undefined;
  readonly problem: OfflineProblem;
}

const MS = 1e6;

/** FORK_JOIN leads from stage 0 to 1 and 2, and from both to 3. */
const FORK_JOIN: readonly (readonly number[])[] = [[1, 2], [3], [3], []];

/** tinyCase draws a case: latencies of whole milliseconds, bursts and gaps, and SLOs from too short to easy. */
export function tinyCase(seed: number, shape: TinyShape): TinyCase {
  const stream = streamOf(seed, 'tiny');
  const topology = tinyTopology(stream, shape);
  const arrivalNs = tinyArrivals(stream, topology, shape.requests);
  const fates = streamOf(seed, 'fates');
  const drawn = Array.from(arrivalNs, () => topology.pools.map(() => fates.integer(4)));
  const verdict: VerdictOf | undefined =
    shape.dag === 'drawn' ? (order, _row, pool) => drawn[order]![pool]! : undefined;
  return { topology, arrivalNs, verdict, problem: offlineProblem(topology, { arrivalNs, verdict }) };
}

function tinyTopology(stream: Stream, { stages, workers, batch, dag }: TinyShape): StageTopology {
  const next =
    dag === undefined ? Array.from({ length: stages }, (_, k) => (k + 1 < stages ? [k + 1] : [])) : FORK_JOIN;
  const when = (from: number): EdgeCondition =>
    dag === 'drawn' && from === 0 ? { kind: 'verdict' } : { kind: 'always' };
  const devices: VirtualDevice[] = [];
  const pools = next.map((following, partition): StageTopology['pools'][number] => {
    const size = 1 + stream.integer(batch);
    const fixedMs = 1 + stream.integer(6);
    const rowMs = 1 + stream.integer(4);
    const own = Array.from(
      { length: 1 + stream.integer(workers) },
      () => devices.push(device(partition)) - 1,
    );
    const edges = following.map(
      (to): Edge => ({ to, when: when(partition), transferNs: new Float64Array(size), transferBytes: 0 }),
    );
    return {
      model: 0,
      stage: { kind: 'partition', pipeline: 0, partition },
      deviceClass: 'cpu',
      virtual: 1,
      batch: size,
      throughputRps: 100,
      latencyNs: Float64Array.from({ length: size }, (_, i) => (fixedMs + (i + 1) * rowMs) * MS),
      transferNs: new Float64Array(size),
      transferBytes: 0,
      edges,
      devices: own,
    };
  });
  const linkOf = Int32Array.from(devices, (_, i) => i);
  const largestNs = pools.reduce((sum, { latencyNs, batch: b }) => sum + latencyNs[b - 1]!, 0);
  const sloNs = Math.round((largestNs * ((dag === undefined ? 7 : 4) + stream.integer(10))) / 10);
  return {
    models: [{ name: 'tiny', sloNs, throughputRps: 100, entries: [0] }],
    pools,
    devices,
    links: {
      uplinkOf: linkOf,
      downlinkOf: linkOf,
      uplinkCount: devices.length,
      downlinkCount: devices.length,
    },
    routes: { kind: dag === undefined ? 'chains' : 'dag' },
  };
}

function device(pool: number): VirtualDevice {
  return { name: 'd', pool, server: 's', gpu: 0, deviceClass: 'cpu', virtual: 1 };
}

function tinyArrivals(stream: Stream, { pools }: StageTopology, requests: number): Float64Array {
  const slowestNs = Math.max(
    ...pools.map(({ latencyNs, batch, devices }) => latencyNs[batch - 1]! / batch / devices.length),
  );
  const load = [0.8, 1.2, 2, 4, 10][stream.integer(5)]!;
  let now = 0;
  return Float64Array.from({ length: requests }, () => {
    if (stream.uniform() < 0.8) now += Math.round(((slowestNs / load) * stream.exponential()) / MS) * MS;
    return now;
  });
}
