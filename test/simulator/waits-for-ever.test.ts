import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/formats/index.js';
import { workflowCore } from '../../src/serving/index.js';
import { call, story } from '../serving/workflow/story.js';
import type { Shape } from '../serving/workflow/workflows.js';

/** Two components, of which the device has room for one: a Ray-like scheduler makes no replica of the other, ever. */
const shape: Shape = {
  applications: 1,
  holds: [[0]],
  sloNs: Number.POSITIVE_INFINITY,
  components: [60, 60].map((bytes) => ({ bytes, loadNs: 1, latencyNs: [[100]] })),
  devices: [{ class: 0, server: 0, bytes: 100 }],
  hostBytes: 200,
  linkBytesPerNs: 1,
  networkBytesPerNs: 1,
};

function served(scheduler: 'ray-like' | 'greedy') {
  const requests = [0, 1].map((component) => ({
    atNs: 0,
    run: { requestBytes: 0, calls: [call(component)] },
  }));
  return story({ shape, requests, coreOf: (topology, parts) => workflowCore(scheduler, topology, parts) });
}

describe('WorkflowDriver', () => {
  it('says that requests have waited for an hour with nothing to come, and ends', () => {
    expect(() => served('ray-like')).toThrow(InputError);
    expect(() => served('ray-like')).toThrow(/1 request waits: for 1 hour nothing was executed/);
  });

  it('serves the same requests where a scheduler evicts what stands in the way', () => {
    expect(served('greedy').filter(({ event }) => event === 'end')).toHaveLength(2);
  });
});
