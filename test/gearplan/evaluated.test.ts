import { describe, expect, it } from 'vitest';
import { emittedHead } from '../../src/artifacts/index.js';
import { gearPlanFaults } from '../../src/checks/index.js';
import { type CascadeSpec, type GearPlan, gearObjective } from '../../src/formats/index.js';
import {
  type EvaluatedFrom,
  evaluatedFaults,
  placementSolver,
  planFamily,
  proportionalArrivals,
  resolveCascade,
} from '../../src/gearplan/index.js';
import { loadHighs } from '../../src/lp/index.js';
import { streamOf } from '../../src/random/index.js';
import { recordsOf } from '../../src/records/index.js';
import { FAMILY, FAMILY_SPEC, familyProfile, familyRecordsText } from '../cascade-specs.js';
import { fewOf } from '../cases.js';
import { leavesOf, otherThan, withLeaf } from '../leaves.js';

const GIB = 1024 ** 3;
const solvePlacement = placementSolver(await loadHighs());
const records = await recordsOf(familyRecordsText(), FAMILY, undefined);

interface Question {
  readonly spec?: Partial<CascadeSpec>;
  readonly devices?: number;
  readonly memoryGiB?: number;
  readonly work?: number;
  readonly hourlyCost?: number | undefined;
  /** Why the batches of all models are taken on trust only. */
  readonly trustBatch?: string;
}

/** made plans the family as `plan solve` does, with what the plan is evaluated from. */
function made({ spec: change = {}, devices = 2, memoryGiB, work, trustBatch, ...priced }: Question): {
  readonly plan: GearPlan;
  readonly from: EvaluatedFrom;
} {
  const spec = { ...FAMILY_SPEC, ...change };
  if ('faults' in records) throw new Error('the records are faulty');
  const { hourlyCost } = { hourlyCost: 3, ...priced };
  const price = hourlyCost === undefined ? {} : { hourlyCost };
  const device = { count: devices, ...price, ...(memoryGiB === undefined ? {} : { memoryGiB }) };
  const profiles = FAMILY.map((_, model) => ({ profile: familyProfile(model), path: '' }));
  if (trustBatch !== undefined) for (const { profile } of profiles) profile.model.trustBatch = trustBatch;
  const files = { cluster: { devices: { V100: device } }, profiles, records };
  const outcome = resolveCascade(spec, files);
  if ('faults' in outcome) throw new Error(JSON.stringify(outcome.faults));
  const arrivalsOf = proportionalArrivals(streamOf(1, 'test').exponential);
  const from = { spec, files, resolved: outcome.resolved, arrivalsOf };
  const limits = work === undefined ? {} : { work };
  const answer = planFamily({ ...from, integer: () => 0, solvePlacement, ...limits });
  if (!('plan' in answer)) throw new Error(answer.status);
  const plan: GearPlan = { ...emittedHead('gear-plan', []), serving: { scheduler: 'gears' }, ...answer.plan };
  return { plan, from };
}

const QUESTIONS: Record<string, Question> = {
  'the most accurate plan': {},
  'a plan that its work ended': { work: 3 },
  'a plan of devices that hold two models each': { devices: 3, memoryGiB: 18e6 / GIB },
  'a plan of one cascade': { spec: { planner: { method: 'dynba' } } },
  'the cheapest plan of an accuracy': {
    devices: 4,
    spec: {
      slo: { accuracy: 0.85, latencyMs: 60 },
      planner: { method: 'gears', objective: 'cost', thresholds: 6 },
    },
  },
  'the fewest devices of an accuracy, whatever the latency': {
    devices: 4,
    spec: { slo: { accuracy: 0.85 }, planner: { method: 'gears', objective: 'devices', thresholds: 6 } },
  },
  'the fastest plan of an accuracy': {
    spec: { slo: { accuracy: 0.85 }, planner: { method: 'gears', thresholds: 6 } },
  },
};

/** What a search alone gives, and what stands beside the plan in its file and is compared elsewhere. */
const LEFT_OUT = /^\/(\$schema|kind|version|tool|inputs|serving|notes|status)\b|\/limitedBy\//;
/** Where a latency was searched, a plan does not say with which its gears were tried. Figures that follow from others are. */
const SEARCHED =
  /^\/gears\/\d+\/(timeoutMs|p95Ms|utilization|cascade\/\d+\/minQueue)$|^\/sloMs$|^\/objective\/(value|bound)$/;

describe('evaluatedFaults()', () => {
  for (const [name, question] of fewOf(Object.entries(QUESTIONS), 3)) {
    it(`finds nothing wrong in ${name}`, () => {
      const { plan, from } = made(question);
      expect(gearPlanFaults(plan)).toEqual([]);
      expect(evaluatedFaults(plan, from)).toEqual([]);
    });

    it(`finds every figure of ${name} that is changed, as far as it follows from the plan`, () => {
      const { plan, from } = made(question);
      const isSearched = plan.objective.kind === 'latency';
      for (const { path, value } of fewOf(leavesOf(plan), 12)) {
        if (LEFT_OUT.test(path) || (isSearched && SEARCHED.test(path))) continue;
        const changed = withLeaf(plan, path, otherThan(value));
        // What contradicts itself is refused before it is evaluated.
        const faults = gearPlanFaults(changed);
        const told = faults.length > 0 ? faults : evaluatedFaults(changed, from);
        expect(told, `${path}: ${value}`).not.toEqual([]);
      }
    });
  }

  const { plan, from } = made({});
  const told = (path: string, value: unknown) =>
    evaluatedFaults(withLeaf(plan, path, value), from).map((one) => `${one.path} ${one.message}`);

  it('names the field, its value and what is right', () => {
    const [threshold] = plan.gears.flatMap(({ cascade }) => cascade[0]?.threshold ?? []);
    const range = plan.gears.findIndex(({ cascade }) => cascade.length > 1);
    const at = `/gears/${range}/cascade/0/threshold`;
    expect(told(at, (threshold as number) + 1e-6)).toEqual([
      `${at} is ${(threshold as number) + 1e-6}; of ${plan.gears[range]?.cascade[0]?.stage} its records give ${threshold}`,
    ]);
    expect(told('/stages/0/latencyUsByBatch/0', 799)).toEqual([
      `/stages/0/latencyUsByBatch/0 is 799; its spec, profiles and records give ${plan.stages[0]?.latencyUsByBatch[0]}`,
    ]);
    expect(told('/stages/0/weightBytes', 5)).toEqual([
      `/stages/0/weightBytes is 5; its spec, profiles and records give ${plan.stages[0]?.weightBytes}`,
    ]);
    expect(told('/gears/0/accuracy', 1)).toEqual([
      `/gears/0/accuracy is 1; its spec, profiles and records give ${plan.gears[0]?.accuracy}`,
    ]);
    expect(told('/cluster/devices/V100/count', 3)).toContain(
      '/cluster/devices/V100/count is 3; its spec, profiles and records give 2',
    );
    expect(told('/stages/0/device', 'T4')).toEqual([
      '/stages/0/device is T4; its spec can be served on V100',
    ]);
  });

  it('finds a threshold of the grid that is another one by the figures that follow from it', () => {
    const range = plan.gears.findIndex(({ cascade }) => cascade.length > 1);
    const grid = new Set(plan.gears.flatMap(({ cascade }) => cascade[0]?.threshold ?? []));
    const other = [...grid].find((one) => one !== plan.gears[range]?.cascade[0]?.threshold);
    expect(other).toBeDefined();
    expect(told(`/gears/${range}/cascade/0/threshold`, other)).not.toEqual([]);
  });

  it('finds cascades for which devices have no time or that are late, and devices that are not there', () => {
    const { plan: busy, from: asked } = made({ spec: { load: { maxRps: 2000, ranges: 2 } } });
    const last = busy.gears.length - 1;
    const large = { stage: 'large', visits: 1, minQueue: 1, loadShares: [0.5, 0.5] };
    const slow = withLeaf(busy, `/gears/${last}/cascade`, [large]);
    const holders = busy.placement.map((one) => ({ ...one, stages: [...new Set([...one.stages, 'large'])] }));
    const faults = evaluatedFaults({ ...slow, placement: holders }, asked);
    expect(faults.map((one) => one.message)).toContainEqual(
      expect.stringMatching(/^takes more time than there is at 2000 requests\/s, most of all for large$/),
    );
    const third = [...plan.placement, { ...plan.placement[0]!, server: 'V100-9' }];
    expect(evaluatedFaults({ ...plan, placement: third }, from)).toContainEqual({
      path: '/placement',
      message: 'has 3 devices; 2 are free',
    });
  });

  it('finds a value that is not the accuracy, other ranges of loads, and a price that no class has', () => {
    const { value, bound, kind } = plan.objective;
    const objective = gearObjective({ kind, bound, value: value - 0.01 });
    expect(evaluatedFaults({ ...plan, objective }, from).map(({ path }) => path)).toContain(
      '/objective/value',
    );
    expect(evaluatedFaults({ ...plan, gears: plan.gears.slice(1) }, from)).toEqual([
      { path: '/gears', message: 'has 3; its spec has 4 ranges of loads' },
    ]);
    const { plan: free, from: asked } = made({ hourlyCost: undefined });
    expect(evaluatedFaults(free, asked)).toEqual([]);
    expect(evaluatedFaults({ ...free, hourlyCost: 6 }, asked)).toEqual([
      { path: '/hourlyCost', message: 'is 6; its spec, profiles and records give absent' },
    ]);
  });

  it('finds devices that hold more than their memory', () => {
    const { plan: tight, from: asked } = made({ devices: 3, memoryGiB: 18e6 / GIB });
    const full = withLeaf(tight, '/placement/0/stages', ['small', 'middle', 'large']);
    expect(evaluatedFaults(full, asked)).toContainEqual({
      path: '/placement/0/stages',
      message: 'are small, middle, large, which take more memory than a device has',
    });
  });
});

it('planFamily() notes of which models the batches are trusted', () => {
  const { plan } = made({ trustBatch: 'Foo "f" is not known' });
  expect(plan.stages.length).toBeGreaterThan(0);
  expect(plan.notes).toEqual(
    plan.stages.map(
      ({ name }) =>
        `${name}: its batches are trusted not to mix the rows of requests (trust batch), although Foo "f" is not known`,
    ),
  );
});
