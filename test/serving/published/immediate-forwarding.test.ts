import { describe, expect, it } from 'vitest';
import { NONE } from '../../../src/collections/index.js';
import { Decision, Decisions } from '../../../src/serving/decisions.js';
import { ImmediateForwarding } from '../../../src/serving/published/immediate-forwarding.js';
import { Journeys, Leg, Path } from '../../../src/serving/reservation/index.js';
import { OpenBatches } from '../../../src/serving/state/index.js';

/** A forwarding of two pools over four devices. All devices are up. */
function forwardingOf() {
  const decisions = new Decisions();
  const batches = new OpenBatches(4);
  const journeys = new Journeys(2);
  const unwanted = new Set<number>();
  const forwarding = new ImmediateForwarding(
    { decisions, batches, journeys, isWanted: (batch) => !unwanted.has(batch) },
    4,
  );
  for (const device of [0, 1, 2, 3]) forwarding.deviceUp(device);
  const begin = (...devices: number[]) => {
    const path = new Path(2);
    path.stages = devices.length;
    for (const [k, device] of devices.entries()) path.device[k] = device;
    const batch = batches.open(0, devices[0]!);
    batches.add(batch, 0);
    journeys.begin(batch, 0, path);
    forwarding.begin(batch);
    return batch;
  };
  const said = () => {
    const all = Array.from({ length: decisions.count }, (_, i) => {
      const [a, b, c] = [decisions.a(i), decisions.b(i), decisions.c(i)];
      return decisions.kind(i) === Decision.execute ? `${a} on ${b}` : `${a} from ${b} to ${c}`;
    });
    decisions.clear();
    return all;
  };
  return { forwarding, batches, journeys, unwanted, begin, said };
}

describe('ImmediateForwarding', () => {
  it('hands every batch on at once, even to a busy device, and decide() adds nothing', () => {
    const { forwarding, begin, said } = forwardingOf();
    const [first, second] = [begin(0, 2), begin(0, 2)];
    expect(said()).toEqual([`${first} on 0`, `${second} on 0`]);
    forwarding.decide();
    expect(said()).toEqual([]);
  });

  it('sends a batch on when it has executed, unless the stage was its last', () => {
    const { forwarding, begin, said, batches, journeys } = forwardingOf();
    const batch = begin(0, 2);
    expect(journeys.leg[batch]).toBe(Leg.toExecute);
    forwarding.started(0, batch);
    expect(journeys.leg[batch]).toBe(Leg.executing);
    said();
    forwarding.executed(10, batch, false);
    expect(said()).toEqual([`${batch} from 0 to ${NONE}`]);
    expect(forwarding.transferred(11, batch)).toBe(true);
    expect(said()).toEqual([`${batch} on 2`]);
    expect([batches.pool(batch), batches.device(batch)]).toEqual([1, 2]);
    expect([journeys.stage[batch], journeys.leg[batch]]).toEqual([1, Leg.toExecute]);
    forwarding.executed(20, batch, true);
    expect(said()).toEqual([]);
    expect([forwarding.deviceDown(20, 0), forwarding.deviceDown(20, 2)]).toEqual([[], []]);
  });

  it('closes a batch that nobody wants any more once it has been sent', () => {
    const { forwarding, begin, said, batches, unwanted } = forwardingOf();
    const batch = begin(0, 2);
    forwarding.executed(10, batch, false);
    unwanted.add(batch);
    said();
    expect(forwarding.transferred(11, batch)).toBe(true);
    expect([said(), batches.count, forwarding.deviceDown(12, 2)]).toEqual([[], 0, []]);
  });

  it('transferred() is false where the receiving device is gone, which then holds nothing of the batch', () => {
    const { forwarding, begin, said, batches } = forwardingOf();
    const batch = begin(0, 2);
    forwarding.executed(10, batch, false);
    expect(forwarding.deviceDown(10, 2)).toEqual([]);
    said();
    expect(forwarding.transferred(11, batch)).toBe(false);
    expect([said(), batches.pool(batch), batches.device(batch)]).toEqual([[], 1, 2]);
    forwarding.deviceUp(2);
    expect(forwarding.deviceDown(12, 2)).toEqual([]);
  });

  it('deviceDown() gives all batches that the device was handed, in order, once', () => {
    const { forwarding, begin } = forwardingOf();
    const [first, other, second, third] = [begin(0, 2), begin(1, 2), begin(0, 2), begin(0, 2)];
    forwarding.lost(5, second);
    expect(forwarding.deviceDown(6, 0)).toEqual([first, third]);
    expect(forwarding.deviceDown(6, 0)).toEqual([]);
    expect(forwarding.deviceDown(6, 1)).toEqual([other]);
  });
});
