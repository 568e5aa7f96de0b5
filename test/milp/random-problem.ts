import type { Cluster, DeviceClass, PooledSpec, Profile } from '../../src/artifacts/index.js';
import { type PooledProblem, resolvePooled } from '../../src/milp/index.js';

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
      return [`C${k}`, { blockLatencyUs: table }];
    }),
  );
  return {
    kind: 'profile',
    version: '1.0',
    model: { name },
    blocks: base.map(() => ({ cutBytes: Math.floor(2e6 * next()) })),
    devices,
  };
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
