import type { Gear, GearPlan, GearStage } from '../src/formats/index.js';

/** GivenGears is what a test says of a gear plan. */
export interface GivenGears {
  /** The latency of each model at batch 1, 2 and so on, in µs. */
  readonly latencyUs: readonly (readonly number[])[];
  /** The models that each device holds, by index. */
  readonly held: readonly (readonly number[])[];
  readonly gears: readonly {
    readonly toRps: number;
    readonly timeoutMs?: number;
    readonly steps: readonly {
      readonly model: number;
      readonly threshold?: number;
      readonly minQueue?: number;
      readonly shares?: readonly number[];
    }[];
  }[];
  readonly sloMs?: number;
  readonly intervalMs?: number;
  readonly alpha?: number;
  readonly accuracy?: number;
}

/** modelName names a model of a plan that is made by hand. */
export function modelName(model: number): string {
  return `m${model}`;
}

/** gearPlan makes a gear plan of what a test gives, on devices of one class without links. */
export function gearPlan(given: GivenGears): GearPlan {
  const { latencyUs, held, gears, sloMs = 1000, intervalMs = 100, alpha = 8, accuracy } = given;
  const stages = latencyUs.map(
    (byBatch, model): GearStage => ({
      name: modelName(model),
      model: modelName(model),
      device: 'V100',
      virtual: 1,
      batch: byBatch.length,
      latencyUsByBatch: [...byBatch],
      accuracy: 0.5,
      transferBytes: 0,
      replicas: held.filter((models) => models.includes(model)).length,
    }),
  );
  const planned = gears.map(
    ({ toRps, timeoutMs = 0, steps }, i): Gear => ({
      fromRps: gears[i - 1]?.toRps ?? 0,
      toRps,
      share: 1 / gears.length,
      timeoutMs,
      accuracy: 0.5,
      p95Ms: 1,
      utilization: 0.5,
      cascade: steps.map(({ model, threshold, minQueue = 1, shares = [] }) => ({
        stage: modelName(model),
        visits: 1,
        minQueue,
        loadShares: [...shares],
        ...(threshold === undefined ? {} : { threshold }),
      })),
    }),
  );
  return {
    kind: 'gear-plan',
    version: '1.0',
    name: 'cascade',
    method: 'gears',
    status: 'optimal',
    objective: { kind: 'accuracy', value: 0.5, bound: 0.5, gap: 0 },
    serving: { scheduler: 'gears' },
    cluster: { devices: { V100: { count: held.length } } },
    slo: accuracy === undefined ? { latencyMs: sloMs } : { accuracy },
    sloMs,
    maxRps: planned.at(-1)?.toRps as number,
    accuracy: 0.5,
    requestAccuracy: 0.5,
    p95Ms: 1,
    certainty: 'top-2',
    switching: { intervalMs, alpha },
    stages,
    gears: planned,
    classes: { V100: { used: held.length } },
    placement: held.map((models, gpu) => ({
      server: `V100-${gpu}`,
      gpu: 0,
      class: 'V100',
      virtual: 1,
      stages: models.map(modelName),
    })),
  };
}
