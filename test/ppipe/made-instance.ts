import type { Instance, ReferencePipeline } from '../../bench/ppipe/instances.js';
import type { ProfileOf } from '../../bench/ppipe/plans.js';
import { type Latencies, profileByHand } from '../milp/by-hand.js';

/** Class A is quick at the first two blocks, class B at the last two. */
const BLOCKS_US = { A: [500, 500, 3000, 3000], B: [3000, 3000, 500, 500] };

/** A batch of b takes (1 + b)/2 times as long as one request. Half a GPU takes 1.6 times as long as a whole one. */
const LATENCY_US: Latencies = Object.fromEntries(
  Object.entries(BLOCKS_US).map(([name, blocks]) => {
    const rows = (factor: number) =>
      Object.fromEntries(
        [1, 2, 3, 4].map((batch) => [batch, blocks.map((us) => (factor * us * (1 + batch)) / 2)]),
      );
    return [name, { 1: rows(1), 2: rows(1.6) }];
  }),
);

type Part = ReferencePipeline['partitions'][number];

function part(blocks: [number, number], device: string, gpus: number, virtual = 1): Part {
  return { blocks, device, virtual, batch: 4, gpus };
}

/** The rate of each model under each plan. Batches of four take 2.5 times as long as one request. */
export const MADE_RPS = {
  // Two halves of an A take 4 ms per batch. The B could serve 3200.
  reference: 2000,
  // One A and two B take 17.5 ms per batch each.
  'no-partitioning': (3 * 4e6) / 17_500,
  // One pair takes 2.5 ms per batch on each side, and one B serves alone.
  'dart-r': 1600 + 4e6 / 17_500,
} as const;

const REFERENCE: ReferencePipeline[] = [
  { throughputRps: MADE_RPS.reference, partitions: [part([0, 2], 'A', 1, 2), part([2, 4], 'B', 2)] },
];

const NO_PARTITIONING: ReferencePipeline[] = [
  { throughputRps: (2 * 4e6) / 17_500, partitions: [part([0, 4], 'B', 2)] },
  { throughputRps: 4e6 / 17_500, partitions: [part([0, 4], 'A', 1)] },
];

const DART: ReferencePipeline[] = [
  { throughputRps: 1600, partitions: [part([0, 2], 'A', 1), part([2, 4], 'B', 1)] },
  { throughputRps: 4e6 / 17_500, partitions: [part([0, 4], 'B', 1)] },
];

const NAMES = ['m0', 'm1', 'm2'];

function each<T>(one: T): T[] {
  return NAMES.map(() => one);
}

/** MADE_INSTANCE is written as the published instances are. Three models share three A and six B evenly. */
export const MADE_INSTANCE: Instance = {
  id: 'made_A-B_3',
  maxPartitions: 2,
  effectiveGbps: 8,
  devices: {
    A: { count: 3, perServer: 1, virtual: [1, 2] },
    B: { count: 6, perServer: 2, virtual: [1, 2] },
  },
  models: NAMES.map((model) => ({
    model,
    sloUs: 60_000,
    sloMarginUs: 24_000,
    batchFormation: { factor: 1, estimatedRps: 2000 },
    weight: 1,
  })),
  reference: {
    throughputRps: each(MADE_RPS.reference),
    status: { mipGap: 0, seconds: 1 },
    pipelines: each(REFERENCE),
    noPartitioning: { throughputRps: each(MADE_RPS['no-partitioning']), pipelines: each(NO_PARTITIONING) },
    dartR: { throughputRps: each(MADE_RPS['dart-r']), pipelines: each(DART) },
  },
};

/** The 10 kB of a request cross each cut in 10 µs. */
export const madeProfileOf: ProfileOf = (name) =>
  profileByHand({ name, sloMs: 60, latencyUs: LATENCY_US, cutBytes: [10_000, 10_000, 10_000, 0] });
