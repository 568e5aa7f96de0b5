import { describe, expect, it } from 'vitest';
import type { PipelineApplication, PipelineSpec } from '../../src/formats/index.js';
import {
  leastSloMs,
  objectivesOf,
  pipelineSpecFaults,
  planGiven,
  servedApplications,
} from '../../src/pipeline/index.js';
import { example, faultLines, planned, resolved } from './example.js';

const TWO: PipelineApplication[] = [
  { name: 'live', sloMs: 20, share: 0.7, weight: 2 },
  { name: 'archive', sloMs: 400, share: 0.3 },
];

/** specWith is the example with applications in place of its SLO. */
function specWith(applications: PipelineApplication[], more: Partial<PipelineSpec> = {}) {
  const asked = example();
  const { sloMs: _, ...spec } = asked.spec;
  return { ...asked, spec: { ...spec, applications, ...more } };
}

describe('a spec with applications', () => {
  it('has no fault, and its plan has them with the least of their SLOs', () => {
    const asked = specWith(TWO);
    expect(faultLines(asked)).toEqual([]);
    expect(planned(asked)).toMatchObject({ name: 'pipeline', sloMs: 20, applications: TWO });
    expect(planned(example())).not.toHaveProperty('applications');
  });

  it('needs an SLO or applications, and not both, whose further objectives would be of all requests', () => {
    const neither = example();
    delete neither.spec.sloMs;
    expect(faultLines(neither)).toEqual(['/sloMs: is needed, or applications with an SLO each']);
    const both = specWith(TWO, { sloMs: 20, objectives: [{ sloMs: 5, attainment: 0.5 }] });
    expect(faultLines(both)).toEqual([
      '/sloMs: stands beside applications, each of which has its own; leave one of them out',
      '/objectives: stand beside applications, each of which has its own SLO; leave one of them out',
      '/objectives: are for planner.method inferline or exact: given looks at sloMs alone, and at no request of the sample',
    ]);
  });

  it('reports equal names and shares that are not all of the load at once', () => {
    const many = Array.from({ length: 17 }, (_, k) => ({ name: `a${k % 16}`, sloMs: 30, share: 0.05 }));
    expect(faultLines(specWith(many))).toEqual([
      '/applications/16/name: is a0, as another application is; clients call them by name',
      '/applications: have shares that sum to 0.85; all of the load is 1',
    ]);
    const most = Array.from({ length: 16 }, (_, k) => ({ name: `a${k}`, sloMs: 30, share: 1 / 16 }));
    expect(faultLines(specWith(most))).toEqual([]);
  });

  it('takes shares that sum to 1 within a millionth', () => {
    const faultsOf = (first: number) =>
      pipelineSpecFaults(
        specWith([
          { name: 'a', sloMs: 30, share: first },
          { name: 'b', sloMs: 30, share: 0.5 },
        ]).spec,
      );
    for (const first of [0.5, 0.5 + 9e-7, 0.5 - 9e-7]) expect(faultsOf(first)).toEqual([]);
    for (const first of [0.5 + 1.1e-6, 0.5 - 1.1e-6]) expect(faultsOf(first)).toHaveLength(1);
    expect(pipelineSpecFaults(specWith([{ name: 'a', sloMs: 30, share: 1 }]).spec)).toEqual([]);
  });

  it('names each application whose SLO the longest path exceeds', () => {
    const asked = specWith([
      { name: 'a', sloMs: 1, share: 0.5 },
      { name: 'b', sloMs: 2, share: 0.25 },
      { name: 'c', sloMs: 500, share: 0.25 },
    ]);
    const outcome = planGiven(resolved(asked));
    expect(outcome.status).toBe('infeasible');
    if (outcome.status !== 'infeasible') return;
    expect(outcome.reasons.map(({ code, sloMs }) => [code, sloMs])).toEqual([
      ['slo-too-short', 1],
      ['slo-too-short', 2],
    ]);
    expect(outcome.reasons[0]?.text).toContain('and the SLO of a is 1 ms');
  });
});

describe('objectivesOf() with applications', () => {
  it('asks of the requests of each what is asked of all without them', () => {
    const spec = { applications: TWO, attainment: 0.95 };
    expect(objectivesOf(spec)).toEqual([
      { sloMs: 20, attainment: 0.95, application: 0, name: 'live' },
      { sloMs: 400, attainment: 0.95, application: 1, name: 'archive' },
    ]);
    expect(leastSloMs(spec)).toBe(20);
    expect(leastSloMs({ sloMs: 7 })).toBe(7);
    expect(servedApplications({ name: 'p', sloMs: 7 })).toEqual([{ name: 'p', sloMs: 7, share: 1 }]);
  });
});
