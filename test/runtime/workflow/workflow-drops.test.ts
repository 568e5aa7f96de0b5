import { describe, expect, it } from 'vitest';
import { workflowTopologyOf } from '../../../src/plans/index.js';
import { WorkflowDrops } from '../../../src/runtime/workflow/workflow-drops.js';
import { madePlan } from '../../plans/workflow/made-workflows.js';

describe('WorkflowDrops', () => {
  it('lets a dropped request come again when the open rows have been served at the rate of the devices that are up', () => {
    const drops = new WorkflowDrops(workflowTopologyOf(madePlan()));
    // The plan is for 20 requests/s on 3 devices.
    for (const device of [0, 1, 2]) drops.device(device, true);
    drops.took(0, 90);
    drops.took(1, 10);
    expect(drops.ending(0, 'overload', -1)).toEqual({
      kind: 'dropped',
      reason: 'overload',
      place: 'entry',
      retryAfterS: 5,
    });
    drops.device(2, false);
    expect(drops.ending(1, 'deadline', 0)).toMatchObject({
      place: 'answer',
      stage: 'answer',
      retryAfterS: 8,
    });
    drops.gave(0, 90);
    expect(drops.ending(0, 'draining', -1).retryAfterS).toBe(1);
  });

  it('lets it come again when executors may have been started again where none is up', () => {
    const drops = new WorkflowDrops(workflowTopologyOf(madePlan()));
    expect(drops.ending(0, 'device-down', -1).retryAfterS).toBe(5);
    drops.took(0, 200);
    expect(drops.ending(0, 'device-down', -1).retryAfterS).toBe(10);
  });
});
