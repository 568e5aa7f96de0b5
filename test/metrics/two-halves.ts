import type { RunShape } from '../../src/metrics/index.js';

/** TWO_HALVES is the shape of a run: one model has one pool of two half GPUs, for ten seconds. */
export const TWO_HALVES: RunShape = {
  models: 1,
  poolBatch: [4],
  poolDevices: [2],
  deviceClass: [0, 0],
  deviceShare: [0.5, 0.5],
  classes: 1,
  uplinkOf: [0, 0],
  downlinkOf: [0, 0],
  uplinks: 1,
  downlinks: 1,
  dropReasons: 1,
  durationNs: 10e9,
};
