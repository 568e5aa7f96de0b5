import { expect, test } from 'vitest';
import type { Loaded, PipelineLoad, PipelinePlan } from '../../src/formats/index.js';
import { changedTraceFaults, withPlannedLoad } from '../../src/simulation/planned-load.js';
import { pipelineOf } from '../pipeline-plans.js';

function planFor(load: PipelineLoad | undefined): Loaded<'pipeline-plan'> {
  const value: PipelinePlan = { ...pipelineOf([{ name: 'a' }], [['a']]), ...(load && { load }) };
  return { kind: 'pipeline-plan', value, path: 'made/plan.json', sha256: '' };
}

const optionsOf = (load: PipelineLoad | undefined, options: object, swept = false) =>
  withPlannedLoad(planFor(load), options, swept).options;

const GAMMA = { arrivals: 'gamma', rps: 20, cv: 4, duration: '2min' } as const;

test('withPlannedLoad() takes process, variation and length of the load that a pipeline was planned for', () => {
  const own = { arrivals: 'gamma', cv: 4, duration: 120 };
  expect(optionsOf(GAMMA, {})).toEqual(own);
  expect(optionsOf({ arrivals: 'gamma', rps: 5 }, {})).toEqual({ arrivals: 'gamma', cv: 1, duration: 60 });
  expect(optionsOf({ arrivals: 'uniform', rps: 5, duration: '500ms' }, {})).toEqual({
    arrivals: 'uniform',
    duration: 0.5,
  });
  for (const more of [{ rps: ['7'] }, { load: 0.5 }, { seed: 3 }])
    expect(optionsOf(GAMMA, more)).toEqual({ ...more, ...own });
  expect(optionsOf(GAMMA, {}, true)).toEqual(own);
  // Phases say themselves how long they last.
  const phases = ['60s,rps=5', '60s,rps=9,cv=2'];
  expect(optionsOf(GAMMA, { phases })).toEqual({ phases, arrivals: 'gamma', cv: 4 });
  expect(optionsOf(undefined, {})).toEqual({});
});

test('withPlannedLoad() keeps what options say', () => {
  expect(optionsOf(GAMMA, { cv: 2, duration: 5 })).toEqual({ arrivals: 'gamma', cv: 2, duration: 5 });
  expect(optionsOf(GAMMA, { arrivals: 'poisson' })).toEqual({ arrivals: 'poisson', duration: 120 });
  const traces = ['day.csv'];
  expect(optionsOf(GAMMA, { traces })).toEqual({ traces });
});

test('withPlannedLoad() takes the trace that a pipeline was planned for, wherever its name has a "="', () => {
  const of = (trace: string, options: object) => withPlannedLoad(planFor({ trace }), options, false);
  expect(of('day.csv', { load: 0.5 })).toEqual({
    options: { load: 0.5, traces: ['made/day.csv'] },
    trace: 'made/day.csv',
  });
  const window = { trace: 'day.csv', from: '18h', to: '90m' };
  expect(withPlannedLoad(planFor(window), {}, false).options).toEqual({
    traces: ['made/day.csv'],
    from: 64_800,
    to: 5400,
  });
  expect(withPlannedLoad(planFor(window), { to: 5 }, false).options).toEqual({
    traces: ['made/day.csv'],
    to: 5,
  });
  // Others are named as `plan validate` names them.
  expect(of('../day.csv', {}).options).toEqual({ traces: ['day.csv'] });
  expect(of('../a=b.csv', {}).options).toEqual({ traces: ['./a=b.csv'] });
  for (const options of [{ traces: ['x.csv'] }, { phases: ['9s,rps=1'] }, { arrivals: 'poisson' }, { cv: 2 }])
    expect(of('day.csv', options)).toEqual({ options });
});

test('changedTraceFaults() finds a trace that is another than the one that was planned for', () => {
  const { value } = planFor({ trace: 'day.csv' });
  const plan = { ...value, inputs: [{ role: 'trace', path: 'day.csv', sha256: 'aa' }] };
  const file = (sha256: string) => [{ path: 'made/day.csv', sha256 }];
  expect(changedTraceFaults(plan, 'made/day.csv', file('aa'))).toEqual([]);
  expect(changedTraceFaults(plan, undefined, file('bb'))).toEqual([]);
  expect(changedTraceFaults({ ...plan, inputs: [] }, 'made/day.csv', file('bb'))).toEqual([]);
  const [fault] = changedTraceFaults(plan, 'made/day.csv', file('bb'));
  expect(fault?.path).toBe('made/day.csv');
  expect(fault?.message).toMatch(/^has changed since the plan was made for it/);
});
