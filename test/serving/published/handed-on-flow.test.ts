import { describe, expect, it } from 'vitest';
import { NONE } from '../../../src/collections/index.js';
import { Decision, Decisions } from '../../../src/serving/decisions.js';
import { HandedOnFlow } from '../../../src/serving/published/handed-on-flow.js';
import { Journeys, Leg, Path } from '../../../src/serving/reservation/index.js';
import { Batches } from '../../../src/serving/state/index.js';

/** A flow of two pools over four devices, all of which are up. */
function flowOf() {
  const decisions = new Decisions();
  const batches = new Batches(4);
  const journeys = new Journeys(2);
  const unwanted = new Set<number>();
  const flow = new HandedOnFlow(decisions, batches, journeys, 4, (batch) => !unwanted.has(batch));
  for (const device of [0, 1, 2, 3]) flow.deviceUp(device);
  const begin = (...devices: number[]) => {
    const path = new Path(2);
    path.stages = devices.length;
    for (const [k, device] of devices.entries()) path.device[k] = device;
    const batch = batches.open(0, devices[0]!);
    batches.add(batch, 0);
    journeys.begin(batch, 0, path);
    flow.begin(batch);
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
  return { flow, batches, journeys, unwanted, begin, said };
}

describe('HandedOnFlow', () => {
  it('hands every batch on at once, busy or not, and says nothing when all is told', () => {
    const { flow, begin, said } = flowOf();
    const [first, second] = [begin(0, 2), begin(0, 2)];
    expect(said()).toEqual([`${first} on 0`, `${second} on 0`]);
    flow.decide();
    expect(said()).toEqual([]);
  });

  it('sends what has executed on, unless that was the last stage', () => {
    const { flow, begin, said, batches, journeys } = flowOf();
    const batch = begin(0, 2);
    expect(journeys.leg[batch]).toBe(Leg.toExecute);
    flow.started(0, batch);
    expect(journeys.leg[batch]).toBe(Leg.executing);
    said();
    flow.executed(10, batch, false);
    expect(said()).toEqual([`${batch} from 0 to ${NONE}`]);
    expect(flow.transferred(11, batch)).toBe(true);
    expect(said()).toEqual([`${batch} on 2`]);
    expect([batches.pool(batch), batches.device(batch)]).toEqual([1, 2]);
    expect([journeys.stage[batch], journeys.leg[batch]]).toEqual([1, Leg.toExecute]);
    flow.executed(20, batch, true);
    expect(said()).toEqual([]);
    expect([flow.deviceDown(20, 0), flow.deviceDown(20, 2)]).toEqual([[], []]);
  });

  it('ends a batch that nobody wants any more when it has been sent', () => {
    const { flow, begin, said, batches, unwanted } = flowOf();
    const batch = begin(0, 2);
    flow.executed(10, batch, false);
    unwanted.add(batch);
    said();
    expect(flow.transferred(11, batch)).toBe(true);
    expect([said(), batches.count, flow.deviceDown(12, 2)]).toEqual([[], 0, []]);
  });

  it('says where a batch was sent to a device that is gone, of which nothing is known there', () => {
    const { flow, begin, said, batches } = flowOf();
    const batch = begin(0, 2);
    flow.executed(10, batch, false);
    expect(flow.deviceDown(10, 2)).toEqual([]);
    said();
    expect(flow.transferred(11, batch)).toBe(false);
    expect([said(), batches.pool(batch), batches.device(batch)]).toEqual([[], 1, 2]);
    flow.deviceUp(2);
    expect(flow.deviceDown(12, 2)).toEqual([]);
  });

  it('deviceDown() gives all that the device was handed, in order, once', () => {
    const { flow, begin } = flowOf();
    const [first, other, second, third] = [begin(0, 2), begin(1, 2), begin(0, 2), begin(0, 2)];
    flow.lost(5, second);
    expect(flow.deviceDown(6, 0)).toEqual([first, third]);
    expect(flow.deviceDown(6, 0)).toEqual([]);
    expect(flow.deviceDown(6, 1)).toEqual([other]);
  });
});
