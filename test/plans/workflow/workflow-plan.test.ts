import { describe, expect, it } from 'vitest';
import type { WorkflowPlan } from '../../../src/formats/index.js';
import { stageName } from '../../../src/formats/index.js';
import {
  applicationsOf,
  PLAN_KINDS,
  PLANS,
  planOf,
  planTopologyOf,
  STAGE_PLAN_KINDS,
  workflowTopologyOf,
} from '../../../src/plans/index.js';
import { madePlan } from './made-workflows.js';

const own = planOf(madePlan());

describe('WORKFLOW_PLAN', () => {
  it('is the entry of workflow plans, which are no plans of stages', () => {
    expect(own).toBe(PLANS['workflow-plan']);
    expect(PLAN_KINDS.filter((kind) => !(STAGE_PLAN_KINDS as readonly string[]).includes(kind))).toEqual([
      'workflow-plan',
    ]);
  });

  it('lists the workflows as applications of one load, without an SLO where requests are never late', () => {
    expect(applicationsOf(madePlan())).toEqual([
      { name: 'chat', sloMs: 200, weight: 0.75, throughputRps: 15, heldRps: 15, loadOf: 'workflows' },
      { name: 'search', sloMs: undefined, weight: 0.25, throughputRps: 5, heldRps: 5, loadOf: 'workflows' },
    ]);
  });

  it('has the parts that the pools of its topology execute, in their order', () => {
    const { pools } = planTopologyOf(madePlan());
    expect(pools).toEqual(workflowTopologyOf(madePlan()).pools);
    expect(
      own.parts(madePlan()).map(({ stage, device, batch, model }) => [stage, device, batch, model]),
    ).toEqual(
      pools.map(({ stage, deviceClass, batch }) => [
        stage,
        deviceClass,
        batch,
        stageName(stage) === 'draw' ? 'diffusion' : 'llm',
      ]),
    );
    expect(own.profiled(madePlan())).toEqual(['llm', 'diffusion']);
  });

  it('changes the SLOs of those workflows that have one', () => {
    const { workflows } = own.withSlos(madePlan(), (sloMs) => 2 * sloMs);
    expect(workflows.map(({ sloMs }) => sloMs)).toEqual([400, undefined]);
    expect(Object.hasOwn(workflows[1]!, 'sloMs')).toBe(false);
  });

  it('gives the load that it was made for: drawn, a rate alone, a trace, or its functions in turn', () => {
    const { load, ...without } = madePlan();
    expect(own.load(madePlan())).toEqual({ kind: 'drawn', load });
    const alone = { arrivals: 'poisson', rps: without.rps };
    expect(own.load(without as WorkflowPlan)).toEqual({ kind: 'drawn', load: alone });
    expect(own.load({ ...without, load: { trace: 'a.csv' } } as WorkflowPlan)).toEqual({
      kind: 'trace',
      load: { trace: 'a.csv' },
    });
    const inTurn = { ...without, load: { trace: 'a.csv' }, functionsInTurn: true } as WorkflowPlan;
    expect(own.load(inTurn)).toMatchObject({ kind: 'trace', groups: 2 });
  });

  it('has no contradictions where the plan has none, and reports those of chains and of the scheduler', () => {
    expect(own.contradictions(madePlan())).toEqual([]);
    const chained = madePlan();
    chained.workflows[0]!.chain!.steps[0]!.next = 'nowhere';
    expect(own.contradictions(chained)).toEqual([
      expect.objectContaining({ path: '/workflows/0/chain/steps/0/next' }),
    ]);
    const choosing = { ...madePlan(), serving: { scheduler: 'dyorc', policy: { drop: 'never' } } };
    expect(own.contradictions(choosing).map(({ path }) => path)).toEqual(['/serving/policy/drop']);
    const served = { ...madePlan(), serving: { scheduler: 'fifo', policy: { drop: 'never' } } };
    expect(own.contradictions(served).map(({ path }) => path)).toEqual([
      '/serving/scheduler',
      // What guessed right is another scheduler's.
      '/sample/rightGuesses',
    ]);
  });
});

describe('diff()', () => {
  const diff = (changed: (plan: WorkflowPlan) => void) => {
    const after = madePlan();
    changed(after);
    return own.diff(madePlan(), after);
  };

  it('says that a plan is the same as itself', () => {
    const { told, fields } = diff(() => {});
    expect([told.same, fields]).toEqual([true, []]);
    expect(told.objective).toEqual({ kind: 'latency', before: 30, after: 30 });
  });

  it('reports what was made least, where that is something else', () => {
    const { told } = diff((plan) => {
      plan.objective = { ...plan.objective, kind: 'devices', value: 3 } as never;
    });
    expect(told.objective).toEqual({ kind: 'devices', kindBefore: 'latency', before: 30, after: 3 });
  });

  it('reports SLOs, rates, and latencies of workflows', () => {
    const { told, fields } = diff((plan) => {
      plan.rps = 40;
      plan.workflows[0]!.sloMs = 100;
      plan.sample.workflows[1]!.p95Ms = 31;
    });
    expect(told.models).toEqual([
      expect.objectContaining({
        name: 'chat',
        sloMs: { before: 200, after: 100 },
        throughputRps: { before: 15, after: 30 },
      }),
      expect.objectContaining({ sloMs: {}, p95Ms: { before: 30, after: 31 } }),
    ]);
    expect([told.same, fields]).toEqual([false, []]);
  });

  it('reports components that other devices hold, and counts these', () => {
    const { told } = diff((plan) => {
      plan.placement[2]!.holds = ['answer'];
      plan.components[1]!.classes[0]!.batch = 1;
    });
    expect(told.stages).toEqual([
      expect.objectContaining({
        name: 'answer',
        devices: { before: '1 × big', after: '1 × big + 1 × small' },
        replicas: { before: 1, after: 2 },
      }),
      expect.objectContaining({ name: 'draw', batch: { before: 2, after: 1 } }),
    ]);
    expect([told.gpusMoved, told.same]).toEqual([1, false]);
  });

  it('reports devices that are gone, by class', () => {
    const { told } = diff((plan) => {
      plan.placement.pop();
    });
    expect(told.classes).toEqual([{ name: 'small', used: { before: 1, after: 0 } }]);
    expect(told.gpusMoved).toBe(1);
  });

  it('lists all else by its field, such as the scheduler and what followed what', () => {
    const { fields } = diff((plan) => {
      plan.serving = { scheduler: 'greedy' };
      plan.workflows[0]!.frequencies[0]!.count = 41;
      plan.components[0]!.classes[0]!.loadUs = 1;
    });
    expect(fields.map(({ path }) => path)).toEqual([
      '/serving/scheduler',
      '/components/answer/classes/0/loadUs',
      '/workflows/chat/frequencies/0/count',
    ]);
  });
});
