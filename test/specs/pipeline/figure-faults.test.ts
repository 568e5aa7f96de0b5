import { describe, expect, it } from 'vitest';
import type { PipelinePlan } from '../../../src/formats/index.js';
import { figureFaults } from '../../../src/specs/pipeline/figure-faults.js';
import { example, planned } from '../../pipeline/example.js';

function planFile(change: (plan: PipelinePlan) => void = () => undefined): PipelinePlan {
  const plan: PipelinePlan = structuredClone({
    ...planned(example()),
    serving: { scheduler: 'stage-local' },
  });
  change(plan);
  return plan;
}

function lines(faults: readonly { path: string; message: string }[]): string[] {
  return faults.map(({ path, message }) => `${path}: ${message}`);
}

describe('figureFaults()', () => {
  it('finds every figure that was changed, with its place, and lets rounding pass', () => {
    const expected = planned(example());
    expect(figureFaults(planFile(), expected)).toEqual([]);
    const plan = planFile((one) => {
      one.throughputRps *= 1 + 1e-12;
      one.stages[1]!.scaleFactor = 0.3;
      one.longestPath.stages[1] = 'read';
      delete one.classes.T4;
      delete one.hourlyCost;
    });
    expect(lines(figureFaults(plan, expected))).toEqual([
      '/hourlyCost: is absent; its spec and profiles give 1.75',
      '/longestPath/stages/1: is "read"; its spec and profiles give "face"',
      '/stages/1/scaleFactor: is 0.3; its spec and profiles give 0.25',
      '/classes/T4: is absent; its spec and profiles give {"used":1}',
    ]);
  });
});
