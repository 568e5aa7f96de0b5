import { expect, it } from 'vitest';
import { leastMeanMs } from '../../src/dyorc/index.js';
import type { WorkflowChain, WorkflowSpec } from '../../src/formats/index.js';
import { CHAT_PROFILES, chatSpec, resolvedSpec } from './made-specs.js';

/** look is a chain of one call, which takes 10 ms on the only class, and no bytes go anywhere. */
const look = (component: string): WorkflowChain => ({
  requestBytes: 0,
  start: 'look',
  steps: [{ name: 'look', calls: [{ component, inputs: [], outputBytes: 0 }] }],
});

it('leastMeanMs() is the mean of what requests of one workflow take alone, whatever the others take', () => {
  const workflows: WorkflowSpec['workflows'] = [
    { name: 'look', chain: look('vision') },
    { name: 'speak', chain: look('language') },
  ];
  const resolved = resolvedSpec(chatSpec({ workflows }), CHAT_PROFILES);
  expect(leastMeanMs(resolved, 'look')).toBeCloseTo(10, 9);
  expect(leastMeanMs(resolved, 'speak')).toBeCloseTo(80, 9);
});
