import { describe, expect, it } from 'vitest';
import { topologyOf } from '../../src/plans/index.js';
import { type Stream, streamOf } from '../../src/random/index.js';
import {
  Decisions,
  type LogEntry,
  ROOM_FIRST_POLICY,
  replay,
  StageLocalCore,
  type StageLocalPolicy,
} from '../../src/serving/index.js';
import { PARD_POLICIES } from '../../src/serving/stage-local/pard-policies.js';
import { clashes } from '../../src/serving/stage-local/policy.js';
import { cases, fewOf, seeds, whole } from '../cases.js';
import { randomDag } from './dags.js';
import { planOf } from './plans.js';
import { type Arrival, runVirtual, STREAMS } from './virtual-driver.js';

const MS = 1e6;
const LEVELS = { kind: 'levels', margin: 0 } as const;

/** One stage of one device, which serves requests one by one for 10 ms each. Its SLO is 100 ms. */
const unit = topologyOf(
  planOf([
    {
      sloMs: 100,
      pipelines: [{ throughputRps: 100, parts: [{ batch: 1, virtualGpus: 1, latencyUs: () => 10_000 }] }],
    },
  ]),
);

/** Policies whose queues are those of devices, and of a stage. */
const PLACED: Record<string, StageLocalPolicy> = {
  'pard-lbf': { ...PARD_POLICIES['pard-lbf'], weighing: LEVELS },
  'room-first': { ...ROOM_FIRST_POLICY, weighing: LEVELS },
};

function weightOf(arrivals: readonly Arrival[], chosen: readonly number[]): number {
  return chosen.reduce((sum, arrival) => sum + (arrivals[arrival]?.weight ?? 1), 0);
}

function inTime(arrivals: Arrival[], policy: StageLocalPolicy): number[] {
  const { ended } = runVirtual({ topology: unit, arrivals, policy });
  return ended
    .flatMap(({ arrival, outcome }) => (outcome === 'inTime' ? [arrival] : []))
    .sort((a, b) => a - b);
}

/** mostWeight tries every order of requests, each of which is served as soon as it can be, if it is then in time. */
function mostWeight(arrivals: readonly Arrival[]): number {
  const from = (at: number, left: readonly Arrival[]): number =>
    left.reduce((most, one) => {
      const end = Math.max(at, one.at) + 10 * MS;
      const rest = left.filter((other) => other !== one);
      return end > (one.deadline as number) ? most : Math.max(most, (one.weight ?? 1) + from(end, rest));
    }, 0);
  return from(0, arrivals);
}

/** Requests that come at once, or within 60 ms, with deadlines some way off the ends of spans. */
function few(stream: Stream, together: boolean): Arrival[] {
  return Array.from({ length: 1 + stream.integer(6) }, () => {
    const at = together ? 0 : 10 * MS * stream.integer(6);
    return {
      at,
      weight: [1, 2, 5, 10][stream.integer(4)] as number,
      deadline: at + 10 * MS * (1 + stream.integer(7)) + 5 * MS,
    };
  }).sort((a, b) => a.at - b.at);
}

describe.each(fewOf(Object.entries(PLACED), 3))('weighing of one stage, as %s', (_name, policy) => {
  it('loses exactly the least weight of requests that wait together, as trying all orders finds it', () => {
    for (const seed of seeds(whole(60, 300), 5000)) {
      const arrivals = few(streamOf(seed, 'together'), true);
      expect([seed, weightOf(arrivals, inTime(arrivals, policy))]).toEqual([seed, mostWeight(arrivals)]);
    }
  });

  it('never has more weight in time than the best that knows all beforehand', () => {
    for (const seed of seeds(whole(50, 200), 3000)) {
      const arrivals = few(streamOf(seed, 'apart'), false);
      expect(weightOf(arrivals, inTime(arrivals, policy))).toBeLessThanOrEqual(mostWeight(arrivals));
    }
  });

  it('serves a light request that is due first where the heavy ones can wait, and else the heavy ones', () => {
    const light = { at: 0, deadline: 15 * MS };
    const heavy = (deadlineMs: number) => ({ at: 0, weight: 10, deadline: deadlineMs * MS });
    expect(inTime([heavy(25), light], policy)).toEqual([0, 1]);
    expect(inTime([heavy(25), heavy(35), light], policy)).toEqual([0, 1, 2]);
    expect(inTime([heavy(15), light], policy)).toEqual([0]);
    expect(inTime([heavy(25), heavy(25), light], policy)).toEqual([0, 1]);
    // A heavy one that is lost anyway does not count.
    expect(inTime([heavy(5), light], policy)).toEqual([1]);
  });

  it('changes nothing while no request is late by the order alone', () => {
    const plain: StageLocalPolicy = { ...policy, weighing: { kind: 'none' } };
    let tried = 0;
    for (const seed of seeds(whole(60, 300), 5000)) {
      const arrivals = few(streamOf(seed, 'unhurried'), false);
      if (inTime(arrivals, plain).length < arrivals.length) continue;
      tried += 1;
      expect(inTime(arrivals, policy)).toEqual(inTime(arrivals, plain));
    }
    expect(tried).toBeGreaterThan(20);
  });

  it('never loses a request because it alone weighs more, where all come together', () => {
    for (const seed of seeds(whole(50, 200), 3000)) {
      const stream = streamOf(seed, 'raised');
      const arrivals = few(stream, true);
      const before = inTime(arrivals, policy);
      const raised = before[stream.integer(before.length)];
      if (raised === undefined) continue;
      const heavier = arrivals.map((one, i) => (i === raised ? { ...one, weight: 3 * one.weight! } : one));
      expect([seed, inTime(heavier, policy).includes(raised)]).toEqual([seed, true]);
    }
  });
});

/** Every policy of PARD's runtime, and ours, that can weigh. */
const PRESETS = Object.entries({ ...PARD_POLICIES, 'room-first': ROOM_FIRST_POLICY }).flatMap(
  ([name, policy]: [string, StageLocalPolicy]): [string, StageLocalPolicy][] => {
    const weighed: StageLocalPolicy = { ...policy, weighing: { kind: 'levels', margin: 0.25 } };
    return clashes(weighed).length > 0 ? [] : [[name, weighed]];
  },
);

/** storm runs a random DAG under overload with failing batches and lost devices, and gives its log. */
function storm(
  seed: number,
  policy: StageLocalPolicy,
  weight: (i: number) => number | undefined,
): LogEntry[] {
  const stream = streamOf(seed, 'weighed storm');
  const topology = randomDag(stream, { shares: stream.uniform() < 0.3 });
  let at = 0;
  const arrivals = Array.from({ length: 150 }, (_, i) => {
    at += Math.ceil(stream.exponential() * MS);
    const of = weight(i);
    return { at, rows: 1 + stream.integer(2), ...(of === undefined ? {} : { weight: of }) };
  });
  const log: LogEntry[] = [];
  runVirtual({
    topology,
    arrivals,
    policy,
    verdict: (arrival, row, stage) => streamOf(seed, `${arrival}/${row}/${stage}`).integer(8),
    fails: () => stream.uniform() < 0.02,
    outages: [{ device: 0, at: 40 * MS, until: 90 * MS }],
    log: (entry) => log.push(entry),
  });
  return log;
}

const decided = (log: readonly LogEntry[]) => log.filter(([word]) => word !== 'arrived');

describe.each(fewOf(PRESETS, 4))('weighing as %s', (_name, policy) => {
  it('decides as without weights where all weigh the same', () => {
    for (const seed of seeds(whole(1, 4), 60)) {
      const plain = storm(seed, { ...policy, weighing: { kind: 'none' } }, () => undefined);
      expect(storm(seed, policy, () => undefined)).toEqual(plain);
      expect(decided(storm(seed, policy, () => 7))).toEqual(decided(plain));
    }
  });

  it('decides the same where all weights are multiplied by one number', () => {
    for (const seed of seeds(whole(1, 2), 30)) {
      const weight = (i: number) => [1, 3, 10][streamOf(seed, `${i}`).integer(3)] as number;
      const once = storm(seed, policy, weight);
      expect(decided(storm(seed, policy, (i) => 0.125 * weight(i)))).toEqual(decided(once));
    }
  });
});

describe('a log of weighed requests', () => {
  it('gives the same decisions again, for which the weights are needed', () => {
    const policy = PARD_POLICIES.pard;
    const weighed: StageLocalPolicy = { ...policy, weighing: { kind: 'levels', margin: 0.25 } };
    let different = 0;
    for (const seed of seeds(whole(1, 10), 100)) {
      const log = storm(seed, weighed, (i) => (i % 3 === 0 ? 10 : 1));
      const again = (entries: readonly LogEntry[]) => {
        const stream = streamOf(seed, 'weighed storm');
        const same = randomDag(stream, { shares: stream.uniform() < 0.3 });
        return replay(
          entries,
          (decisions: Decisions) => new StageLocalCore(same, decisions, { ...weighed, streams: STREAMS }),
        );
      };
      expect([seed, again(log).same]).toEqual([seed, true]);
      const unweighed = log.map(
        (entry): LogEntry => (entry[0] === 'arrived' ? (entry.slice(0, 5) as unknown as LogEntry) : entry),
      );
      if (!again(unweighed).same) different += 1;
    }
    expect(different).toBeGreaterThan(cases(whole(0, 2), 20));
  });

  it('is refused where requests have more than 16 different weights', () => {
    const core = new StageLocalCore(unit, new Decisions(), { ...PLACED['room-first']!, streams: STREAMS });
    core.deviceUp(0, 0);
    for (let i = 1; i <= 16; i++) core.arrived(0, 0, 100 * MS, 1, i);
    core.arrived(0, 0, 100 * MS, 1, 16);
    expect(() => core.arrived(0, 0, 100 * MS, 1, 17)).toThrow('the weight 17, and 16 others');
  });
});
