import type { BenchResult } from '../../bench/results/result.js';

/** RESULT is a run of a bench with two measures, one of which is repeated. */
export const RESULT: BenchResult = {
  kind: 'bench-result',
  bench: 'simulate',
  commit: 'aaaaaaaaaaaa',
  node: '20.19.1',
  machine: { cpu: 'Model A', cores: 2 },
  options: { requests: 2000, scheduler: 'reservation' },
  inputs: { 'published plans': 'a'.repeat(64) },
  measures: [
    { name: '100 GPUs: requests/s', values: [90, 110, 100] },
    { name: '100 GPUs: in time', values: [0.99] },
  ],
  rows: [],
};
