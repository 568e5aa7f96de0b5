import { describe, expect, it } from 'vitest';
import { parseArtifact } from '../../src/artifacts/index.js';
import { gearObjective } from '../../src/formats/index.js';
import { gearPlan } from '../gear-plans.js';

describe('gearObjective()', () => {
  it('gives the distance of a value from its bound, from either side', () => {
    expect(gearObjective({ kind: 'cost', value: 5, bound: 4 }).gap).toBeCloseTo(0.25, 12);
    expect(gearObjective({ kind: 'accuracy', value: 0.8, bound: 1 }).gap).toBeCloseTo(0.25, 12);
    expect(gearObjective({ kind: 'accuracy', value: 0, bound: 0.5 })).not.toHaveProperty('gap');
    expect(gearObjective({ kind: 'cost', value: 0, bound: 0 }).gap).toBe(0);
  });

  it('gives no gap to a bound of 0 where the value is another, and the plan can be read', () => {
    const objective = gearObjective({ kind: 'cost', value: 0.2, bound: 0 });
    expect(objective).toEqual({ kind: 'cost', value: 0.2, bound: 0 });
    const plan = gearPlan({
      latencyUs: [[1000]],
      held: [[0]],
      gears: [{ toRps: 10, steps: [{ model: 0 }] }],
    });
    const text = JSON.stringify({ ...plan, objective });
    expect(parseArtifact(text, 'plan.json', ['gear-plan'])).toMatchObject({ value: { objective } });
  });
});
