import { describe, expect, it } from 'vitest';
import { type Stream, streamOf } from '../../src/random/index.js';
// The parts of the driver are not exported by the room.
import { VirtualDevices } from '../../src/simulator/devices.js';
import { VirtualLinks } from '../../src/simulator/links.js';
import { OpenRequests } from '../../src/simulator/open-requests.js';
import { PlannedSteps } from '../../src/simulator/planned-steps.js';

const NONE = -1;

/** Free batch numbers. Some are far apart, so that columns grow more than once. */
const numbers = (stream: Stream) => {
  const free = [...Array(40).keys(), 100, 101, 399, 400, 1000];
  return {
    take: () => free.splice(stream.integer(free.length), 1)[0] as number,
    giveBack: (batch: number) => free.push(batch),
    left: () => free.length,
  };
};

describe('VirtualDevices', () => {
  it('keeps a queue before each device, served in its order, one batch at a time', () => {
    for (let seed = 1; seed <= 8; seed++) {
      const stream = streamOf(seed, 'devices');
      const batches = numbers(stream);
      const devices = new VirtualDevices(3);
      const lines = [0, 1, 2].map(() => [] as { batch: number; at: number }[]);
      const running = [NONE, NONE, NONE];
      for (let at = 0; at < 300; at++) {
        const device = stream.integer(3);
        const line = lines[device] as (typeof lines)[number];
        const draw = stream.uniform();
        if (draw < 0.4 && batches.left() > 0) {
          const step = { batch: batches.take(), at };
          const next = devices.hand(at, step.batch, device);
          expect(next).toBe(line.length === 0 && running[device] === NONE);
          line.push(step);
        } else if (draw < 0.7 && running[device] === NONE && line.length > 0) {
          const { batch } = line.shift() as { batch: number };
          expect(devices.begin(at, device)).toBe(batch);
          expect(devices.startedAt[batch]).toBe(at);
          running[device] = batch;
        } else if (running[device] !== NONE) {
          expect(devices.end(device)).toBe(running[device]);
          batches.giveBack(running[device] as number);
          running[device] = NONE;
        }
        expect([...devices.running]).toEqual(running);
        expect([0, 1, 2].map((d) => devices.waiting(d))).toEqual(lines.map((own) => own[0]?.batch ?? NONE));
        for (const step of line.slice(-1)) {
          expect(devices.handedAt[step.batch]).toBe(step.at);
        }
      }
    }
  });
});

describe('VirtualLinks', () => {
  const links = {
    uplinkOf: Int32Array.of(0, 0, 1, 2),
    downlinkOf: Int32Array.of(1, 0, 0, 1),
    uplinkCount: 3,
    downlinkCount: 2,
  };
  interface Sent {
    batch: number;
    from: number;
    to: number;
    takesNs: number;
    isOnItsWay: boolean;
  }
  const upOf = ({ from }: Sent) => links.uplinkOf[from] as number;
  const downOf = ({ to }: Sent) => (to === NONE ? NONE : (links.downlinkOf[to] as number));

  it('lets a transfer begin when no earlier one shares a link with it, and always when it takes no time', () => {
    for (let seed = 1; seed <= 8; seed++) {
      const stream = streamOf(seed, 'links');
      const batches = numbers(stream);
      const virtual = new VirtualLinks(links);
      let sent: Sent[] = [];
      /** The transfers that took links before and still hold or await them. */
      const before = (one: Sent) => sent.slice(0, sent.indexOf(one)).filter(({ takesNs }) => takesNs > 0);
      const free = (one: Sent) =>
        one.takesNs === 0 ||
        before(one).every(
          (other) => upOf(other) !== upOf(one) && (one.to === NONE || downOf(other) !== downOf(one)),
        );
      for (let at = 0; at < 250; at++) {
        const going = sent.filter(({ isOnItsWay }) => isOnItsWay);
        if (stream.uniform() < 0.5 && batches.left() > 0) {
          const one = {
            batch: batches.take(),
            from: stream.integer(4),
            to: stream.integer(5) - 1,
            takesNs: stream.uniform() < 0.2 ? 0 : 1 + stream.integer(9),
            isOnItsWay: false,
          };
          sent.push(one);
          virtual.hand(at, one.batch, one.from, one.to, one.takesNs);
          expect([
            virtual.handedAt[one.batch],
            virtual.from[one.batch],
            virtual.to[one.batch],
            virtual.takesNs[one.batch],
          ]).toEqual([at, one.from, one.to, one.takesNs]);
        } else if (going.length > 0) {
          const ended = going[stream.integer(going.length)] as Sent;
          virtual.end(ended.batch);
          batches.giveBack(ended.batch);
          sent = sent.filter((one) => one !== ended);
          const first = (has: (one: Sent) => boolean) =>
            sent.find((one) => one.takesNs > 0 && has(one))?.batch ?? NONE;
          expect([virtual.nextOnUplink(ended.batch), virtual.nextOnDownlink(ended.batch)]).toEqual([
            first((one) => upOf(one) === upOf(ended)),
            ended.to === NONE ? NONE : first((one) => downOf(one) === downOf(ended)),
          ]);
        }
        const next = sent.filter((one) => !one.isOnItsWay && free(one));
        expect(sent.filter(({ batch }) => virtual.isNext(batch))).toEqual(next);
        for (const one of next) {
          if (stream.uniform() < 0.5) continue;
          virtual.begin(at, one.batch);
          expect(virtual.startedAt[one.batch]).toBe(at);
          one.isOnItsWay = true;
          expect(virtual.isNext(one.batch)).toBe(false);
        }
      }
    }
  });
});

describe('OpenRequests', () => {
  it('knows what is in flight by request and by task, however large their numbers', () => {
    const stream = streamOf(1, 'requests');
    const requests = new OpenRequests();
    const open = new Map<number, { order: number; at: number; model: number }>();
    let count = 0;
    for (let at = 0; at < 500; at++) {
      if (stream.uniform() < 0.6) {
        const request = stream.uniform() < 0.9 ? stream.integer(60) : stream.integer(3000);
        if (open.has(request)) {
          expect(() => requests.add(request, at, 0)).toThrow(`request number ${request} is given twice`);
          continue;
        }
        open.set(request, { order: count, at, model: stream.integer(5) });
        requests.add(request, at, open.get(request)?.model as number);
        count += 1;
      } else {
        const request = stream.integer(60);
        if (open.delete(request)) requests.end(request);
        else expect(() => requests.end(request)).toThrow(`request number ${request} ends without being open`);
      }
      expect([requests.count, requests.open]).toEqual([count, open.size]);
    }
    for (const [request, { order, at, model }] of open)
      expect([requests.orderOf(request), requests.arrivedAt(request), requests.modelOf(request)]).toEqual([
        order,
        at,
        model,
      ]);
  });

  it('refuses the end of a request that it does not know, or that has ended already', () => {
    const requests = new OpenRequests();
    expect(() => requests.end(0)).toThrow('request number 0 ends without being open');
    requests.add(16, 0, 0);
    requests.end(16);
    expect(() => requests.end(16)).toThrow('request number 16 ends without being open');
    requests.add(16, 7, 1);
    expect([requests.arrivedAt(16), requests.open, requests.count]).toEqual([7, 1, 2]);
  });

  it('grows for requests of any number', () => {
    const requests = new OpenRequests();
    requests.add(2, 1, 4);
    requests.add(3, 2, 5);
    requests.add(500, 3, 6);
    expect([2, 3, 500].map((request) => requests.orderOf(request))).toEqual([0, 1, 2]);
    expect([2, 3, 500].map((request) => requests.modelOf(request))).toEqual([4, 5, 6]);
    expect([2, 3, 500].map((request) => requests.arrivedAt(request))).toEqual([1, 2, 3]);
  });
});

describe('PlannedSteps', () => {
  it("gives each pool's times by batch size", () => {
    const poolOf = (latencyNs: number[], transferNs: number[]) => ({
      batch: latencyNs.length,
      latencyNs: Float64Array.from(latencyNs),
      transferNs: Float64Array.from(transferNs),
    });
    const pools = [poolOf([5, 6, 7], [1, 2, 3]), poolOf([9], [0]), poolOf([20, 30], [8, 4])];
    const topology = { pools, devices: pools.map((_, pool) => ({ pool })), routes: { kind: 'chains' } };
    const steps = new PlannedSteps(topology as unknown as ConstructorParameters<typeof PlannedSteps>[0]);
    pools.forEach(({ latencyNs, transferNs }, pool) => {
      const sizes = Array.from(latencyNs, (_, i) => i + 1);
      expect(sizes.map((size) => steps.executionNs(pool, size, pool))).toEqual([...latencyNs]);
      expect(sizes.map((size) => steps.transferNs(pool, 0, size))).toEqual([...transferNs]);
    });
  });
});
