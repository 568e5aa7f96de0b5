import { describe, expect, it } from 'vitest';
import { NONE } from '../../../src/collections/index.js';
import { topologyOf } from '../../../src/plans/pooled/topology.js';
import type { Booking } from '../../../src/serving/reservation/booking.js';
import { Dispatcher } from '../../../src/serving/reservation/dispatcher.js';
import { RESERVATION_POLICY, type ReservationPolicy } from '../../../src/serving/reservation/policy.js';
import { Durations } from '../../../src/serving/state/index.js';
import { MS, stage } from '../by-hand.js';
import { type PipelineShape, planOf } from '../plans.js';

/**
 * A booking that is told what to find: how many milliseconds a batch waits in each pipeline, `undefined` where the
 * pipeline has no devices.
 */
class Told implements Booking {
  readonly kept = 0;
  readonly waitMs: (number | undefined)[] = [];
  /** The times in milliseconds that `freeFrom` answers, by pipeline. */
  readonly freeMs: number[] = [];
  /** The calls: `pipeline/size` for a probe, and `from pipeline/size` for freeFrom. */
  readonly asked: string[] = [];

  constructor(private readonly durations: Durations) {}

  probe(path: Dispatcher['path'], entry: number, size: number, from: number, at: number): boolean {
    if (from !== 0) throw new Error('a dispatcher asks for the whole way');
    this.asked.push(`${entry}/${size}`);
    const wait = this.waitMs[entry];
    if (wait === undefined) return false;
    path.stages = 1;
    path.waitNs = wait * MS;
    path.endAt[0] = at + wait * MS + this.durations.executionNs(entry, size);
    return true;
  }

  freeFrom(entry: number, size: number): number {
    this.asked.push(`from ${entry}/${size}`);
    return (this.freeMs[entry] ?? 0) * MS;
  }

  reserve(): void {}
  deviceUp(): void {}
  deviceDown(): void {}
}

function dispatcher(pipelines: PipelineShape[], policy: Partial<ReservationPolicy> = {}, sloMs = 100) {
  const topology = topologyOf(planOf([{ sloMs, pipelines }]));
  const durations = new Durations(topology, { kind: 'none' });
  const booking = new Told(durations);
  for (const entry of pipelines.keys()) booking.waitMs[entry] = 0;
  const chosen = new Dispatcher({ topology, durations }, { ...RESERVATION_POLICY, ...policy }, booking);
  const offer = (
    deadlineMs: number,
    { at = 0, firstSight = true, most = Number.POSITIVE_INFINITY, exact = 0 } = {},
  ) => chosen.offer(at * MS, 0, deadlineMs * MS + exact, firstSight, most);
  /** The calls since this was last asked. */
  const asked = () => booking.asked.splice(0);
  return { chosen, booking, offer, asked };
}

const FOUR = { throughputRps: 100, parts: [stage([10, 14, 18, 22])] };
const single = (ms: number, throughputRps = 100): PipelineShape => ({ throughputRps, parts: [stage([ms])] });
const pair = (throughputRps = 100): PipelineShape => ({ throughputRps, parts: [stage([10, 14])] });

describe('Dispatcher.offer() of one pipeline', () => {
  it('gives the largest batch that ends by the deadline, to the nanosecond', () => {
    const { offer, booking, chosen } = dispatcher([FOUR], { firstSight: { kind: 'never' } });
    booking.waitMs[0] = 5;
    for (const [size, endMs] of [
      [4, 27],
      [3, 23],
      [2, 19],
      [1, 15],
    ] as const) {
      expect(offer(endMs)).toBe(size);
      expect([chosen.entry, chosen.path.finish]).toEqual([0, endMs * MS]);
      expect(offer(endMs, { exact: -1 })).toBe(size - 1);
    }
  });

  it('gives 0 where no way exists, after probing every size', () => {
    const { offer, booking, asked } = dispatcher([FOUR], { firstSight: { kind: 'never' } });
    booking.waitMs[0] = undefined;
    expect(offer(1000)).toBe(0);
    expect(asked()).toEqual(['0/4', '0/3', '0/2', '0/1']);
  });

  it('probes down to one task for a request that was seen before, or that no queue keeps from a full batch', () => {
    const { offer, booking, asked } = dispatcher([FOUR], { firstSight: { kind: 'queueing', share: 1 } });
    booking.waitMs[0] = 1;
    for (const [firstSight, at] of [
      [false, 0],
      [true, 5],
    ] as const) {
      expect(offer(at + 11, { at, firstSight })).toBe(1);
      expect(offer(at + 11, { at, firstSight, exact: -1 })).toBe(0);
      expect(asked()).toEqual(['0/4', '0/3', '0/2', '0/1', '0/4', '0/3', '0/2', '0/1']);
    }
  });

  it('gives no more tasks than the caller wants', () => {
    const { offer, asked } = dispatcher([FOUR]);
    expect(offer(100, { most: 2 })).toBe(2);
    expect(offer(100, { most: 9 })).toBe(4);
    expect(asked()).toEqual(['0/2', '0/4']);
  });

  it('gives at first sight no batch below the share of the planned one, rounded and at least 1', () => {
    for (const [share, least] of [
      [0, 1],
      [0.1, 1],
      [0.37, 1],
      [0.4, 2],
      [0.6, 2],
      [0.63, 3],
      [1, 4],
    ] as const) {
      const { offer, asked } = dispatcher([FOUR], { firstSight: { kind: 'nearly-full', share } });
      expect(offer(9)).toBe(0);
      expect(asked()).toEqual(['0/4', '0/3', '0/2', '0/1'].slice(0, 5 - least));
      // At a later sight any size will do.
      expect(offer(10, { firstSight: false })).toBe(1);
    }
  });

  it('gives a smaller batch under "queueing" where a nearly full one would be late even without waiting', () => {
    const { offer, booking } = dispatcher([FOUR], { firstSight: { kind: 'queueing', share: 1 } });
    booking.waitMs[0] = 1;
    // A full batch takes 22 ms.
    expect(offer(22)).toBe(0);
    expect(offer(22, { exact: -1 })).toBe(3);
    expect(offer(29, { at: 7 })).toBe(0);
    expect(offer(29, { at: 7, exact: -1 })).toBe(3);
  });

  it('probes each size once at an instant, unless the answer has become stale', () => {
    const { offer, chosen, asked } = dispatcher([FOUR], { firstSight: { kind: 'never' } });
    offer(100);
    offer(50);
    expect(asked()).toEqual(['0/4']);
    expect(chosen.probes).toBe(1);
    offer(18);
    offer(18, { most: 3 });
    expect(asked()).toEqual(['0/3']);
    offer(100, { at: 1 });
    chosen.stale();
    offer(100, { at: 1 });
    chosen.dispatched(0, 0, 1);
    offer(100, { at: 1 });
    expect(asked()).toEqual(['0/4', '0/4', '0/4']);
    expect(chosen.probes).toBe(5);
    // This holds at any time.
    for (const at of [0, 1e-6]) {
      offer(100, { at });
      asked();
      chosen.stale();
      offer(100, { at });
      expect(asked()).toEqual(['0/4']);
    }
  });

  it('probes at time 0 too', () => {
    const { offer, booking, asked } = dispatcher([FOUR]);
    booking.waitMs[0] = undefined;
    expect(offer(100, { most: 1, firstSight: false })).toBe(0);
    expect(asked()).toEqual(['0/1']);
  });
});

describe('Dispatcher.planned', () => {
  it('is the smallest batch of the stages of each pipeline, and mostPlanned the largest of these', () => {
    const shapes = [
      { throughputRps: 1, parts: [stage([1, 2, 3, 4]), stage([1, 2])] },
      { throughputRps: 1, parts: [stage([1, 2, 3])] },
    ];
    const { chosen } = dispatcher(shapes);
    expect([chosen.planned[0], chosen.planned[2], chosen.mostPlanned]).toEqual([2, 3, 3]);
    expect(dispatcher([single(1)]).chosen.mostPlanned).toBe(1);
  });
});

describe('Dispatcher.offer() under least-waiting', () => {
  it('takes the pipeline whose full batch waits least, and the first of several', () => {
    const { offer, booking, chosen } = dispatcher([pair(), pair(), pair()], { review: 'every-arrival' });
    booking.waitMs.splice(0, 3, 7, 5, 6);
    expect([offer(100), chosen.entry]).toEqual([2, 1]);
    booking.waitMs.splice(0, 3, 6, 5, 5);
    expect([offer(100, { at: 1 }), chosen.entry]).toEqual([2, 1]);
    booking.waitMs.splice(0, 3, 5, 5, 5);
    expect([offer(100, { at: 2 }), chosen.entry]).toEqual([2, 0]);
  });

  it('probes every pipeline under "every-arrival", and under "when-due" only pipelines that changed', () => {
    const always = dispatcher([pair(), pair()], { review: 'every-arrival' });
    always.offer(100);
    always.offer(100, { at: 1 });
    // Pipeline 0 is chosen and probed once more: the probe of pipeline 1 has replaced its path.
    expect(always.asked()).toEqual(['0/2', '1/2', '0/2', '0/2', '1/2', '0/2']);
    const { offer, asked, chosen } = dispatcher([pair(), pair()]);
    offer(100);
    expect(asked()).toEqual(['from 0/2', 'from 1/2', '0/2']);
    offer(100, { at: 1 });
    expect(asked()).toEqual(['0/2']);
    chosen.dispatched(0, 1, 1);
    offer(100, { at: 2 });
    expect(asked()).toEqual(['from 1/2', '0/2']);
    chosen.devicesChanged();
    offer(100, { at: 3 });
    expect(asked()).toEqual(['from 0/2', 'from 1/2', '0/2']);
  });

  it('remembers when the last full batch of each pipeline could begin, and since when its devices are free', () => {
    const { offer, booking, chosen } = dispatcher([pair(), pair()]);
    booking.freeMs.splice(0, 2, 8, 9);
    booking.waitMs.splice(0, 2, 20, 9);
    expect([offer(100), chosen.entry]).toEqual([2, 0]);
    // Pipeline 0 was found to begin at 20 ms; pipeline 1 is expected to begin at 9 ms.
    expect([offer(100, { at: 1 }), chosen.entry]).toEqual([2, 1]);
    // Pipeline 1 would have begun at 10 ms; after another batch it is free at 30 ms.
    booking.freeMs[1] = 30;
    chosen.dispatched(0, 1, 2);
    expect([offer(100, { at: 2 }), chosen.entry]).toEqual([2, 0]);
    // Pipeline 0 was found to wait for 20 ms at 2 ms. An earlier `freeFrom` does not bring that forward, unless devices
    // have changed.
    booking.freeMs.splice(0, 2, 3, 21);
    chosen.dispatched(0, 0, 2);
    chosen.dispatched(0, 1, 2);
    expect([offer(100, { at: 2 }), chosen.entry]).toEqual([2, 0]);
    chosen.devicesChanged();
    booking.freeMs.splice(0, 2, 9, 8);
    expect([offer(100, { at: 2 }), chosen.entry]).toEqual([2, 1]);
  });

  it('counts no wait where devices are free by now, so that the first such pipeline is taken', () => {
    const { offer, booking, chosen } = dispatcher([pair(), pair()]);
    booking.freeMs.splice(0, 2, 6, 5);
    expect([offer(100, { at: 6 }), chosen.entry]).toEqual([2, 0]);
  });

  it('distinguishes a wait of a nanosecond from none', () => {
    const { offer, booking, chosen } = dispatcher([pair(), pair()]);
    booking.freeMs.splice(0, 2, 1e-6, 0);
    expect([offer(100), chosen.entry]).toEqual([2, 1]);
    chosen.devicesChanged();
    expect([offer(100), chosen.entry]).toEqual([2, 1]);
  });

  it('remembers when a batch could begin only for full batches', () => {
    const { offer, booking, chosen } = dispatcher([pair(), pair()]);
    booking.waitMs.splice(0, 2, 20, 20);
    booking.freeMs.splice(0, 2, 0, 5);
    expect([offer(100, { most: 1 }), chosen.entry]).toEqual([1, 0]);
    expect([offer(100, { at: 1, most: 1 }), chosen.entry]).toEqual([1, 0]);
    expect([offer(100, { at: 2 }), chosen.entry]).toEqual([2, 0]);
    expect([offer(100, { at: 3 }), chosen.entry]).toEqual([2, 1]);
  });

  it('skips pipelines without a way, and gives none where no pipeline has one', () => {
    const { offer, booking, chosen, asked } = dispatcher([pair(), pair()], { review: 'every-arrival' });
    booking.waitMs.splice(0, 2, undefined, 50);
    expect([offer(100), chosen.entry]).toEqual([2, 1]);
    asked();
    booking.waitMs[1] = undefined;
    expect([offer(100, { at: 1 }), chosen.entry]).toEqual([0, NONE]);
    // There is no other pipeline to probe.
    expect(asked()).toEqual(['0/2', '1/2']);
  });

  it('counts an SLO of extra wait for a pipeline of batch 1 in which the request would be late', () => {
    const shapes = [single(10), { throughputRps: 100, parts: [stage([20, 21])] }];
    const policy = { review: 'every-arrival', firstSight: { kind: 'never' }, askOthers: false } as const;
    const { offer, booking, chosen } = dispatcher(shapes, policy, 30);
    booking.waitMs.splice(0, 2, 5, 6);
    // The request would end at 15 ms in pipeline 0.
    expect([offer(15), chosen.entry]).toEqual([1, 0]);
    expect([offer(15, { exact: -1 }), chosen.entry]).toEqual([0, 1]);
    // With a nanosecond less, pipeline 0 counts as waiting for 35 ms, and is still the first of two that wait equally
    // long.
    booking.waitMs[1] = 35;
    chosen.stale();
    expect([offer(15, { exact: -1 }), chosen.entry]).toEqual([0, 0]);
    booking.waitMs[1] = 34;
    chosen.stale();
    expect([offer(15, { exact: -1 }), chosen.entry]).toEqual([0, 1]);
    // Pipelines of larger batches get no extra wait, and under "as-others" none does.
    const larger = dispatcher([pair(), single(10)], policy, 30);
    larger.booking.waitMs.splice(0, 2, 5, 6);
    expect([larger.offer(14), larger.chosen.entry]).toEqual([0, 0]);
    const others = dispatcher(shapes, { ...policy, lateSingles: 'as-others' }, 30);
    others.booking.waitMs.splice(0, 2, 5, 6);
    expect([others.offer(15, { exact: -1 }), others.chosen.entry]).toEqual([0, 0]);
  });

  it('takes the only pipeline of a model without asking for its wait', () => {
    const { offer, asked } = dispatcher([pair()], { review: 'every-arrival' });
    offer(100);
    expect(asked()).toEqual(['0/2']);
  });
});

describe('Dispatcher.offer() where the pipeline that waits least is too slow', () => {
  /** Pipeline 0 waits least but is never in time, so that each request goes to one of the others. */
  const SLOW: PipelineShape = { throughputRps: 0, parts: [stage([1e8, 1e8])] };
  const others = (...pipelines: PipelineShape[]) => dispatcher([SLOW, ...pipelines]);

  /** Dispatches batches of one size, and lists the pipelines that they go to. */
  const run = ({ chosen, offer }: ReturnType<typeof dispatcher>, batches: number, size: number) =>
    Array.from({ length: batches }, (_, i) => {
      offer(1000, { at: i, most: size });
      chosen.dispatched(0, chosen.entry, size);
      return chosen.entry;
    });

  it('takes the pipeline furthest behind its planned share, and the first of several', () => {
    // The shares are 1/2, 1/4 and 1/4, and batches have two tasks. After each batch the pipelines are behind by −1 ½ ½
    // | 0 −1 1 | 1 −½ −½ | 0 0 0, and so on.
    const shares = others(pair(200), pair(100), pair(100));
    expect(run(shares, 8, 2)).toEqual([1, 2, 3, 1, 1, 2, 3, 1]);
  });

  it('counts tasks, not batches', () => {
    const { chosen, offer } = others(pair(100), pair(100));
    offer(1000);
    chosen.dispatched(0, 1, 1);
    chosen.dispatched(0, 2, 2);
    // Each pipeline is due 1.5 of the three tasks; they got one and two.
    offer(1000, { at: 1 });
    expect(chosen.entry).toBe(1);
  });

  it('makes a pipeline catch up on no more than 64 full batches', () => {
    const { chosen, offer } = others(pair(100), pair(300));
    // A quarter of 2004 tasks would be 501, but pipeline 1 is held to be behind by 64 batches of 2. Pipeline 2 is ahead
    // by 501.
    for (let i = 0; i < 1002; i++) chosen.dispatched(0, 2, 2);
    let caughtUp = 0;
    for (let at = 0; ; at++) {
      offer(1e6, { at });
      if (chosen.entry !== 1) break;
      chosen.dispatched(0, 1, 2);
      caughtUp += 1;
    }
    // After k batches of its own, the first of which takes 2 off the 128, pipeline 1 is behind by 126 − 1.5 (k − 1),
    // and pipeline 2 by −501 + 1.5 k. The latter is greater from k = 210 on.
    expect(caughtUp).toBe(210);
  });

  it('takes the pipeline furthest behind among those that have a way in time', () => {
    const { chosen, offer, booking, asked } = others(pair(100), pair(200), pair(300));
    booking.waitMs.splice(1, 3, 500, 0, 0);
    // All are equally far behind. Pipeline 1 is late, so pipeline 2, the first of the rest, is taken.
    expect([offer(50), chosen.entry]).toEqual([2, 2]);
    expect([chosen.path.finish, asked().at(-1)]).toEqual([14 * MS, '2/2']);
    chosen.dispatched(0, 1, 0.001);
    chosen.dispatched(0, 2, 1);
    // Now pipeline 3 is the furthest behind, but it is late; pipeline 2 is ahead of its share.
    booking.waitMs.splice(1, 3, 0, 0, 500);
    expect([offer(50, { at: 1 }), chosen.entry]).toEqual([2, 1]);
  });

  it('takes the pipeline further behind, whatever their order', () => {
    const { chosen, offer, booking } = others(pair(100), pair(200), pair(300));
    chosen.dispatched(0, 1, 6);
    chosen.dispatched(0, 2, 1);
    // Of the 7 tasks, the pipelines are behind by 7/6 − 6, 7/3 − 1 and 7/2.
    booking.waitMs.splice(1, 3, 0, 0, 500);
    expect([offer(50), chosen.entry]).toEqual([2, 2]);
    booking.waitMs.splice(1, 3, 0, 500, 500);
    expect([offer(50, { at: 1 }), chosen.entry]).toEqual([2, 1]);
    booking.waitMs.splice(1, 3, 500, 500, 500);
    expect([offer(50, { at: 2 }), chosen.entry]).toEqual([0, 0]);
  });

  it('takes the first of equal pipelines of batch 1 too', () => {
    const { chosen, offer, booking } = others(single(10), single(10), single(10));
    booking.waitMs.splice(1, 3, 500, 3, 7);
    expect([offer(50), chosen.entry, chosen.path.finish]).toEqual([1, 2, 13 * MS]);
  });

  it('tries no other pipeline where `askOthers` is false', () => {
    const { chosen, offer, asked } = dispatcher([SLOW, pair()], { askOthers: false });
    expect([offer(50), chosen.entry]).toEqual([0, 0]);
    const probed = asked().filter((what) => !what.startsWith('from'));
    expect(probed.map((probe) => probe.split('/')[0])).toEqual(['0', '0']);
  });

  it('holds nothing against the only pipeline of a model', () => {
    const { chosen, offer } = dispatcher([pair()]);
    chosen.dispatched(0, 0, 100);
    expect([offer(50), chosen.entry]).toEqual([2, 0]);
  });
});

describe('Dispatcher.offer() of a model without pipelines', () => {
  it('gives no batch', () => {
    const topology = topologyOf(
      planOf([
        { sloMs: 100, pipelines: [pair()] },
        { sloMs: 100, pipelines: [] },
      ]),
    );
    const durations = new Durations(topology, { kind: 'none' });
    const chosen = new Dispatcher({ topology, durations }, RESERVATION_POLICY, new Told(durations));
    expect([chosen.offer(0, 1, 100 * MS, true, 9), chosen.entry]).toEqual([0, NONE]);
  });
});
