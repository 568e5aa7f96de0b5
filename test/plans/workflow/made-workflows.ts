import type { WorkflowDevice, WorkflowPlan } from '../../../src/formats/index.js';

const GIB = 1024 ** 3;

/** madeDevices lists like devices of one server. */
export function madeDevices(
  server: string,
  count: number,
  { class: name, holds, ...rest }: Omit<WorkflowDevice, 'server' | 'gpu'>,
): WorkflowDevice[] {
  return Array.from({ length: count }, (_, gpu) => ({
    server,
    gpu,
    class: name,
    holds: [...holds],
    ...rest,
  }));
}

/**
 * madePlan is a small plan without contradictions: a chat that may draw a picture, and a search, on two big devices of
 * one server and a small one of another, which cannot draw.
 */
export function madePlan(): WorkflowPlan {
  return {
    kind: 'workflow-plan',
    version: '1.0',
    method: 'dyorc',
    status: 'feasible',
    objective: { kind: 'latency', value: 30, bound: 24, gap: 0.25 },
    serving: { scheduler: 'dyorc' },
    cluster: {
      networkGbps: 8,
      devices: {
        big: {
          count: 2,
          perServer: 2,
          memoryGiB: 4,
          hostMemoryGiB: 8,
          gpuLinkGbps: 80,
          loadGBps: 4,
          diskGBps: 1,
        },
        small: { count: 1, memoryGiB: 3, linkGbps: 4 },
      },
    },
    attainment: 0.99,
    rps: 20,
    subclusters: 1,
    load: { rps: 20, arrivals: 'poisson', duration: '10s' },
    components: [
      {
        name: 'answer',
        model: 'llm',
        memoryBytes: 2 * GIB,
        classes: [
          { device: 'big', batch: 2, latencyUsByBatch: [10_000, 12_000], loadUs: 500_000, diskUs: 2_000_000 },
          { device: 'small', batch: 1, latencyUsByBatch: [30_000], loadUs: 500_000, diskUs: 2_000_000 },
        ],
      },
      {
        name: 'draw',
        model: 'diffusion',
        memoryBytes: 3 * GIB,
        classes: [
          { device: 'big', batch: 2, latencyUsByBatch: [null, 40_000], loadUs: 750_000, diskUs: 3_000_000 },
        ],
      },
    ],
    workflows: [
      {
        name: 'chat',
        sloMs: 200,
        share: 0.75,
        chain: {
          requestBytes: 1000,
          start: 'answer',
          steps: [
            {
              name: 'answer',
              calls: [{ component: 'answer', inputs: ['request'], outputBytes: 2000 }],
              next: [
                { to: 'draw', chance: 0.25 },
                { to: 'end', chance: 0.75 },
              ],
            },
            {
              name: 'draw',
              calls: [{ component: 'draw', inputs: ['answer'], outputBytes: 1_000_000 }],
            },
          ],
        },
        frequencies: [
          { after: [], component: 'answer', inputs: [0], rows: 1, count: 40, outputBytes: 2000 },
          { after: ['answer'], component: 'draw', inputs: [1], rows: 1, count: 10, outputBytes: 1_000_000 },
          { after: ['answer'], count: 30 },
          { after: ['answer', 'draw'], count: 10 },
        ],
      },
      {
        name: 'search',
        share: 0.25,
        chain: {
          requestBytes: 100,
          start: 'ask',
          steps: [
            {
              name: 'ask',
              calls: [
                { component: 'answer', inputs: ['request'], outputBytes: 500 },
                { component: 'answer', inputs: ['request'], outputBytes: 700 },
              ],
            },
          ],
        },
        frequencies: [
          { after: [], component: 'answer', inputs: [0], rows: 1, count: 12, outputBytes: 500 },
          { after: ['answer'], component: 'answer', inputs: [0], rows: 1, count: 12, outputBytes: 700 },
          { after: ['answer', 'answer'], count: 12 },
        ],
      },
    ],
    placement: [
      ...madeDevices('big-0', 1, { class: 'big', holds: ['answer'] }),
      { server: 'big-0', gpu: 1, class: 'big', holds: ['draw'], static: ['draw'] },
      ...madeDevices('small-0', 1, { class: 'small', holds: [], static: ['answer'] }),
    ],
    sample: {
      seed: 0,
      sha256: 'a'.repeat(64),
      requests: 52,
      tasks: 74,
      meanMs: 30,
      p50Ms: 20,
      p95Ms: 80,
      p99Ms: 90,
      dropped: 0,
      workflows: [
        { name: 'chat', requests: 40, meanMs: 33, p50Ms: 22, p95Ms: 85, p99Ms: 90, attainment: 1 },
        { name: 'search', requests: 12, meanMs: 20, p50Ms: 20, p95Ms: 30, p99Ms: 40 },
      ],
      deviceTime: { executing: 0.25, loading: 0.0625, both: 0.0625, idle: 0.625 },
      loads: 1,
      evictions: 0,
      rightGuesses: 0.75,
    },
    bounds: { devices: 1, meanMs: 24 },
  };
}
