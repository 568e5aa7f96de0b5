import { describe, expect, it } from 'vitest';
import { planTopologyOf, topologyOf } from '../../../src/plans/index.js';
import {
  GEAR_POLICY,
  REACTIVE_POLICY,
  StageLocalCore,
  type StageLocalPolicy,
  type Topology,
} from '../../../src/serving/index.js';
import { gearPlan } from '../../gear-plans.js';
import { BYTES_PER_MS, chainOf, MS, modelOf, stage } from '../by-hand.js';
import { planOf } from '../plans.js';
import { cancels, comes, down, drains, due, ends, fails, isThere, starts, Told, up } from '../told.js';

const FOUR = [10, 14, 18, 22];
const NANO = 1e-6;

/**
 * Batches are formed at once from tasks that are in time together. Requests that cannot be in time are dropped at once.
 */
const PLAIN = { drop: { kind: 'hopeless' }, late: { kind: 'drop' }, correction: { kind: 'none' } } as const;
const LATE = { kind: 'background', patience: 4, mostMissed: 0.25, window: 4 } as const;

const plain = (topology: Topology, policy: Partial<StageLocalPolicy> = {}) =>
  new Told((decisions) => new StageLocalCore(topology, decisions, { ...PLAIN, ...policy }));
const background = (topology: Topology, policy: Partial<StageLocalPolicy> = {}) =>
  plain(topology, { late: LATE, ...policy });
const reactive = (topology: Topology, policy: Partial<StageLocalPolicy> = {}) =>
  new Told((decisions) => new StageLocalCore(topology, decisions, { ...REACTIVE_POLICY, ...policy }));

const single = chainOf(100, stage([10]));

describe('StageLocalCore', () => {
  it('starts the tasks that wait, as many as are in time together, when a device becomes idle', () => {
    const one = plain(chainOf(100, stage(FOUR)));
    expect(one.at(0, up(0), comes(100))).toEqual(['run 0 on 0: 0']);
    expect(one.at(1, comes(31), comes(32), comes(100))).toEqual([`wake ${21 + NANO}`]);
    // A batch of three ends at 28 ms, which is in time for the earliest deadline, 31 ms.
    expect(one.at(10, starts(0), ends(0, 10))).toEqual(['answer 0 inTime', 'run 0 on 0: 1 2 3']);
    const two = plain(chainOf(100, stage(FOUR)));
    two.at(0, up(0), comes(100));
    two.at(1, comes(27), comes(28), comes(100));
    // A batch of three would end at 28 ms, but the first task has until 27 ms.
    expect(two.at(10, starts(0), ends(0, 10))).toEqual([
      'answer 0 inTime',
      'run 0 on 0: 1 2',
      `wake ${90 + NANO}`,
    ]);
  });

  it('starts one batch on every idle device', () => {
    const one = plain(chainOf(100, stage([10], { virtualGpus: 3 })));
    expect(one.at(0, up(0, 1, 2), comes(100), comes(100))).toEqual(['run 0 on 0: 0', 'run 1 on 1: 1']);
    expect(one.at(1, comes(100), comes(100))).toEqual(['run 2 on 2: 2', `wake ${90 + NANO}`]);
  });

  it('starts batches of any pool, however much their sizes differ', () => {
    const one = plain(
      modelOf(
        100,
        { throughputRps: 1, parts: [stage([10])] },
        { throughputRps: 100, parts: [stage([10, 11, 12])] },
      ),
    );
    expect(one.at(0, up(0, 1), comes(99), comes(99), comes(99))).toEqual(['run 0 on 1: 0 1 2']);
  });

  it('starts the tasks that were sent on in the next pool, in the order of deadlines', () => {
    const one = plain(chainOf(100, stage([10, 11]), stage([5])));
    expect(one.at(0, up(0, 1), comes(98), comes(97))).toEqual(['run 0 on 0: 1 0']);
    expect(one.at(11, starts(0), ends(0, 11))).toEqual(['move 0 from 0 to -1: 1 0']);
    expect(one.at(11, isThere(0))).toEqual(['run 0 on 1: 1', `wake ${93 + NANO}`]);
    expect(one.at(16, starts(0), ends(0, 5))).toEqual(['answer 1 inTime', 'run 0 on 1: 0']);
  });

  it('starts tasks of a later stage in the order in which they came there, under fifo', () => {
    const one = plain(chainOf(100, stage([10], { virtualGpus: 2 }), stage([5])), { order: { kind: 'fifo' } });
    one.at(0, up(0, 1), comes(98));
    one.at(1, comes(97));
    one.at(11, starts(1), ends(1, 10));
    one.at(12, starts(0), ends(0, 12));
    // Both tasks wait before the second stage's device is up, and task 1 came there first.
    one.at(13, isThere(1));
    one.at(14, isThere(0));
    expect(one.at(15, up(2))[0]).toBe('run 0 on 2: 1');
  });

  it('drops a request whose model has no pipeline', () => {
    const topology = topologyOf(
      planOf([
        { sloMs: 100, pipelines: [{ throughputRps: 1, parts: [stage([10])] }] },
        { sloMs: 100, pipelines: [] },
      ]),
    );
    expect(plain(topology).at(0, up(0), comes(100, { model: 1 }))).toEqual(['drop 0 device-down at -1']);
  });

  it('starts a batch after its transfer without the tasks that were cancelled on the way', () => {
    const one = plain(chainOf(100, stage([10, 11]), stage([5, 6])));
    one.at(0, up(0, 1), comes(98), comes(97));
    one.at(11, starts(0), ends(0, 11));
    one.at(12, cancels(1));
    expect(one.at(13, isThere(0))).toEqual(['run 0 on 1: 0']);
    expect(one.core.inUse).toEqual({ requests: 1, tasks: 1, batches: 1 });
  });

  it('starts in the pipeline with the fewest in flight, where tasks that have ended do not count', () => {
    const parts = [stage([10], { virtualGpus: 2 })];
    const one = plain(modelOf(100, { throughputRps: 100, parts }, { throughputRps: 100, parts }));
    expect(one.at(0, up(0, 1, 2, 3), comes(99))).toEqual(['run 0 on 0: 0']);
    one.at(10, starts(0), ends(0, 10));
    // No task is in flight, so the first pipeline is taken, and then the other.
    expect(one.at(10, comes(99), comes(99))).toEqual(['run 0 on 1: 0', 'run 1 on 2: 1']);
  });

  it('refuses the arrival of a batch that is not being sent', () => {
    const one = plain(chainOf(100, stage([10]), stage([5])));
    one.at(0, up(0, 1), comes(100));
    expect(() => one.core.transferred(5, 0, 0, 5)).toThrow('not moving');
  });
});

describe('StageLocalCore', () => {
  const WAIT = { formation: { kind: 'last-moment', leaves: 'transfer', stepNs: 0 } } as const;

  it('waits for company until a batch of one more could no longer be in time', () => {
    const one = plain(chainOf(100, stage(FOUR)), WAIT);
    // A batch of two takes 14 ms.
    expect(one.at(0, up(0), comes(50))).toEqual(['wake 36']);
    // A batch of three takes 18 ms, and the head has until 50 ms.
    expect(one.at(1, comes(52))).toEqual(['wake 32']);
    expect(one.at(32 - NANO, due)).toEqual(['wake 32']);
    expect(one.at(32, due)).toEqual(['run 0 on 0: 0 1']);
  });

  it('waits no longer once a planned batch is there', () => {
    const one = plain(chainOf(100, stage(FOUR)), WAIT);
    one.at(0, up(0), comes(50), comes(50), comes(50));
    expect(one.at(1, comes(50))).toEqual(['run 0 on 0: 0 1 2 3']);
  });

  it('waits for nothing once it drains', () => {
    const one = plain(chainOf(100, stage(FOUR)), WAIT);
    expect(one.at(0, up(0), comes(50))).toEqual(['wake 36']);
    expect(one.at(1, drains)).toEqual(['run 0 on 0: 0']);
  });

  it('waits again for the last moment of those that stay when a task has left', () => {
    const one = reactive(chainOf(100, stage(FOUR)), { correction: { kind: 'none' } });
    // The wait ends one step past the last moment for two, 86 ms, and then for three, 82 ms.
    expect(one.at(0, up(0), comes(100))).toEqual([`wake ${86 + NANO}`]);
    expect(one.at(1, comes(100))).toEqual([`wake ${82 + NANO}`]);
    expect(one.at(2, cancels(1))).toEqual([`wake ${86 + NANO}`]);
  });

  it('looks again only at queues that something has changed for', () => {
    const topology = modelOf(
      100,
      { throughputRps: 100, parts: [stage(FOUR)] },
      { throughputRps: 1, parts: [stage([90])] },
    );
    const one = plain(topology, { ...WAIT, choice: { kind: 'least-loaded' } });
    expect(one.at(0, up(0), comes(50))).toEqual(['wake 36']);
    expect(one.at(5, up(1))).toEqual([]);
    expect(one.at(36, due)).toEqual(['run 0 on 0: 0']);
  });
});

describe('StageLocalCore', () => {
  it('gives up a head a nanosecond after it could have been in time alone, and starts the next', () => {
    const one = plain(single);
    one.at(0, up(0), comes(100));
    expect(one.at(1, comes(25), comes(60))).toEqual([`wake ${15 + NANO}`]);
    expect(one.at(15, due)).toEqual([`wake ${15 + NANO}`]);
    expect(one.at(15 + NANO, due)).toEqual(['drop 1 deadline at 0', `wake ${50 + NANO}`]);
  });

  it('gives up a head that would be late in a full batch, while more tasks wait', () => {
    const one = plain(chainOf(100, stage(FOUR)), { drop: { kind: 'full-batch', share: 1 } });
    one.at(0, up(0), comes(100));
    one.at(1, comes(30), comes(40), comes(40), comes(40), comes(40));
    expect(one.at(10, starts(0), ends(0, 10))).toEqual([
      'answer 0 inTime',
      'drop 1 deadline at 0',
      'run 0 on 0: 2 3 4 5',
    ]);
  });

  it('gives up at first sight a head that only a small batch could save, but not one that it has waited on', () => {
    const drop = { kind: 'nearly-full', share: 1, spares: 'all-waited' } as const;
    const make = () => reactive(chainOf(30, stage([8, 12, 16, 20])), { drop, correction: { kind: 'none' } });
    const one = make();
    // The head waits until two could not be in time, 18 ms; four could not be from 10 ms on.
    expect(one.at(0, up(0), comes(30))).toEqual([`wake ${18 + NANO}`]);
    expect(one.at(18 + NANO, due)).toEqual(['run 0 on 0: 0']);
    const other = make();
    expect(other.at(18 + NANO, up(0), comes(30))).toEqual([expect.stringMatching(/^drop 0 deadline/)]);
    // The head is not spared for having the number of a task that was waited on.
    const again = make();
    again.at(0, up(0), comes(30));
    again.at(1, cancels(0));
    expect(again.at(18 + NANO, comes(30))).toEqual([expect.stringMatching(/^drop 0 deadline/)]);
  });

  it('keeps a slack before every deadline, and judges outcomes without it', () => {
    const one = plain(single, { slackNs: 3 * MS });
    expect(one.at(0, up(0), comes(13))).toEqual(['run 0 on 0: 0']);
    expect(one.at(13, starts(0), ends(0, 13))).toEqual(['answer 0 inTime']);
    expect(one.at(13, comes(26, { exact: -1 }))).toEqual(['drop 0 deadline at 0']);
  });

  it('gives up at a later stage a task that is late there', () => {
    const one = plain(chainOf(100, stage([10]), stage([5])));
    one.at(0, up(0, 1), comes(30));
    one.at(20, starts(0), ends(0, 20));
    expect(one.at(25 + NANO, isThere(0))).toEqual(['drop 0 deadline at 1']);
  });
});

describe('StageLocalCore with late answers in the background', () => {
  it('keeps late requests that have the whole SLO, and drops those that have less, by a nanosecond', () => {
    for (const [exact, said] of [
      [0, []],
      [-1, ['drop 1 deadline at 0']],
    ] as const) {
      const one = background(chainOf(100, stage([60])));
      one.at(0, up(0), comes(100));
      // The request would begin at 60 ms and end at 120 ms.
      one.at(1, comes(101, { exact }));
      const given = one.at(41 + NANO, due).filter((words) => !words.startsWith('wake'));
      expect(given).toEqual(said);
      const last = one.at(60, starts(0), ends(0, 60));
      expect(last[1]).toBe(exact === 0 ? 'run 0 on 0: 1' : undefined);
    }
  });

  it('serves them after those that can be in time, in batches of those that were given up first', () => {
    const one = background(chainOf(30, stage([20, 21])), { late: { ...LATE, mostMissed: 1 } });
    one.at(0, up(0), comes(30));
    // These requests are given up a nanosecond after 11, 12 and 13 ms.
    one.at(1, comes(31));
    one.at(2, comes(32));
    one.at(3, comes(33));
    for (const at of [11, 12, 13]) one.at(at + NANO, due);
    one.at(14, comes(44));
    expect(one.at(20, starts(0), ends(0, 20)).slice(0, 2)).toEqual(['answer 0 inTime', 'run 0 on 0: 4']);
    expect(one.at(40, starts(0), ends(0, 20)).slice(0, 2)).toEqual(['answer 4 inTime', 'run 0 on 0: 1 2']);
    expect(one.at(61, starts(0), ends(0, 21)).slice(0, 3)).toEqual([
      'answer 1 late',
      'answer 2 late',
      'run 0 on 0: 3',
    ]);
  });

  it('drops them when their patience has ended, even if no device is free', () => {
    const one = background(chainOf(30, stage([20])), { late: { ...LATE, patience: 1 } });
    one.at(0, up(0), comes(30), comes(30));
    // Alone the request could begin until 10 ms; its patience ends 30 ms after its deadline.
    expect(one.at(10 + NANO, due)).toEqual([`wake ${60 + NANO}`]);
    expect(one.at(60, due)).toEqual([`wake ${60 + NANO}`]);
    expect(one.at(60 + NANO, due)).toEqual(['drop 1 deadline at 0']);
  });

  it('counts each request once as in time or missed', () => {
    // One in four may be missed: the average over 4 is 1/4 after the first miss, and 7/16 after the second.
    const one = background(chainOf(30, stage([20])), { late: { ...LATE, patience: 100 } });
    one.at(0, up(0), comes(30, { rows: 1 }), comes(30, { rows: 3 }));
    // All three rows are given up together, and count as one request.
    expect(one.at(10 + NANO, due)).toEqual([`wake ${30 + 3000 + NANO}`]);
    const waits = one.at(11, comes(41));
    expect(waits).toEqual([`wake ${21 + NANO}`]);
    // The second request that is missed is one too many.
    expect(one.at(21 + NANO, due)[0]).toBe('drop 2 deadline at 0');
  });

  it('counts requests in time and requests turned away, and no late answer twice', () => {
    const one = background(single, { late: { ...LATE, mostMissed: 0.2 } });
    one.at(0, up(0));
    expect(one.core.wouldDrop(0, 0, 100 * MS, 0)).toBe(false);
    for (let i = 0; i < 9; i++) one.core.arrived(0, 0, 100 * MS, 1);
    one.at(0);
    // The tenth request could still be in time. An eleventh would end at 110 ms, and would be answered late.
    const would = () => one.core.wouldDrop(0, 0, 100 * MS, 1);
    expect(would()).toBe(false);
    // One miss by a request turned away makes 1/4, which is more than the allowed fifth.
    one.core.turnedAway(0, 0);
    expect(would()).toBe(true);
    // An answer in time makes it 3/16.
    one.at(10, starts(0), ends(0, 10));
    expect(one.core.wouldDrop(10 * MS, 0, 110 * MS, 9)).toBe(false);
  });

  it('does not keep a request that has no device, and drops it when it cannot be in time', () => {
    const one = background(single);
    one.at(0, comes(100));
    expect(one.at(90 + NANO, due)).toEqual(['drop 0 device-down at 0']);
  });

  it('counts a late answer once, when it was given up', () => {
    const one = background(chainOf(100, stage([60])), { late: { ...LATE, mostMissed: 0.3 } });
    one.at(0, up(0), comes(100), comes(100));
    // The average is 1/4 when the request is given up at 40 ms, 3/16 after an answer in time, and the late answer does
    // not change it.
    one.at(40 + NANO, due);
    one.at(60, starts(0), ends(0, 60));
    expect(one.at(120, starts(0), ends(0, 60))).toEqual(['answer 1 late']);
    // One more miss makes 1/4 + 3/4 · 3/16 = 25/64, which is too many. The second run allows as much: had the late
    // answer counted too, it would drop.
    one.at(120, comes(220), comes(220));
    expect(one.at(160 + NANO, due)[0]).toMatch(/^drop . deadline/);
    const other = background(chainOf(100, stage([60])), { late: { ...LATE, mostMissed: 0.4 } });
    other.at(0, up(0), comes(100), comes(100));
    other.at(40 + NANO, due);
    other.at(60, starts(0), ends(0, 60));
    other.at(120, starts(0), ends(0, 60));
    other.at(120, comes(220), comes(220));
    expect(other.at(160 + NANO, due).filter((words) => words.startsWith('drop'))).toEqual([]);
  });

  it('drops a cancelled task from the background', () => {
    const one = background(chainOf(30, stage([20])));
    one.at(0, up(0), comes(30), comes(30));
    one.at(10 + NANO, due);
    one.at(15, cancels(1));
    expect(one.at(20, starts(0), ends(0, 20))).toEqual(['answer 0 inTime']);
    expect(one.core.inUse).toEqual({ requests: 0, tasks: 0, batches: 0 });
  });

  it('moves the background with the other tasks to another pipeline where its pool is lost', () => {
    const topology = modelOf(
      30,
      { throughputRps: 100, parts: [stage([20, 21])] },
      { throughputRps: 1, parts: [stage([25, 26])] },
    );
    const one = background(topology, { late: { ...LATE, mostMissed: 1 } });
    one.at(0, up(0), comes(30));
    // These two can no longer be in time, which is noticed just after 11 ms.
    one.at(1, comes(31), comes(31));
    one.at(11 + NANO, due);
    one.at(12, up(1));
    // The task that ran is tried alone, and the others wait for the device that is left.
    expect(one.at(13, starts(0), down(0))[0]).toBe('run 0 on 1: 0');
    expect(one.at(38, starts(0), ends(0, 25)).slice(0, 2)).toEqual(['answer 0 late', 'run 0 on 1: 1 2']);
    expect(one.at(64, starts(0), ends(0, 26))).toEqual(['answer 1 late', 'answer 2 late']);
  });

  it('leaves other tasks in their queue when a task of the background is cancelled', () => {
    const one = background(chainOf(30, stage([20])));
    one.at(0, up(0), comes(30), comes(30));
    one.at(10 + NANO, due);
    one.at(15, comes(45));
    one.at(16, cancels(1));
    expect(one.at(20, starts(0), ends(0, 20))).toEqual(['answer 0 inTime', 'run 0 on 0: 2']);
  });

  it('waits for a device to be free by whole nanoseconds', () => {
    const one = reactive(chainOf(30, stage([20])), {
      late: { ...LATE, mostMissed: 1 },
      correction: { kind: 'average', weight: 0.5 },
    });
    one.at(0, up(0), comes(30));
    // The batch takes a nanosecond longer than planned: from now on, half a nanosecond more is expected.
    one.at(20 + NANO, starts(0), ends(0, 20 + NANO));
    expect(one.at(30, comes(60))).toEqual(['run 0 on 0: 0']);
    // The device is free half a nanosecond after 50 ms.
    expect(one.at(30, comes(60))).toEqual([`wake ${50 + NANO}`]);
    expect(one.at(50, due)).toEqual([`wake ${50 + NANO}`]);
  });
});

describe('StageLocalCore.wouldDrop()', () => {
  it('says whether one more request would be late behind those that wait, with the slack kept', () => {
    const busy = (policy: Partial<StageLocalPolicy> = {}) => {
      const one = plain(single, policy);
      one.at(0, up(0), comes(100), comes(100));
      return one.core;
    };
    // The device is busy until 10 ms, and then until 20 ms.
    expect(busy().wouldDrop(0, 0, 30 * MS, 0)).toBe(false);
    expect(busy().wouldDrop(0, 0, 30 * MS - 1, 0)).toBe(true);
    expect(busy({ slackNs: 2 }).wouldDrop(0, 0, 30 * MS + 1, 0)).toBe(true);
    expect(busy({ slackNs: 2 }).wouldDrop(0, 0, 30 * MS + 2, 0)).toBe(false);
    expect(busy({ drop: { kind: 'never' } }).wouldDrop(0, 0, 0, 9)).toBe(false);
  });

  it('asks about the model with which the gear in force begins', () => {
    const last = { toRps: 1000, steps: [{ model: 1 }] };
    const plan = gearPlan({
      latencyUs: [[10_000], [10_000]],
      held: [[0], [1]],
      gears: [{ toRps: 10, steps: [{ model: 0 }] }, last],
    });
    const topology = planTopologyOf(plan, { transfers: 'none' });
    const policy = { ...GEAR_POLICY, drop: { kind: 'hopeless' } } as const;
    const one = new Told((decisions) => new StageLocalCore(topology, decisions, policy));
    // The first request is served by m0. Two are more than its gear is for, and the others come to m1.
    one.at(0, up(0, 1), comes(1000), comes(1000), comes(1000));
    expect(one.core.wouldDrop(0, 0, 30 * MS, 0)).toBe(false);
    expect(one.core.wouldDrop(0, 0, 30 * MS - 1, 0)).toBe(true);
  });

  it('drops, with a background, only requests that have less than the SLO', () => {
    const one = background(single);
    one.at(0, up(0), ...Array.from({ length: 20 }, () => comes(1000)));
    expect(one.core.wouldDrop(0, 0, 100 * MS, 0)).toBe(false);
    expect(one.core.wouldDrop(0, 0, 100 * MS - 1, 0)).toBe(true);
  });

  it('takes account of a request that has left', () => {
    const one = plain(single);
    one.at(0, up(0), comes(100), comes(100));
    expect(one.core.wouldDrop(0, 0, 29 * MS, 0)).toBe(true);
    one.core.cancelled(0, 1);
    expect(one.core.wouldDrop(0, 0, 20 * MS, 0)).toBe(false);
    expect(one.core.wouldDrop(0, 0, 20 * MS - 1, 0)).toBe(true);
  });

  it('takes account of a request that comes before others', () => {
    const one = plain(single);
    one.at(0, up(0), comes(100), comes(100));
    expect(one.core.wouldDrop(0, 0, 30 * MS, 0)).toBe(false);
    // Its deadline is earlier, so it stands before the one that waits.
    one.core.arrived(0, 0, 25 * MS, 1);
    expect(one.core.wouldDrop(0, 0, 40 * MS - 1, 0)).toBe(true);
    expect(one.core.wouldDrop(0, 0, 40 * MS, 0)).toBe(false);
  });
});

describe('StageLocalCore', () => {
  it('learns from executions and transfers how long they take', () => {
    const one = new Told(
      (decisions) =>
        new StageLocalCore(
          chainOf(100, stage([10], { transferBytes: 5 * BYTES_PER_MS }), stage([6])),
          decisions,
          {
            ...PLAIN,
            correction: { kind: 'steps', weight: 1, deviations: 0 },
          },
        ),
    );
    one.at(0, up(0, 1), comes(99));
    expect(one.at(0, comes(99))).toEqual([`wake ${99 - 21 + NANO}`]);
    // The execution takes 12 ms in place of 10 ms.
    one.at(12, starts(0), ends(0, 12));
    one.at(12, cancels(1), due);
    expect(one.at(13, comes(113, { rows: 2 })).at(-1)).toBe(`wake ${113 - 23 + NANO}`);
    // The transfer takes 8 ms in place of 5 ms.
    one.at(20, isThere(0, 8));
    expect(one.at(21, comes(121), due).at(-1)).toBe(`wake ${113 - 26 + NANO}`);
  });
});

describe('StageLocalCore when devices are lost', () => {
  it('tries a batch that ran again, and ignores a second report of the loss', () => {
    const one = plain(chainOf(100, stage([10, 14], { virtualGpus: 2 })));
    one.at(0, up(0, 1), comes(98), comes(99));
    expect(one.at(3, starts(0), down(0))).toEqual(['run 0 on 1: 0', `wake ${89 + NANO}`]);
    expect(one.at(3, down(0))).toEqual([]);
    expect(one.at(13, starts(0), ends(0, 10))).toEqual(['answer 0 inTime', 'run 0 on 1: 1']);
  });

  it('begins again in another pipeline what stood before a lost pool, in order', () => {
    const topology = modelOf(
      100,
      { throughputRps: 100, parts: [stage([10]), stage([10])] },
      { throughputRps: 1, parts: [stage([20])] },
    );
    const one = plain(topology);
    one.at(0, up(0, 1, 2), comes(98), comes(97), comes(96));
    // Task 2, the most urgent, runs on device 0. Tasks 1 and 0 begin again in the other pipeline, in order.
    const said = one.at(5, starts(0), down(1));
    expect(said[0]).toBe('run 1 on 2: 1');
    expect(one.at(25, starts(1), ends(1, 20))).toEqual(
      ['answer 1 inTime', 'run 1 on 2: 0', expect.anything()].slice(0, 2),
    );
  });

  it('serves again when a pool comes back that no task waited for', () => {
    const one = plain(chainOf(100, stage([10, 14])));
    one.at(0, up(0));
    one.at(1, down(0));
    one.at(2, up(0));
    expect(one.at(3, comes(99), comes(99))).toEqual(['run 0 on 0: 0 1']);
  });

  it('counts as tried the tasks that ran, and not those that waited on the device', () => {
    const one = reactive(single, { mostTries: 1, correction: { kind: 'none' } });
    expect(one.at(0, up(0), comes(50), comes(50))).toEqual(['run 0 on 0: 0', 'run 1 on 0: 1']);
    expect(one.at(5, starts(0), down(0))).toEqual(['drop 0 device-down at 0', `drop 1 device-down at -1`]);
    const two = reactive(chainOf(100, stage([10], { virtualGpus: 2 })), {
      mostTries: 1,
      correction: { kind: 'none' },
    });
    two.at(0, up(0, 1), comes(50), comes(50), comes(50), comes(50));
    // The third task waited behind the first.
    expect(two.at(5, starts(0), starts(1), down(0))).toEqual(['drop 0 device-down at 0', 'run 2 on 1: 2']);
  });
});

describe('StageLocalCore, when several things happen at one instant,', () => {
  /** Two devices that send over uplinks 0 and 1 to a third. */
  const twoSenders = () =>
    chainOf(1000, stage([10], { virtualGpus: 2, transferBytes: BYTES_PER_MS }), stage([10, 11]));
  const byPlace = (instant: StageLocalPolicy['instant']) => {
    const one = plain(twoSenders(), { instant, order: { kind: 'fifo' } });
    one.at(0, up(0, 1, 2), comes(900), comes(900));
    return one;
  };

  it('sends batches on in the order of events, or in the order of devices', () => {
    expect(byPlace('told').at(10, starts(0), starts(1), ends(1, 10), ends(0, 10))).toEqual([
      'move 1 from 1 to -1: 1',
      'move 0 from 0 to -1: 0',
    ]);
    expect(byPlace('by-place').at(10, starts(0), starts(1), ends(1, 10), ends(0, 10))).toEqual([
      'move 0 from 0 to -1: 0',
      'move 1 from 1 to -1: 1',
    ]);
  });

  it('takes in delivered batches together, or one by one in the order of uplinks', () => {
    for (const [instant, said] of [
      ['told', ['run 1 on 2: 1 0']],
      ['by-place', ['run 0 on 2: 0']],
    ] as const) {
      const one = byPlace(instant);
      one.at(10, starts(0), starts(1), ends(0, 10), ends(1, 10));
      const words = one.at(11, isThere(1, 1), isThere(0, 1)).filter((word) => word.startsWith('run'));
      expect(words.map((word) => word.replace(/run \d/, 'run'))).toEqual(
        said.map((word) => word.replace(/run \d/, 'run')),
      );
      // No batch is taken in twice.
      expect(one.at(12).filter((word) => !word.startsWith('wake'))).toEqual([]);
    }
  });
});

describe('StageLocalCore', () => {
  const AVERAGE = { kind: 'average', weight: 0.5 } as const;

  /** The SLO is 30 ms. An execution planned to take 10 ms has taken 90 ms, so that 50 ms are expected. */
  const slowed = (sloMs = 30) => {
    const one = plain(chainOf(sloMs, stage([10])), { correction: AVERAGE });
    one.at(0, up(0), comes(sloMs));
    one.at(90, starts(0), ends(0, 90));
    return one;
  };

  it('gives a pool another chance once the expected time has kept it idle for an SLO, to the nanosecond', () => {
    const before = slowed();
    expect(before.at(120 - NANO, comes(150))).toEqual(['drop 0 deadline at 0']);
    // Nothing has changed: 1 + 0.5 · 8 times 10 ms are expected.
    expect(before.at(120 - NANO, comes(160))).toEqual(['drop 0 deadline at 0']);
    expect(before.at(120 - NANO, comes(170))).toEqual(['run 0 on 0: 0']);
    const one = slowed();
    expect(one.at(120, comes(150))).toEqual(['drop 0 deadline at 0']);
    // From now on 5 − 0.5 · 4 = 3 times 10 ms are expected.
    expect(one.at(120, comes(150))).toEqual(['run 0 on 0: 0']);
  });

  it('gives a pool no other chance for a request that would be late by the plan too, by a nanosecond', () => {
    const late = slowed();
    expect(late.at(120, comes(130, { exact: -1 }))).toEqual(['drop 0 deadline at 0']);
    expect(late.at(120, comes(150))).toEqual(['drop 0 deadline at 0']);
    const one = slowed();
    expect(one.at(120, comes(130))).toEqual(['drop 0 deadline at 0']);
    expect(one.at(120, comes(150))).toEqual(['run 0 on 0: 0']);
  });

  it('gives a pool no other chance where load makes the request late', () => {
    const policy = {
      formation: { kind: 'eager' },
      drop: { kind: 'nearly-full', share: 0, spares: 'all-waited' },
    } as const;
    const one = reactive(chainOf(30, stage([10])), {
      ...policy,
      correction: { kind: 'steps', weight: 0.5, deviations: 0 },
    });
    one.at(0, up(0), comes(300), comes(300), comes(300));
    one.at(20, starts(0), ends(0, 20));
    one.at(20, starts(1));
    // Each batch is expected to take 15 ms. The last was handed over at 0 ms, an SLO ago, but this request is late
    // because of load.
    expect(one.at(30, comes(50))).toEqual(['drop 0 deadline at -1']);
    one.at(35, ends(1, 15));
    one.at(35, starts(2));
    one.at(50, ends(2, 15));
    expect(one.at(50, comes(65, { exact: -1 }))).toEqual([expect.stringMatching(/^drop/)]);
    expect(one.at(50, comes(65))).toEqual([expect.stringMatching(/^run/)]);
  });
});

describe('StageLocalCore', () => {
  it('fails a request that was alone in its batch, and tries those of a larger batch alone', () => {
    const one = plain(chainOf(100, stage([10, 14])), { mostTries: 9 });
    one.at(0, up(0), comes(98), comes(99));
    expect(one.at(4, starts(0), fails(0))).toEqual(['run 0 on 0: 0', `wake ${89 + NANO}`]);
    expect(one.at(6, starts(0), fails(0))).toEqual(['answer 0 failed', 'run 0 on 0: 1']);
  });
});
