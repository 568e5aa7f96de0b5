import { describe, expect, it } from 'vitest';
import { NONE } from '../../../src/collections/index.js';
import { topologyOf } from '../../../src/plans/pooled/topology.js';
import { Decision, Decisions } from '../../../src/serving/decisions.js';
import { GapBooking } from '../../../src/serving/reservation/gap-booking.js';
import { Journeys, Leg, Path } from '../../../src/serving/reservation/path.js';
import { ReservedForwarding } from '../../../src/serving/reservation/reserved-forwarding.js';
import { Durations, OpenBatches } from '../../../src/serving/state/index.js';
import { BYTES_PER_MS, MS, stage } from '../by-hand.js';
import { type PartShape, planOf } from '../plans.js';

const SENDS = { transferBytes: BYTES_PER_MS };

/**
 * A forwarding over one pipeline. Times are in milliseconds. A row takes one to send where a stage SENDS. Devices are
 * on the servers named, or each on its own.
 */
function forwardingOf(parts: PartShape[], { servers, up }: { servers?: string; up?: number[] } = {}) {
  const plan = planOf([{ sloMs: 1000, pipelines: [{ throughputRps: 1, parts }] }], 1);
  if (servers !== undefined)
    plan.placement.forEach((place, i) => {
      place.server = servers[i] as string;
    });
  const topology = topologyOf(plan);
  const decisions = new Decisions();
  const batches = new OpenBatches(8);
  const journeys = new Journeys(parts.length);
  const durations = new Durations(topology, { kind: 'none' });
  const booking = new GapBooking(topology, durations);
  const unwanted = new Set<number>();
  const isWanted = (batch: number) => !unwanted.has(batch);
  const forwarding = new ReservedForwarding(
    { topology, decisions, batches, journeys, durations, isWanted },
    booking,
  );
  const deviceUp = (device: number) => {
    booking.deviceUp(device);
    forwarding.deviceUp(device);
  };
  for (const device of up ?? topology.devices.keys()) deviceUp(device);

  /** The decisions since this was last asked. */
  const said = () => {
    const all = Array.from({ length: decisions.count }, (_, i) => {
      const [a, b, c] = [decisions.a(i), decisions.b(i), decisions.c(i)];
      return decisions.kind(i) === Decision.execute ? `${a} on ${b}` : `${a} from ${b} to ${c}`;
    });
    decisions.clear();
    return all;
  };
  const decide = (at: number) => {
    forwarding.decide(at * MS);
    return said();
  };
  /** Reserves the way of a batch that is ready at this time, and sends the batch on it. */
  const dispatch = (at: number, size = 1) => {
    const path = new Path(parts.length);
    if (!booking.probe(path, 0, size, 0, at * MS)) throw new Error('there is no way');
    const batch = batches.open(0, path.device[0]!);
    for (let i = 0; i < size; i++) batches.add(batch, i);
    booking.reserve(path, 0, size, 0, journeys.step(batch, 0));
    journeys.begin(batch, 0, path);
    forwarding.begin(batch);
    return batch;
  };
  const executed = (at: number, batch: number) => {
    const last = batches.pool(batch) === parts.length - 1;
    forwarding.executed(at * MS, batch, last);
    if (last) batches.close(batch);
  };
  const transferred = (at: number, batch: number) => forwarding.transferred(at * MS, batch);
  /** The batch and the times of every reservation of a device or link. */
  const row = (resource: number) =>
    Array.from({ length: booking.table.count(resource) }, (_, i) => [
      journeys.batchOf(booking.table.owner(resource, i)),
      booking.table.start(resource, i) / MS,
      booking.table.end(resource, i) / MS,
    ]);
  const uplink = (device: number) => row(booking.uplink(device));
  const downlink = (device: number) => row(booking.downlink(device));
  const deviceDown = (at: number, device: number) => {
    booking.deviceDown(device);
    return forwarding.deviceDown(at * MS, device);
  };
  return {
    booking,
    batches,
    journeys,
    forwarding,
    unwanted,
    row,
    uplink,
    downlink,
    said,
    decide,
    dispatch,
    executed,
    transferred,
    deviceUp,
    deviceDown,
  };
}

const single = (more: Partial<PartShape> = {}) => [stage([10, 14], more)];
/** Two devices execute a row in 10 ms and send it in 1 ms to one of two further devices, where it takes 6 ms. */
const twoStages = () => [stage([10, 14], { ...SENDS, virtualGpus: 2 }), stage([6, 8], { virtualGpus: 2 })];

describe('ReservedForwarding on one device', () => {
  it('begins a batch when the core decides, and the next one when that batch has executed', () => {
    const { dispatch, decide, executed, row, said } = forwardingOf(single());
    const [first, second] = [dispatch(0), dispatch(0)];
    expect(said()).toEqual([]);
    expect(decide(0)).toEqual([`${first} on 0`]);
    expect(decide(5)).toEqual([]);
    executed(10, first);
    expect(said()).toEqual([]);
    expect(row(0)).toEqual([[second, 10, 20]]);
    expect(decide(10)).toEqual([`${second} on 0`]);
    executed(20, second);
    expect(row(0)).toEqual([]);
    expect(decide(20)).toEqual([]);
  });

  it('begins no further batch on a busy device', () => {
    const { dispatch, decide, executed } = forwardingOf(single());
    const first = dispatch(0);
    decide(0);
    const second = dispatch(5);
    expect(decide(5)).toEqual([]);
    executed(12, first);
    expect(decide(12)).toEqual([`${second} on 0`]);
  });

  it('begins batches on every device independently', () => {
    const { dispatch, decide, executed } = forwardingOf(single({ virtualGpus: 2 }));
    const batches = [dispatch(0), dispatch(0), dispatch(0)];
    expect(decide(0)).toEqual([`${batches[0]} on 0`, `${batches[1]} on 1`]);
    executed(9, batches[1]!);
    expect(decide(9)).toEqual([]);
    executed(10, batches[0]!);
    expect(decide(10)).toEqual([`${batches[2]} on 0`]);
  });

  it('moves later batches forward when one ends sooner, and back when it ends later', () => {
    const { dispatch, decide, executed, row } = forwardingOf(single());
    const [first, second, third] = [dispatch(0), dispatch(0, 2), dispatch(0)];
    decide(0);
    executed(7, first);
    expect(row(0)).toEqual([
      [second, 7, 21],
      [third, 21, 31],
    ]);
    decide(7);
    executed(25, second);
    expect(row(0)).toEqual([[third, 25, 35]]);
  });

  it('does not move later reservations forward when a batch ends on time', () => {
    const { dispatch, decide, executed, row, booking } = forwardingOf(single());
    const [first, second] = [dispatch(0), dispatch(0)];
    // The second batch could come sooner, but nothing moves it forward.
    booking.table.moveTo(0, 1, 30 * MS);
    decide(0);
    executed(10, first);
    expect(row(0)).toEqual([[second, 30, 40]]);
  });

  it('drops a batch that nobody wants any more when its turn comes, and begins the next', () => {
    const { dispatch, decide, unwanted, row, batches, executed } = forwardingOf(single());
    const [first, second, third] = [dispatch(0), dispatch(0), dispatch(0)];
    unwanted.add(second);
    expect(decide(0)).toEqual([`${first} on 0`]);
    executed(10, first);
    // The batch is dropped, and the device's queue is looked at again.
    expect(decide(10)).toEqual([`${third} on 0`]);
    expect(batches.count).toBe(1);
    expect(row(0)).toEqual([[third, 20, 30]]);
  });

  it('drops any number of unwanted batches in one instant', () => {
    const { dispatch, decide, unwanted, booking } = forwardingOf(single());
    for (let i = 0; i < 9; i++) unwanted.add(dispatch(0));
    const last = dispatch(0);
    expect(decide(0)).toEqual([`${last} on 0`]);
    expect(booking.kept).toBe(1);
  });

  it('lost() frees the device for the next batch', () => {
    const { dispatch, decide, forwarding, row } = forwardingOf(single());
    const [first, second] = [dispatch(0), dispatch(0)];
    decide(0);
    forwarding.lost(4 * MS, first);
    expect(row(0)).toEqual([[second, 10, 20]]);
    // The next batch is there before its time, and no other comes before it.
    expect(decide(4)).toEqual([`${second} on 0`]);
  });

  it('deviceDown() gives all batches that ran or were to run on the device, and forgets them', () => {
    const { dispatch, decide, deviceDown, deviceUp, row, journeys } = forwardingOf(
      single({ virtualGpus: 2 }),
    );
    const batches = [dispatch(0), dispatch(0), dispatch(0), dispatch(0)] as const;
    decide(0);
    expect(deviceDown(3, 0)).toEqual([batches[0], batches[2]]);
    expect([0, 2].map((i) => journeys.leg[batches[i]!])).toEqual([Leg.executing, Leg.toExecute]);
    expect([row(0), row(1)]).toEqual([
      [],
      [
        [batches[1], 0, 10],
        [batches[3], 10, 20],
      ],
    ]);
    expect(decide(3)).toEqual([]);
    deviceUp(0);
    const next = dispatch(5);
    expect(decide(5)).toEqual([`${next} on 0`]);
  });
});

describe('ReservedForwarding over two stages', () => {
  it('takes a batch through its steps: it executes, is sent when both links are free, and executes again', () => {
    const { dispatch, decide, executed, transferred, uplink, downlink, row, booking, batches } = forwardingOf(
      twoStages(),
    );
    const batch = dispatch(0, 2);
    expect(decide(0)).toEqual([`${batch} on 0`]);
    expect([row(0), uplink(0), downlink(2), row(2)]).toEqual([
      [[batch, 0, 14]],
      [[batch, 14, 16]],
      [[batch, 14, 16]],
      [[batch, 16, 24]],
    ]);
    executed(14, batch);
    expect([row(0), uplink(0)]).toEqual([[], [[batch, 14, 16]]]);
    expect(decide(14)).toEqual([`${batch} from 0 to 2`]);
    expect(transferred(16, batch)).toBe(true);
    expect([uplink(0), downlink(2)]).toEqual([[], []]);
    expect([batches.pool(batch), batches.device(batch)]).toEqual([1, 2]);
    expect(decide(16)).toEqual([`${batch} on 2`]);
    executed(24, batch);
    expect(booking.kept).toBe(0);
    expect(decide(24)).toEqual([]);
  });

  it('sends one batch at a time over a shared link, in the order reserved', () => {
    // Both devices of the first stage are on one server.
    const { dispatch, decide, executed, transferred } = forwardingOf(twoStages(), { servers: 'aabc' });
    const [first, second] = [dispatch(0), dispatch(0)];
    decide(0);
    // The second could be sent at once, but the link is kept for the first until 11 ms.
    executed(10, first);
    executed(10, second);
    expect(decide(10)).toEqual([`${first} from 0 to 2`]);
    expect(decide(10.5)).toEqual([]);
    transferred(11, first);
    expect(decide(11).sort()).toEqual([`${first} on 2`, `${second} from 1 to 3`]);
  });

  it("waits for the receiving server's link as it does for the sending one's", () => {
    // Both devices of the second stage are on one server.
    const { dispatch, decide, executed, transferred } = forwardingOf(twoStages(), { servers: 'abcc' });
    const [first, second] = [dispatch(0), dispatch(0)];
    decide(0);
    executed(10, first);
    executed(10, second);
    expect(decide(10)).toEqual([`${first} from 0 to 2`]);
    transferred(11, first);
    expect(decide(11).sort()).toEqual([`${first} on 2`, `${second} from 1 to 3`]);
  });

  it("waits while the receiving server's link carries another batch", () => {
    const { dispatch, decide, executed, transferred } = forwardingOf(twoStages(), { servers: 'abcc' });
    const [first, second] = [dispatch(0), dispatch(0)];
    decide(0);
    executed(10, first);
    decide(10);
    executed(10.5, second);
    expect(decide(10.5)).toEqual([]);
    transferred(11, first);
    expect(decide(11).sort()).toEqual([`${first} on 2`, `${second} from 1 to 3`]);
  });

  it('lets no batch pass another that has the link before it and can still be there in time', () => {
    const { dispatch, decide, executed } = forwardingOf(twoStages(), { servers: 'aacc' });
    const [first, second] = [dispatch(0), dispatch(0)];
    decide(0);
    // The second has executed at 8 ms; the link is kept for the first from 10 ms on, and stays unused until then.
    executed(8, second);
    expect(decide(8)).toEqual([]);
    executed(10, first);
    expect(decide(10)).toEqual([`${first} from 0 to 2`]);
  });

  it('lets a later batch go first once the one before it is past its reserved time, if only by 1 ns, and not at that instant', () => {
    // The first is to be sent at 10 ms, and at that instant it might still come.
    for (const [at, passes] of [
      [10, false],
      [10 + 1e-6, true],
    ] as const) {
      const { dispatch, decide, executed } = forwardingOf(twoStages(), { servers: 'aabc' });
      const [, second] = [dispatch(0), dispatch(0)] as const;
      decide(0);
      executed(at, second);
      expect(decide(at)).toEqual(passes ? [`${second} from 1 to 3`] : []);
    }
  });

  it('sends a batch that takes no time at once, and over no link', () => {
    const parts = [stage([10, 14]), stage([6, 8])];
    const { dispatch, decide, executed, transferred, said, uplink } = forwardingOf(parts);
    const batch = dispatch(0, 2);
    decide(0);
    executed(14, batch);
    expect([said(), uplink(0)]).toEqual([[`${batch} from 0 to 1`], []]);
    transferred(14, batch);
    expect(decide(14)).toEqual([`${batch} on 1`]);
  });

  it('gives back the links of a batch that has become too small to need them', () => {
    // Sending one row takes 0.4 ns, rounded to none; sending two takes 1 ns.
    const parts = [stage([10, 14], { transferBytes: 0.05 }), stage([6, 8])];
    const { dispatch, decide, executed, said, uplink, downlink, batches } = forwardingOf(parts);
    const batch = dispatch(0, 2);
    decide(0);
    expect([uplink(0).length, downlink(1).length]).toEqual([1, 1]);
    batches.truncate(batch, 1);
    executed(14, batch);
    expect(said()).toEqual([`${batch} from 0 to 1`]);
    expect([uplink(0), downlink(1)]).toEqual([[], []]);
  });

  it('moves only the batch that arrives sooner or later than reserved, while later ones stay in place', () => {
    for (const at of [10.5, 14]) {
      const one = forwardingOf([stage([10, 14], SENDS), stage([6, 8])]);
      const [first, second, third] = [one.dispatch(0), one.dispatch(0), one.dispatch(0)];
      one.decide(0);
      one.executed(10, first);
      one.decide(10);
      // The reservations are 11 to 17 ms, 21 to 27 ms and 31 to 37 ms.
      expect(one.transferred(at, first)).toBe(true);
      expect(one.row(1)).toEqual([
        [first, at, at + 6],
        [second, 21, 27],
        [third, 31, 37],
      ]);
    }
  });

  it('leaves later batches in place where one arrives on time', () => {
    const { dispatch, decide, executed, transferred, row, booking } = forwardingOf([
      stage([10], SENDS),
      stage([6]),
    ]);
    const [first, second] = [dispatch(0), dispatch(0)];
    decide(0);
    executed(10, first);
    decide(10);
    // The second batch could come sooner, but nothing moves it forward.
    booking.table.moveTo(1, 1, 30 * MS);
    transferred(11, first);
    expect(row(1)).toEqual([
      [first, 11, 17],
      [second, 30, 36],
    ]);
  });

  it('leaves the running batch in place where the next arrives sooner', () => {
    const { dispatch, decide, executed, transferred, row } = forwardingOf([stage([10], SENDS), stage([6])]);
    const [first, second] = [dispatch(0), dispatch(0)];
    decide(0);
    executed(10, first);
    decide(10);
    transferred(11, first);
    decide(11);
    executed(12, second);
    decide(12);
    // The second batch was expected at 21 ms.
    transferred(13, second);
    expect(row(1)).toEqual([
      [first, 11, 17],
      [second, 17, 23],
    ]);
    expect(decide(13)).toEqual([]);
  });

  it('leaves a link to the batch on it when another, which needs no link, arrives', () => {
    // Sending one row takes 0.4 ns, rounded to none; sending eight takes 3 ns. All use one uplink.
    const eight = new Array<number>(8).fill(10);
    const parts = [stage(eight, { transferBytes: 0.05, virtualGpus: 3 }), stage(eight, { virtualGpus: 3 })];
    const { dispatch, decide, executed, transferred, said } = forwardingOf(parts, { servers: 'aaabcd' });
    const [sent, small, next] = [dispatch(0, 8), dispatch(0, 1), dispatch(0, 8)] as const;
    decide(0);
    executed(10, sent);
    expect(decide(10)).toEqual([`${sent} from 0 to 3`]);
    executed(10 + 1e-6, small);
    expect(said()).toEqual([`${small} from 1 to 4`]);
    transferred(10 + 1e-6, small);
    executed(10 + 1e-6, next);
    expect(decide(10 + 1e-6)).toEqual([`${small} on 4`]);
    transferred(10 + 3e-6, sent);
    expect(decide(10 + 3e-6).sort()).toEqual([`${sent} on 3`, `${next} from 2 to 5`]);
  });

  it('keeps the way of a late batch, and moves it back as far as it must', () => {
    const { dispatch, decide, executed, uplink, downlink, row, journeys } = forwardingOf(twoStages());
    const batch = dispatch(0);
    decide(0);
    executed(13, batch);
    expect([uplink(0), downlink(2), row(2)]).toEqual([
      [[batch, 13, 14]],
      [[batch, 13, 14]],
      [[batch, 14, 20]],
    ]);
    expect([journeys.sendAt(batch, 1), journeys.startAt(batch, 1), journeys.endAt(batch, 1)]).toEqual([
      13 * MS,
      14 * MS,
      20 * MS,
    ]);
    expect(decide(13)).toEqual([`${batch} from 0 to 2`]);
  });

  it('moves back the links of a late batch even for a transfer of a nanosecond, and reserves none where it needs none', () => {
    const brief = forwardingOf([stage([10], { transferBytes: 0.125 }), stage([6])]);
    const batch = brief.dispatch(0);
    brief.decide(0);
    brief.executed(13, batch);
    expect(brief.uplink(0)).toEqual([[batch, 13, 13 + 1e-6]]);
    const without = forwardingOf([stage([10]), stage([6]), stage([3])]);
    const other = without.dispatch(0);
    without.decide(0);
    without.executed(13, other);
    expect([without.row(1), without.row(2)]).toEqual([[[other, 13, 19]], [[other, 19, 22]]]);
    for (const device of [0, 1, 2])
      expect([without.uplink(device), without.downlink(device)]).toEqual([[], []]);
  });

  it('moves back no other batch with a late one', () => {
    const { dispatch, decide, executed, row, journeys } = forwardingOf([stage([10], SENDS), stage([6])]);
    const [first, second] = [dispatch(0), dispatch(0)];
    decide(0);
    executed(13, first);
    // The second batch begins when the device is free.
    expect(row(0)).toEqual([[second, 13, 23]]);
    expect(journeys.startAt(second, 0)).toBe(10 * MS);
  });

  it('lets other batches use a link or device before a late one', () => {
    const parts = [
      stage([10], { ...SENDS, virtualGpus: 2 }),
      stage([6], { ...SENDS, virtualGpus: 2 }),
      stage([3], { virtualGpus: 2 }),
    ];
    // Both devices of the second stage share their links.
    const { dispatch, decide, executed, transferred } = forwardingOf(parts, { servers: 'abccde' });
    const [late, other] = [dispatch(0), dispatch(0)];
    decide(0);
    executed(10, other);
    decide(11);
    transferred(12, other);
    decide(12);
    executed(14, other);
    // The link is kept for the late batch from 17 ms on.
    expect(decide(14)).toEqual([]);
    executed(15, late);
    expect(decide(15).sort()).toEqual([`${late} from 0 to 2`, `${other} from 3 to 5`]);
    const device = forwardingOf([stage([10, 14], { ...SENDS, virtualGpus: 2 }), stage([6, 8])]);
    // The device is kept for the first batch from 20 ms on, then for the second, which takes 8 ms.
    device.booking.execute(2, 0, 20 * MS, 900);
    const [first, second] = [device.dispatch(0), device.dispatch(0, 2)];
    device.booking.release(2, 900, 0);
    device.decide(0);
    device.executed(14, second);
    device.decide(14);
    device.transferred(16, second);
    expect(device.decide(16)).toEqual([]);
    device.executed(25, first);
    expect(device.decide(25).sort()).toEqual([`${first} from 0 to 2`, `${second} on 2`]);
  });

  it('moves back only the part of the way that is late', () => {
    const parts = [stage([10], SENDS), stage([6], SENDS), stage([3])];
    const { dispatch, decide, executed, uplink, row, booking, journeys } = forwardingOf(parts);
    // Device 1 is kept until 15 ms, device 2 until 40 ms.
    booking.execute(1, 0, 15 * MS, 900);
    booking.execute(2, 0, 40 * MS, 901);
    const batch = dispatch(0);
    expect(row(1)[1]).toEqual([batch, 15, 21]);
    decide(0);
    executed(12, batch);
    // Sent at 12 ms instead of 10 ms, the batch is still there before 15 ms: nothing else moves.
    expect([uplink(0), row(1)[1]]).toEqual([[[batch, 12, 13]], [batch, 15, 21]]);
    booking.release(1, 900, 13 * MS);
    const late = forwardingOf(parts);
    late.booking.execute(2, 0, 40 * MS, 901);
    const other = late.dispatch(0);
    late.decide(0);
    late.executed(15, other);
    // The second stage begins at 16 ms and the third as reserved. The batch was to be sent to it at 17 ms, and now is
    // at 22 ms.
    expect([late.row(1), late.uplink(1), late.row(2)[1]]).toEqual([
      [[other, 16, 22]],
      [[other, 22, 23]],
      [other, 40, 43],
    ]);
    expect([late.journeys.sendAt(other, 2), late.journeys.startAt(other, 2)]).toEqual([22 * MS, 40 * MS]);
    expect(journeys.sendAt(batch, 2)).toBe(21 * MS);
  });

  it('leaves the reserved way of a batch that is early', () => {
    const { dispatch, decide, executed, uplink, row } = forwardingOf(twoStages());
    const batch = dispatch(0);
    decide(0);
    executed(8, batch);
    expect([uplink(0), row(2)]).toEqual([[[batch, 10, 11]], [[batch, 11, 17]]]);
    // It is sent before its time, since no other batch needs the link.
    expect(decide(8)).toEqual([`${batch} from 0 to 2`]);
  });

  it('fills a device until its next reservation with a batch that is there and fits, to the nanosecond', () => {
    for (const [startMs, isFilled] of [
      [18, true],
      [18 - 1e-6, false],
    ] as const) {
      const parts = [stage([10], { ...SENDS, virtualGpus: 2 }), stage([6])];
      const { booking, dispatch, decide, executed, transferred } = forwardingOf(parts);
      const [absent, batch] = [dispatch(0), dispatch(0)];
      decide(0);
      executed(10, batch);
      // The absent batch has missed its time to be sent, 10 ms.
      expect(decide(11)).toEqual([`${batch} from 1 to 2`]);
      transferred(12, batch);
      // The absent batch is still expected to execute first, at the time set here.
      booking.table.moveTo(2, 1, 40 * MS);
      booking.table.moveTo(2, 0, startMs * MS);
      expect(decide(12)).toEqual(isFilled ? [`${batch} on 2`] : []);
      expect(absent).not.toBe(batch);
    }
  });

  it('fills a device with the first batch that fits, not with a longer one before it', () => {
    const parts = [stage([10, 14], { ...SENDS, virtualGpus: 3 }), stage([6, 8])];
    const { booking, dispatch, decide, executed, transferred } = forwardingOf(parts);
    const [, long, short] = [dispatch(0), dispatch(0, 2), dispatch(0)] as const;
    decide(0);
    executed(10, short);
    decide(11);
    transferred(12, short);
    executed(14, long);
    decide(14);
    transferred(16, long);
    // The first batch is not there. The others take 8 and 6 ms.
    booking.table.moveTo(3, 2, 60 * MS);
    booking.table.moveTo(3, 1, 50 * MS);
    booking.table.moveTo(3, 0, 22 * MS);
    expect(decide(16)).toEqual([`${short} on 3`]);
  });

  it('fills a device only with batches that are there', () => {
    const parts = [stage([10, 14], { ...SENDS, virtualGpus: 3 }), stage([6, 8])];
    const { booking, dispatch, decide, executed, transferred } = forwardingOf(parts);
    const [, , short] = [dispatch(0), dispatch(0, 2), dispatch(0)] as const;
    decide(0);
    executed(10, short);
    decide(11);
    transferred(12, short);
    for (const [i, start] of [60, 50, 40].entries()) booking.table.moveTo(3, 2 - i, start * MS);
    expect(decide(12)).toEqual([`${short} on 3`]);
  });
});

describe('ReservedForwarding when devices are lost', () => {
  it('takes a batch to another device where the next one is lost before the transfer', () => {
    const { dispatch, decide, executed, transferred, deviceDown, row, uplink, downlink } = forwardingOf(
      twoStages(),
    );
    const batch = dispatch(0);
    decide(0);
    // The batch has not reached that device yet.
    expect(deviceDown(4, 2)).toEqual([]);
    expect(row(2)).toEqual([[batch, 11, 17]]);
    executed(10, batch);
    expect([row(2), downlink(2), row(3), uplink(0), downlink(3)]).toEqual([
      [],
      [],
      [[batch, 11, 17]],
      [[batch, 10, 11]],
      [[batch, 10, 11]],
    ]);
    expect(decide(10)).toEqual([`${batch} from 0 to 3`]);
    expect(transferred(11, batch)).toBe(true);
    expect(decide(11)).toEqual([`${batch} on 3`]);
  });

  it('reserves the links of the device that holds the batch', () => {
    const { dispatch, decide, executed, deviceDown, uplink } = forwardingOf(twoStages());
    const batches = [dispatch(0), dispatch(0)] as const;
    decide(0);
    deviceDown(4, 3);
    executed(10, batches[1]);
    expect([uplink(0), uplink(1)]).toEqual([[[batches[0], 10, 11]], [[batches[1], 11, 12]]]);
  });

  it('sends a batch to no device where the next stage has none left, and transferred() reports it', () => {
    const { dispatch, decide, executed, transferred, deviceDown, booking, batches, said } = forwardingOf(
      twoStages(),
    );
    const batch = dispatch(0);
    decide(0);
    deviceDown(4, 2);
    deviceDown(4, 3);
    executed(10, batch);
    expect(said()).toEqual([`${batch} from 0 to ${NONE}`]);
    expect(booking.kept).toBe(0);
    expect(transferred(10, batch)).toBe(false);
    expect([batches.pool(batch), batches.device(batch)]).toEqual([1, NONE]);
  });

  it('forgets a batch whose receiving device was lost during the transfer', () => {
    const { dispatch, decide, executed, transferred, deviceDown, booking } = forwardingOf(twoStages());
    const batch = dispatch(0);
    decide(0);
    executed(10, batch);
    decide(10);
    expect(deviceDown(10.5, 2)).toEqual([]);
    expect(transferred(11, batch)).toBe(false);
    expect(booking.kept).toBe(0);
  });

  it('loses no batch that has executed on the lost device or is being sent from it', () => {
    const { dispatch, decide, executed, transferred, deviceDown } = forwardingOf(twoStages());
    const batch = dispatch(0);
    decide(0);
    executed(10, batch);
    expect(deviceDown(10, 0)).toEqual([]);
    expect(decide(10)).toEqual([`${batch} from 0 to 2`]);
    expect(transferred(11, batch)).toBe(true);
    expect(deviceDown(12, 2)).toEqual([batch]);
  });

  it('forgets the whole way of a lost batch', () => {
    const { dispatch, decide, deviceDown, booking } = forwardingOf(twoStages());
    dispatch(0);
    decide(0);
    expect(deviceDown(4, 0)).toEqual([0]);
    expect(booking.kept).toBe(0);
  });

  it('lets a batch be sent that had to wait for a lost one', () => {
    const { dispatch, decide, executed, forwarding } = forwardingOf(twoStages(), { servers: 'aabc' });
    const [first, second] = [dispatch(0), dispatch(0)];
    decide(0);
    executed(8, second);
    expect(decide(8)).toEqual([]);
    forwarding.lost(9 * MS, first);
    expect(decide(9)).toEqual([`${second} from 1 to 3`]);
  });

  it('lets a batch begin that had to wait for a lost one', () => {
    const { dispatch, decide, executed, transferred, forwarding, booking } = forwardingOf([
      stage([10, 14], { ...SENDS, virtualGpus: 2 }),
      stage([6, 8]),
    ]);
    booking.execute(2, 0, 20 * MS, 900);
    const [first, second] = [dispatch(0), dispatch(0, 2)];
    booking.release(2, 900, 0);
    decide(0);
    executed(14, second);
    decide(14);
    transferred(16, second);
    expect(decide(16)).toEqual([]);
    forwarding.lost(17 * MS, first);
    expect(decide(17)).toEqual([`${second} on 2`]);
  });
});
