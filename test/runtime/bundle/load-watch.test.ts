import { describe, expect, it } from 'vitest';
import { LoadWatch } from '../../../src/runtime/bundle/load-watch.js';
import { gearPlan } from '../../gear-plans.js';

/** Two ranges that are planned to be as frequent as one another: up to 50 requests/s, and up to 100. */
const PLAN = gearPlan({
  latencyUs: [[1]],
  held: [[0]],
  intervalMs: 100,
  gears: [50, 100].map((toRps) => ({ toRps, steps: [{ model: 0 }] })),
});

/** What is told of a load with so many arrivals in each interval. */
function told(arrivals: (interval: number) => number, intervals: number): number[] {
  const strays: number[] = [];
  const watch = new LoadWatch(PLAN, (stray) => strays.push(stray));
  for (let interval = 0; interval < intervals; interval++)
    for (let i = 0; i < arrivals(interval); i++) watch.arrived(100 * interval + i);
  return strays;
}

describe('A load that is watched', () => {
  it('is reported once, with how far it has strayed, after a minute in other ranges than planned', () => {
    expect(told(() => 3, 600)).toEqual([]);
    expect(told(() => 3, 2000)).toEqual([0.5]);
    expect(told((interval) => (interval % 10 === 0 ? 3 : 8), 2000)).toEqual([expect.closeTo(0.4, 2)]);
  });

  it('is not reported where it is near the plan', () => {
    expect(told((interval) => (interval % 2 === 0 ? 3 : 8), 3000)).toEqual([]);
    expect(told((interval) => (interval % 4 === 0 ? 3 : 8), 3000)).toEqual([]);
  });

  it('counts intervals without a request as those of the lowest loads', () => {
    expect(told((interval) => (interval % 700 === 699 ? 8 : 0), 1400)).toEqual([expect.closeTo(0.5, 2)]);
  });
});
