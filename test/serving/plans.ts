import type { PlannedPartition, PooledPlan } from '../../src/formats/index.js';

export interface PartShape {
  device?: string;
  virtualGpus?: number;
  batch: number;
  latencyUs: (batch: number) => number | null;
  transferBytes?: number;
}

export interface PipelineShape {
  throughputRps: number;
  parts: PartShape[];
}

/** planOf makes a plan with the given models and pipelines. Every virtual GPU is on a server of its own. */
export function planOf(
  models: { sloMs: number; pipelines: PipelineShape[] }[],
  networkGbps?: number,
): PooledPlan {
  const partOf = (part: PartShape, k: number): PlannedPartition => ({
    blocks: [k, k + 1],
    device: part.device ?? 'cpu',
    virtual: 1,
    virtualGpus: part.virtualGpus ?? 1,
    gpus: part.virtualGpus ?? 1,
    batch: part.batch,
    latencyUsByBatch: Array.from({ length: part.batch }, (_, i) => part.latencyUs(i + 1)),
    throughputRps: (1e6 * (part.virtualGpus ?? 1) * part.batch) / (part.latencyUs(part.batch) ?? 1),
    transferBytes: part.transferBytes ?? 0,
  });
  const planned = models.map(({ sloMs, pipelines }, m) => ({
    name: `m${m}`,
    sloMs,
    sloMarginMs: 0,
    weight: 1,
    throughputRps: pipelines.reduce((sum, p) => sum + p.throughputRps, 0),
    blocks: Math.max(...pipelines.map((p) => p.parts.length)),
    pipelines: pipelines.map((p) => ({
      throughputRps: p.throughputRps,
      batch: p.parts[0]?.batch ?? 1,
      latencyUs: p.parts.reduce((sum, part, k) => {
        const bytes = k + 1 < p.parts.length ? (part.transferBytes ?? 0) : 0;
        const sentUs = networkGbps === undefined ? 0 : (part.batch * bytes * 8) / networkGbps / 1e3;
        return sum + (part.latencyUs(part.batch) ?? 0) + sentUs;
      }, 0),
      partitions: p.parts.map(partOf),
    })),
  }));
  let server = 0;
  const placement = planned.flatMap((model, m) =>
    model.pipelines.flatMap((pipeline, p) =>
      pipeline.partitions.flatMap((part, k) =>
        Array.from({ length: part.virtualGpus }, () => ({
          server: `s${server++}`,
          gpu: 0,
          class: part.device,
          virtual: 1,
          model: m,
          pipeline: p,
          partition: k,
        })),
      ),
    ),
  );
  const value = Math.min(...planned.map(({ throughputRps }) => throughputRps));
  const classes = [...new Set(placement.map((place) => place.class))];
  return {
    kind: 'pooled-plan',
    version: '1.0',
    status: 'optimal',
    objective: { kind: 'throughput', value, bound: value, gap: 0 },
    cluster: {
      devices: Object.fromEntries(classes.map((name) => [name, { count: 100 }])),
      ...(networkGbps === undefined ? {} : { networkGbps }),
    },
    planner: { maxPartitions: 5, unifiedBatch: false, linkThroughput: false },
    models: planned,
    classes: Object.fromEntries(classes.map((name) => [name, { used: 1, count: 100 }])),
    placement,
  };
}

/** affine makes a latency with a fixed part and a part per row. */
export const affine = (fixedUs: number, perRowUs: number) => (batch: number) => fixedUs + perRowUs * batch;
