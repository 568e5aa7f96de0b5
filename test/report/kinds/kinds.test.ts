import { expect, it } from 'vitest';
import example from '../../../examples/pipeline/expected-plan.json' with { type: 'json' };
import { emittedHead } from '../../../src/artifacts/index.js';
import type { PipelinePlan } from '../../../src/formats/index.js';
import { diffGears } from '../../../src/plans/index.js';
import { differenceParts, type Part, solvedParts, solvedRemarks } from '../../../src/report/index.js';
import { gearPlan } from '../../gear-plans.js';

/** outline has the lines that are shown, and the heads of the tables. */
const outline = (parts: readonly Part[]) =>
  parts.map((part) => (typeof part === 'string' ? part.slice(0, 20) : part.columns.slice(0, 2)));

it('a plan that was found is shown as its kind shows plans, whatever the kind', () => {
  const document = { solver: { ms: 12, phases: {} } };
  const pipeline = { plan: example as PipelinePlan, document };
  expect(solvedRemarks(pipeline)).toEqual([]);
  expect(outline(solvedParts(pipeline))).toEqual([
    'at most 858 requests',
    '',
    ['stage', 'replicas'],
    '',
    ['class', 'devices in use'],
  ]);
  const plan = gearPlan({
    latencyUs: [[1000]],
    held: [[0]],
    gears: [{ toRps: 100, steps: [{ model: 0, shares: [1] }] }],
  });
  expect(outline(solvedParts({ plan, document, explanation: { frontier: [] } })).slice(-3)).toEqual([
    ['requests/s', 'of time'],
    '',
    ['device', 'models'],
  ]);
  const explained = solvedParts({ ...pipeline, explanation: { path: [], stages: [] } });
  expect(explained.slice(-2).map((part) => (typeof part === 'string' ? part : part.columns[0]))).toEqual([
    'class',
    'no step of the search lowered the cost of the configuration that it began with',
  ]);
});

it('what differs between plans has a table of their kind where it has rows, and each once', () => {
  const gear = (shares: number[]) => ({ toRps: 100, steps: [{ model: 0, shares }] });
  const before = gearPlan({ latencyUs: [[1000]], held: [[0]], gears: [gear([1])] });
  const after = gearPlan({ latencyUs: [[1000]], held: [[0], [0]], gears: [gear([0.5, 0.5])] });
  const parts = differenceParts({ ...emittedHead('plan-diff', []), ...diffGears(before, after) });
  const heads = outline(parts).map((head) => (typeof head === 'string' ? head : head[0]));
  expect(heads.filter((head) => head === 'stage')).toHaveLength(1);
  expect(heads.filter((head) => head === 'requests/s')).toHaveLength(1);
  expect(heads).not.toContain('model');
  expect(parts.at(-1)).not.toBe('');
});
