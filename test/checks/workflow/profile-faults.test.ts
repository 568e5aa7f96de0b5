import { describe, expect, it } from 'vitest';
import { workflowProfileFaults } from '../../../src/checks/index.js';
import type { Loaded, Profile } from '../../../src/formats/index.js';
import { madePlan } from '../../plans/workflow/made-workflows.js';

/** profileOf is a profile of a model with the latencies of batches in microseconds, by class. */
function profileOf(model: string, latencies: Record<string, Record<number, number>>): Loaded<'profile'> {
  const devices = Object.entries(latencies).map(([name, times]) => [
    name,
    {
      blockLatencyUs: {
        1: Object.fromEntries(Object.entries(times).map(([batch, us]) => [batch, [us]])),
      },
    },
  ]);
  const value = {
    model: { name: model },
    blocks: [{}],
    devices: Object.fromEntries(devices),
  } as unknown as Profile;
  return { kind: 'profile', value, path: `${model}.json`, sha256: '' };
}

const profiles = () => [
  profileOf('llm', { big: { 1: 10_000, 2: 12_000 }, small: { 1: 30_000 } }),
  profileOf('diffusion', { big: { 4: 40_000 } }),
];

describe('workflowProfileFaults()', () => {
  it('finds nothing where a plan has the figures of its profiles, of the largest batch that of the next larger one', () => {
    expect(workflowProfileFaults(madePlan(), profiles())).toEqual([]);
  });

  it('finds a latency, a name, weights and marks that are not those of the profile', () => {
    const plan = madePlan();
    plan.components[0]!.classes[0]!.latencyUsByBatch[0] = 9000;
    plan.components[0]!.weightBytes = 1;
    plan.components[1]!.model = 'painter';
    plan.components[1]!.trustBatch = 'because';
    expect(workflowProfileFaults(plan, profiles())).toEqual([
      { path: '/components/0/weightBytes', message: 'is 1; its profile llm.json gives absent' },
      {
        path: '/components/0/classes/0/latencyUsByBatch/0',
        message: 'is 9000; its profile llm.json gives 10000',
      },
      { path: '/components/1/model', message: 'is "painter"; its profile diffusion.json gives "diffusion"' },
      { path: '/components/1/trustBatch', message: 'is "because"; its profile diffusion.json gives absent' },
    ]);
  });

  it('says nothing where profiles are missing', () => {
    const plan = madePlan();
    plan.components[0]!.model = 'other';
    expect(workflowProfileFaults(plan, profiles().slice(1))).toEqual([]);
  });
});
