import { describe, expect, it } from 'vitest';
import { type PolicyGiven, ToldFaults } from '../../src/formats/index.js';
import type { StagePlan } from '../../src/plans/index.js';
import { SCHEDULER_NAMES } from '../../src/serving/index.js';
import { comparedSchedulers } from '../../src/simulation/compared-schedulers.js';
import { gearPlan } from '../gear-plans.js';
import { edge, pipelineOf } from '../pipeline-plans.js';
import { affine, planOf } from '../serving/plans.js';

const POOLED = planOf([
  { sloMs: 50, pipelines: [{ throughputRps: 250, parts: [{ batch: 2, latencyUs: affine(4000, 0) }] }] },
]);
const DAG = pipelineOf(
  [{ name: 'detect', next: [edge('read'), edge('count')] }, { name: 'read' }, { name: 'count' }],
  [['detect'], ['read'], ['count']],
);
const GEARS = gearPlan({
  latencyUs: [[1000], [2000]],
  held: [[0], [1]],
  gears: [{ toRps: 100, steps: [{ model: 0, threshold: 0.5 }, { model: 1 }] }],
});

function compare(
  plan: StagePlan,
  names: string,
  { policy = [], tuner, isSound = true }: { policy?: PolicyGiven[]; tuner?: string; isSound?: boolean } = {},
) {
  const told = new ToldFaults();
  const asked = { options: { tuner }, policy, transfers: 'links', isSound } as const;
  const compared = comparedSchedulers(plan, { ...asked, names }, told);
  return { compared, wrong: told.count === 0 ? [] : told.error('simulate').faults };
}

const namesOf = (plan: StagePlan, names: string) => {
  const { compared, wrong } = compare(plan, names);
  expect(wrong).toEqual([]);
  return compared?.schedulers.map(({ name }) => name);
};

/** wrongWith gives the messages, and checks that nothing is compared then. */
function wrongWith(plan: StagePlan, names: string, more: Parameters<typeof compare>[2] = {}): string[] {
  const { compared, wrong } = compare(plan, names, more);
  expect(compared).toBeUndefined();
  return wrong.map(({ path, message }) => `${path}: ${message}`);
}

describe('comparedSchedulers()', () => {
  it('takes of all those that can serve the plan, and says why the others cannot', () => {
    const pooled = compare(POOLED, ' all ').compared;
    expect(pooled?.schedulers.map(({ name }) => name)).toEqual(
      SCHEDULER_NAMES.filter((name) => name !== 'gears'),
    );
    expect(pooled?.skipped).toEqual([
      { scheduler: 'gears', reason: 'it is gears, which serves gear plans only' },
    ]);
    const dag = compare(DAG, 'all').compared;
    expect(dag?.schedulers.map(({ name }) => name)).toEqual(
      SCHEDULER_NAMES.filter((name) => name !== 'gears' && name !== 'reservation'),
    );
    expect(dag?.skipped.map(({ scheduler }) => scheduler).sort()).toEqual(['gears', 'reservation']);
    expect(dag?.skipped.find(({ scheduler }) => scheduler === 'reservation')?.reason).toBe(
      'app is a DAG of stages, but reservations are made for chains',
    );
    const gears = compare(GEARS, 'all').compared;
    expect(gears?.schedulers.map(({ name }) => name)).toContain('gears');
    expect(gears?.skipped.map(({ scheduler }) => scheduler)).toContain('reservation');
  });

  it('takes those that are named, in that order, each once', () => {
    expect(namesOf(POOLED, 'fifo,reactive')).toEqual(['fifo', 'reactive']);
    expect(namesOf(POOLED, ` reactive ,fifo,,${'fifo,reactive,'.repeat(1000)}`)).toEqual([
      'reactive',
      'fifo',
    ]);
    expect(compare(POOLED, 'fifo').compared?.skipped).toEqual([]);
  });

  it('gives each the choices and the slack that it would have alone', () => {
    const served = { ...POOLED, serving: { scheduler: 'fifo', policy: { drop: 'hopeless' } } } as StagePlan;
    const [fifo, stageLocal] = compare(served, 'fifo,stage-local').compared?.schedulers ?? [];
    expect(fifo?.policy).toMatchObject({ drop: { kind: 'hopeless' }, slackNs: 1e6 });
    expect(stageLocal?.policy).toMatchObject({ late: { kind: 'background' }, slackNs: 1e6 });
  });

  it.each([
    ['', 'names no scheduler; take all, or some of reservation,'],
    [' , ,', 'names no scheduler'],
    ['all,fifo', 'names all beside others'],
    ['fifo,fifoo', 'names "fifoo"; valid names are reservation,'],
    ['fifoo', 'did you mean fifo?'],
    ['__proto__', 'names "__proto__"'],
    ['toString', 'names "toString"'],
  ])('refuses the names %j', (names, said) => {
    const [wrong, ...others] = wrongWith(POOLED, names);
    expect(others).toEqual([]);
    expect(wrong).toContain(said);
    expect(wrong).toContain('`schedulers`: ');
  });

  it('reports the first of many names that are wrong, and how many more there are', () => {
    const wrong = wrongWith(POOLED, Array.from({ length: 1000 }, (_, i) => `s${i}`).join(','));
    expect(wrong).toHaveLength(21);
    expect(wrong.at(-1)).toContain('and 980 more faults');
  });

  it('refuses one that is named and cannot serve the plan, and names those that can', () => {
    expect(wrongWith(DAG, 'fifo,reservation,gears')).toEqual([
      expect.stringMatching(
        /names gears, which cannot serve the plan: it is gears, which serves gear plans only; .*fifo.* can$/,
      ),
      expect.stringMatching(
        /names reservation, which cannot serve the plan: app is a DAG of stages, .*; .*fifo.* can$/,
      ),
    ]);
    expect(wrongWith(DAG, 'reservation')[0]).not.toMatch(/[;,] (reservation|gears)[, ].* can$/);
  });

  it('says what is wrong with the tuner, once, where none can serve the plan for it', () => {
    expect(wrongWith(POOLED, 'all', { tuner: 'hpa' })).toEqual([
      '`tuner`: changes the replicas of pipelines, and this plan is no pipeline',
    ]);
    expect(wrongWith(DAG, 'all', { tuner: 'none-such' })).toEqual([
      expect.stringContaining('`tuner`: is none-such; valid values are'),
    ]);
    const chain = pipelineOf([{ name: 'read' }], [['read']]);
    const { compared } = compare(chain, 'all', { tuner: 'hpa' });
    expect(compared?.schedulers.every(({ tuner }) => tuner?.settings.kind === 'hpa')).toBe(true);
    expect(compared?.skipped.find(({ scheduler }) => scheduler === 'reservation')?.reason).toBe(
      'the tuner changes the replicas, and the scheduler reservation needs devices that stay',
    );
  });

  it('looks at names and choices only where the plan contradicts itself', () => {
    expect(compare(DAG, 'reservation', { isSound: false })).toEqual({ compared: undefined, wrong: [] });
    expect(wrongWith(DAG, 'nope', { isSound: false, policy: ['foo=1'] })).toHaveLength(1);
  });
});

describe('Choices of compared schedulers', () => {
  it('apply where they exist, part by part in their order, and the others are named', () => {
    const policy = ['correction=none', 'tables=gaps', 'order=fifo', 'drop=full-batch', 'drop.share=0.5'];
    const { compared, wrong } = compare(POOLED, 'reservation,fifo', { policy });
    expect(wrong).toEqual([]);
    expect(compared?.choices).toEqual([
      { choice: 'correction=none', applied: ['reservation', 'fifo'], notApplied: [] },
      { choice: 'tables=gaps', applied: ['reservation'], notApplied: ['fifo'] },
      ...policy.slice(2).map((choice) => ({ choice, applied: ['fifo'], notApplied: ['reservation'] })),
    ]);
    const [reservation, fifo] = compared?.schedulers ?? [];
    expect(reservation?.policy).toMatchObject({ correction: { kind: 'none' } });
    expect(fifo?.policy).toMatchObject({
      correction: { kind: 'none' },
      drop: { kind: 'full-batch', share: 0.5 },
    });
  });

  it('apply by the kind that a scheduler has, where they are a part of one', () => {
    const { compared } = compare(POOLED, 'fifo,reactive', { policy: ['drop.share=0.25'] });
    expect(compared?.choices).toEqual([
      { choice: 'drop.share=0.25', applied: ['reactive'], notApplied: ['fifo'] },
    ]);
    expect(compared?.schedulers[1]?.policy).toMatchObject({ drop: { share: 0.25 } });
  });

  it('are refused where they exist in none, with what there is in each', () => {
    expect(wrongWith(POOLED, 'fifo,inferline', { policy: ['tables=gaps'] })).toEqual([
      expect.stringMatching(/^`policy` "tables=gaps": there is no tables; there are order, /),
    ]);
    expect(wrongWith(POOLED, 'fifo,inferline,reservation', { policy: ['foo=1'] })).toEqual([
      expect.stringMatching(/: of fifo, inferline: there is no foo; there are order, /),
      expect.stringMatching(/: of reservation: there is no foo; there are tables, /),
    ]);
    expect(wrongWith(POOLED, 'all', { policy: ['nonsense'] })).toEqual([
      '`policy` "nonsense": is not key=value, such as drop=hopeless, nor a file that ends in .yaml, .yml or .json',
    ]);
  });

  it('are refused where they exist only in one that cannot serve the plan', () => {
    expect(wrongWith(DAG, 'all', { policy: ['tables=gaps'] })).toEqual([
      expect.stringContaining('there is no tables'),
    ]);
  });

  it('are refused where the value is wrong, and where a part is missing', () => {
    expect(wrongWith(POOLED, 'all', { policy: ['drop.share=2'] })).toEqual([
      expect.stringMatching(/"drop.share=2": is 2; it must be at most 1/),
    ]);
    expect(wrongWith(POOLED, 'fifo,reservation', { policy: ['drop=full-batch'] })).toEqual([
      expect.stringContaining('drop.share=… is needed'),
    ]);
  });

  it('of a file are taken one by one, and of one that names its scheduler for that one', () => {
    const file = { path: '/some/where/mine.yaml', sha256: '0' };
    const choices = { tables: 'gaps', order: 'fifo' };
    const open = compare(POOLED, 'reservation,fifo', { policy: [{ at: 'mine.yaml ', choices, file }] });
    expect(open.compared?.choices).toEqual([
      { choice: 'mine.yaml tables', applied: ['reservation'], notApplied: ['fifo'] },
      { choice: 'mine.yaml order', applied: ['fifo'], notApplied: ['reservation'] },
    ]);
    const own = { at: 'mine.yaml ', scheduler: 'fifo', choices: { drop: 'hopeless' }, file };
    const { compared } = compare(POOLED, 'stage-local,fifo', { policy: [own] });
    expect(compared?.choices).toEqual([
      { choice: 'mine.yaml drop', applied: ['fifo'], notApplied: ['stage-local'] },
    ]);
    expect(compared?.schedulers[1]?.policy).toMatchObject({ drop: { kind: 'hopeless' } });
    expect(wrongWith(POOLED, 'stage-local,reactive', { policy: [own] })).toEqual([
      'mine.yaml drop: is for fifo, which is not compared',
    ]);
  });

  it('of a schedule of devices are checked against the pools of the plan', () => {
    const scaling = { schedule: [{ atS: 1, pool: 'nowhere', devices: 1 }] };
    expect(wrongWith(DAG, 'all', { policy: [{ at: 'mine.yaml ', choices: { scaling } }] })).toEqual([
      expect.stringContaining('there is no nowhere; there are detect, read, count'),
    ]);
  });
});
