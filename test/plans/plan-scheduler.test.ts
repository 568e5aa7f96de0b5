import { describe, expect, it } from 'vitest';
import { serveCommand } from '../../src/cli/commands/serve.js';
import { simulateCommand } from '../../src/cli/commands/simulate.js';
import { type PlanServing, ToldFaults } from '../../src/formats/index.js';
import {
  plannedScheduler,
  replayFaults,
  STAGE_PLAN_KINDS,
  type StagePlanKind,
  servingFaults,
} from '../../src/plans/index.js';
import {
  DEFAULT_POLICY,
  PUBLISHED_REACTIVE_POLICY,
  RESERVATION_POLICY,
  type SchedulerOptions,
} from '../../src/serving/index.js';
import { SCHEDULERS } from '../../src/serving/schedulers.js';

/** The scheduler of a plan whose least SLO is 100 ms, or the message with all faults. */
function chosen(serving: PlanServing | undefined, options: SchedulerOptions = {}) {
  const told = new ToldFaults();
  const found = plannedScheduler(serving, { options, leastSloNs: 100e6 }, told);
  return told.count === 0 ? found : told.error('simulate').message;
}

describe('plannedScheduler()', () => {
  it("is the plan's, with its choices and then those of the options", () => {
    const serving = { scheduler: 'fifo', policy: { drop: 'full-batch', 'drop.share': 0.5, mostTries: 9 } };
    const drop = { kind: 'full-batch', share: 0.5 };
    expect(chosen(serving)).toMatchObject({ name: 'fifo', policy: { drop, mostTries: 9 } });
    expect(chosen(serving, { policy: ['drop.share=0.25'] })).toMatchObject({
      policy: { drop: { ...drop, share: 0.25 }, mostTries: 9 },
    });
    expect(chosen(serving, { scheduler: 'fifo' })).toEqual(chosen(serving));
  });

  it('refuses a choice that the scheduler does not have, of the plan and of options', () => {
    for (const refused of [
      chosen({ scheduler: 'fifo', policy: { colour: 'red' } }),
      chosen({ scheduler: 'fifo' }, { policy: ['colour=red'] }),
    ])
      expect(refused).toEqual(expect.stringContaining('colour'));
  });

  it('leaves the choices of the plan where the options name another scheduler or a preset', () => {
    const serving = { scheduler: 'reactive', policy: { drop: 'expired' } };
    expect(chosen(serving, { scheduler: 'reservation' })).toEqual({
      name: 'reservation',
      policy: RESERVATION_POLICY,
    });
    expect(chosen(serving, { preset: 'published' })).toEqual({
      name: 'reactive',
      preset: 'published',
      policy: PUBLISHED_REACTIVE_POLICY,
    });
  });

  it('takes the scheduler that a policy file names, and refuses files and options that name others', () => {
    const file = (at: string, scheduler: string) => ({ at, scheduler, choices: {} });
    expect(chosen({ scheduler: 'fifo' }, { policy: [file('a ', 'reactive')] })).toMatchObject({
      name: 'reactive',
    });
    const policy = [file('a ', 'reactive'), file('b ', 'fifo')];
    expect(chosen(undefined, { policy })).toContain(
      'b /scheduler: is fifo, but a /scheduler is reactive: leave out one of them',
    );
    expect(chosen(undefined, { scheduler: 'fifo', policy })).toContain(
      'a /scheduler: is reactive, but `scheduler` is fifo',
    );
  });

  it('reads choices of a plan that are nested as in a policy file', () => {
    const drop = { kind: 'full-batch', share: 0.5 };
    expect(chosen({ scheduler: 'fifo', policy: { drop } })).toMatchObject({ policy: { drop } });
    expect(
      servingFaults({ serving: { scheduler: 'fifo', policy: { drop: { kind: 'full-batch' } } } }),
    ).toEqual([{ path: '/serving/policy/drop', message: 'lacks "share"' }]);
    const flat = { scheduler: 'fifo', policy: { drop: 'full-batch', 'drop.share': 2 } };
    expect(servingFaults({ serving: flat })).toEqual([
      { path: '/serving/policy/drop.share', message: 'is 2; it must be at most 1' },
    ]);
  });

  it('keeps a fiftieth of the least SLO as slack, at most 3 ms, where nobody sets it', () => {
    expect(chosen(undefined)).toEqual({
      name: 'stage-local',
      policy: { ...DEFAULT_POLICY, slackNs: 2e6 },
    });
    const told = new ToldFaults();
    const long = plannedScheduler(undefined, { options: {}, leastSloNs: 400e6 }, told);
    expect(long?.policy.slackNs).toBe(3e6);
    expect(chosen({ scheduler: 'stage-local', policy: { slackNs: 7 } })).toMatchObject({
      policy: { slackNs: 7 },
    });
    expect(chosen(undefined, { policy: ['slackNs=0'] })).toMatchObject({ policy: { slackNs: 0 } });
  });
});

describe('The figures of an engine', () => {
  const engine = { target: 'ray-serve', ingress: { replicas: 2, requestUs: 10 }, hopUs: 3 };

  it('belong to the schedulers that stand for it alone, those of the options before those of the plan', () => {
    const serving = { scheduler: 'ray-serve', engine };
    const other = { ...engine, hopUs: 4 };
    expect(chosen(serving)).toMatchObject({ name: 'ray-serve', engine });
    expect(chosen(serving, { scheduler: 'ray-serve-batch' })).toMatchObject({ engine });
    expect(chosen(serving, { engine: other })).toMatchObject({ engine: other });
    expect(chosen(serving, { scheduler: 'triton' })).not.toHaveProperty('engine');
    expect(chosen(serving, { scheduler: 'room-first' })).not.toHaveProperty('engine');
  });

  it('are a fault where the plan names a scheduler that does not stand for it', () => {
    const faults = (scheduler: string, of = engine) =>
      servingFaults({ serving: { scheduler, engine: of } }).map(({ path, message }) => `${path} ${message}`);
    expect(faults('ray-serve-batch')).toEqual([]);
    expect(faults('fifo')).toEqual([
      '/serving/engine is of the engine ray-serve, but the scheduler is fifo: ray-serve, ray-serve-batch serve as it does',
    ]);
    expect(faults('triton', { ...engine, target: 'vllm' })).toEqual([
      '/serving/engine is of the engine vllm, but the scheduler is triton: no scheduler stands for vllm',
    ]);
  });
});

describe('servingFaults()', () => {
  it('refuses a tuner of what is no pipeline', () => {
    const serving: PlanServing = { scheduler: 'fifo', tuner: { kind: 'hpa' } };
    expect(servingFaults({ kind: 'pooled-plan', serving }).map(({ path }) => path)).toEqual([
      '/serving/tuner',
    ]);
    expect(servingFaults({ kind: 'pipeline-plan', serving })).toEqual([]);
    expect(servingFaults({ kind: 'gear-plan', serving }).map(({ message }) => message)).toEqual([
      'changes the replicas of pipelines, and this is a cascade',
    ]);
    expect(servingFaults({ kind: 'pooled-plan', serving: { ...serving, tuner: { kind: 'none' } } })).toEqual(
      [],
    );
  });

  const told = (serving: PlanServing) =>
    servingFaults({ serving }).map(({ path, message }) => `${path} ${message}`);

  it('finds none where the plan names no scheduler, or one that exists', () => {
    expect(servingFaults({})).toEqual([]);
    for (const scheduler of ['stage-local', 'fifo', 'reactive', 'reservation'])
      expect(told({ scheduler })).toEqual([]);
  });

  it('names the scheduler or the choice that does not exist, all at once', () => {
    expect(told({ scheduler: 'best' })).toEqual([
      expect.stringMatching(/^\/serving\/scheduler is "best"; valid values are reservation/),
    ]);
    expect(told({ scheduler: 'fifo', policy: { drop: 'some', speed: 2, slackNs: -1 } })).toEqual([
      expect.stringMatching(/^\/serving\/policy\/drop there is no some/),
      expect.stringMatching(/^\/serving\/policy\/speed there is no speed/),
      '/serving/policy/slackNs is -1; it must be at least 0',
    ]);
    expect(told({ scheduler: 'fifo', policy: { drop: 'nearly-full' } })).toEqual([
      '/serving/policy/drop drop.share=… and drop.spares=… is needed',
    ]);
  });

  it('refuses a policy that only replays the published simulator', () => {
    expect(told({ scheduler: 'reservation', policy: { tables: 'busy-until' } })).toEqual([
      '/serving/scheduler reservation with tables=busy-until replays the published simulator, and is only simulated',
    ]);
    const replaying = { name: 'reservation', policy: { tables: 'busy-until' } } as never;
    expect(replayFaults(replaying).map(({ path }) => path)).toEqual(['`scheduler`']);
    expect(replayFaults({ name: 'reservation', policy: { tables: 'gaps' } } as never)).toEqual([]);
  });
});

describe('The scheduler gears', () => {
  const refused = (kind: StagePlanKind | undefined, scheduler = 'gears') => {
    const told = new ToldFaults();
    const options = { scheduler };
    plannedScheduler(
      undefined,
      { options, leastSloNs: 100e6, ...(kind === undefined ? {} : { kind }) },
      told,
    );
    return told.count;
  };

  it('is refused for plans that have no gears, as an option and in the plan itself', () => {
    expect(([...STAGE_PLAN_KINDS, undefined] as const).map((kind) => refused(kind))).toEqual([
      ...[1, 1, 0, 0],
    ]);
    expect(refused('pooled-plan', 'fifo')).toBe(0);
    const serving: PlanServing = { scheduler: 'gears' };
    expect(STAGE_PLAN_KINDS.map((kind) => servingFaults({ kind, serving }))).toEqual([
      [{ path: '/serving/scheduler', message: 'is gears, which serves gear plans only' }],
      [{ path: '/serving/scheduler', message: 'is gears, which serves gear plans only' }],
      [],
    ]);
  });

  it('is named with all others in the help of the commands that take a scheduler', () => {
    for (const command of [simulateCommand(), serveCommand()]) {
      const { description = '' } = command.options.find(({ long }) => long === '--scheduler') ?? {};
      const named = description.split(/[^a-z+-]+/);
      for (const name of Object.keys(SCHEDULERS)) expect(named).toContain(name);
    }
  });
});
