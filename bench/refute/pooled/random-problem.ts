import type { Cluster, DeviceClass, DeviceProfile, PooledSpec, Profile } from '../../../src/formats/index.js';
import { type PooledProblem, resolvePooled } from '../../../src/milp/index.js';

/** A seeded stream of numbers in [0, 1). */
export function stream(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface Shape {
  readonly classes: number;
  readonly blocks: number;
  readonly batches: number;
  readonly virtual: readonly number[];
  readonly models: number;
  readonly mostGpus: number;
  /** If true, pairs of blocks, the whole model and some other spans were timed in one piece. */
  readonly timedSpans?: true;
}

export function randomProfile(next: () => number, name: string, shape: Shape): Profile {
  const base = Array.from({ length: shape.blocks }, () => 200 + 3000 * next());
  const devices = Object.fromEntries(
    Array.from({ length: shape.classes }, (_, k) => {
      const slow = 1 + 2 * k * next();
      const own = base.map((us) => us * slow * (0.6 + 0.8 * next()));
      const table = Object.fromEntries(
        shape.virtual.map((v) => [
          v,
          Object.fromEntries(
            Array.from({ length: shape.batches }, (__, b) => [
              b + 1,
              own.map((us) => us * (1 + 0.6 * b) * (1 + 0.7 * (v - 1)) * (0.9 + 0.2 * next())),
            ]),
          ),
        ]),
      );
      const device = { blockLatencyUs: table };
      return [`C${k}`, shape.timedSpans ? { ...device, ...randomSpans(next, table) } : device];
    }),
  );
  const nodes = base.map((_, b) => [`${b}a`, `${b}b`]);
  return {
    kind: 'profile',
    version: '1.0',
    model: { name },
    blocks: base.map((_, b) => ({ cutBytes: Math.floor(2e6 * next()), nodes: nodes[b] as string[] })),
    devices,
  };
}

type Table = Record<string, Record<string, number[]>>;

/** Spans that were timed: pairs and wholes mostly take less than their blocks, and others may take anything. */
function randomSpans(next: () => number, blockLatencyUs: Table): Partial<DeviceProfile> {
  const ofEach = <T>(make: (row: number[]) => T) =>
    Object.fromEntries(
      Object.entries(blockLatencyUs).map(([v, byBatch]) => [
        v,
        Object.fromEntries(Object.entries(byBatch).map(([batch, row]) => [batch, make(row)])),
      ]),
    );
  const sum = (row: readonly number[]) => row.reduce((a, b) => a + b, 0);
  return {
    pairLatencyUs: ofEach((row) =>
      row.slice(1).map((us, k) => {
        const before = row[k] as number;
        return us + before - Math.min(us, before) * (next() - 0.1);
      }),
    ),
    wholeLatencyUs: ofEach((row) => sum(row) * (0.6 + 0.45 * next())),
    spanLatencyUs: ofEach((row) =>
      row.slice(2).map((_, k) => {
        const length = 2 + Math.floor(next() * (row.length - 2 - k));
        const us = sum(row.slice(k, k + length)) * (0.1 + 1.1 * next());
        return { layers: [2 * k, 2 * (k + length)] as [number, number], us };
      }),
    ),
  };
}

/**
 * latencyUsOf works out a partition of blocks as docs/profiling.md says it, block by block and cut by cut, without the
 * planner's tables.
 */
export function latencyUsOf(
  device: DeviceProfile,
  [virtual, batch]: readonly [number, number],
  [first, end]: readonly [number, number],
): number {
  const row = (device.blockLatencyUs[virtual]?.[batch] ?? []).map((us) => Math.max(1, us ?? 0));
  const pairs = device.pairLatencyUs?.[virtual]?.[batch];
  const whole = device.wholeLatencyUs?.[virtual]?.[batch];
  const span = device.spanLatencyUs?.[virtual]?.[batch]?.find(
    ({ layers }) => layers[0] === 2 * first && layers[1] === 2 * end,
  );
  if (span !== undefined) return span.us;
  if (first === 0 && end === row.length && whole !== undefined) return whole;
  if (pairs !== undefined && end - first === 2) return Math.max(1, pairs[first] as number);
  let us = 0;
  for (let k = first; k < end; k++) us += row[k] as number;
  if (pairs === undefined || whole === undefined) return us;
  // What the measured pairs say of the whole model is off by this much, which goes to the cuts by the pairs' squares.
  let predicted = row[0] as number;
  let squares = 0;
  pairs.forEach((pair, k) => {
    predicted += (pair as number) - (row[k] as number);
    squares += (pair as number) ** 2;
  });
  for (let k = first + 1; k < end; k++) {
    const [before, after, pair] = [row[k - 1] as number, row[k] as number, pairs[k - 1] as number];
    const saved = before + after - pair + ((predicted - whole) * pair ** 2) / squares;
    us -= saved;
  }
  return Math.max(us, 0.5 * Math.max(...row.slice(first, end)));
}

/** A small problem with an SLO that some pipelines meet and others miss. */
export function randomProblem(
  seed: number,
  shape: Shape,
  planner: PooledSpec['planner'] = {},
): PooledProblem {
  const next = stream(seed);
  const devices: Record<string, DeviceClass> = {};
  for (let k = 0; k < shape.classes; k++)
    devices[`C${k}`] = {
      count: 1 + Math.floor(shape.mostGpus * next()),
      perServer: 1 + Math.floor(2 * next()),
      virtual: [...shape.virtual],
      hourlyCost: 0.2 + next(),
      powerWatts: 50 + Math.floor(100 * next()),
    };
  const cluster: Cluster = { devices, networkGbps: 2 + 8 * next() };
  const profiles = Array.from({ length: shape.models }, (_, m) => randomProfile(next, `m${m}`, shape));
  const models = profiles.map((profile) => {
    const fastest = Math.min(
      ...Object.values(profile.devices).map((d) =>
        (d.blockLatencyUs['1']?.['1'] ?? []).reduce<number>((s, us) => s + (us ?? 0), 0),
      ),
    );
    return {
      profile: profile.model.name,
      sloMs: (fastest * (1.5 + 3 * next())) / 1000,
      weight: 0.3 + next(),
      rps: 50 + 100 * next(),
    };
  });
  const spec: PooledSpec = { kind: 'pooled', cluster, models, planner: { sloMargin: 0.1, ...planner } };
  return resolvePooled(spec, {
    cluster,
    profiles: profiles.map((profile) => ({ profile, path: `${profile.model.name}.json` })),
    where: `seed ${seed}`,
  });
}
