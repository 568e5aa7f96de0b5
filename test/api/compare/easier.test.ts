import { describe, expect, it } from 'vitest';
import { sharedBetween } from '../../../src/api/compare/easier.js';
import type { PipelineCase } from '../../../src/api/compare/pipeline-cases.js';

function asked(sloMs: number, mix: Record<string, number>, unlimited: string[] = []): PipelineCase {
  return { mix, unlimited, spec: { sloMs } as PipelineCase['spec'], cluster: { devices: {} } };
}

describe('sharedBetween()', () => {
  it('takes a cheaper plan from a shorter SLO, and a higher bound from a longer one', () => {
    const found = [
      { asked: asked(100, { L4: 4 }), hourlyCost: 5, bound: 3 },
      { asked: asked(200, { L4: 4 }), hourlyCost: 6, bound: 4 },
    ];
    expect(sharedBetween(found)).toEqual([
      { from: 0, bound: 4 },
      { from: 0, bound: 4 },
    ]);
  });

  it('takes nothing where the SLO is shorter or a class has fewer GPUs', () => {
    const found = [
      { asked: asked(200, { L4: 4, T4: 1 }), hourlyCost: 5, bound: 3 },
      { asked: asked(100, { L4: 4, T4: 1 }), hourlyCost: 6, bound: 5 },
      { asked: asked(200, { L4: 3, T4: 9 }), hourlyCost: 6, bound: 2 },
      { asked: asked(200, { L4: 4 }), hourlyCost: 7, bound: 6 },
    ];
    expect(sharedBetween(found)).toEqual([
      { from: 0, bound: 3 },
      { from: 1, bound: 5 },
      { from: 2, bound: 2 },
      { from: 3, bound: 6 },
    ]);
  });

  it('counts a class without a limit as more than any number', () => {
    const found = [
      { asked: asked(100, { L4: 4 }), hourlyCost: 5, bound: 3 },
      { asked: asked(100, {}, ['L4']), hourlyCost: 6, bound: 4 },
    ];
    expect(sharedBetween(found)).toEqual([
      { from: 0, bound: 4 },
      { from: 0, bound: 4 },
    ]);
  });

  it('gives a plan to a case whose search found none', () => {
    const found = [undefined, { asked: asked(200, {}) }, { asked: asked(100, {}), hourlyCost: 5, bound: 3 }];
    expect(sharedBetween(found)).toEqual([
      { from: undefined, bound: 0 },
      { from: 2, bound: 0 },
      { from: 2, bound: 3 },
    ]);
  });
});
