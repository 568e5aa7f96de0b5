import { describe, expect, it } from 'vitest';
import { planTopologyOf } from '../../../src/plans/index.js';
import { type Stream, streamOf, streamsOf, uniformAt } from '../../../src/random/index.js';
import {
  Decision,
  type LogEntry,
  SCHEDULER_NAMES,
  type ScalingRule,
  type SchedulerName,
  StageLocalCore,
  type StageLocalPolicy,
  type StageTopology,
} from '../../../src/serving/index.js';
import { SCHEDULERS } from '../../../src/serving/schedulers.js';
import { cases, whole } from '../../cases.js';
import { type GivenGears, gearPlan } from '../../gear-plans.js';
import { bitsOf } from '../../serving/dag-storm.js';
import { randomDag } from '../../serving/dags.js';
import { randomTopology, withClasses } from '../../serving/random-plans.js';
import type { Arrival, Outage, WatchedCore } from '../../serving/virtual-driver.js';
import { live, type ServedRun, simulated, simulatedTroubles, type Timeline } from '../virtual-serving.js';

const MS = 1e6;
const REQUESTS = 20;
const NEVER = Number.POSITIVE_INFINITY;

const oneOf = <T>(stream: Stream, ...choices: readonly T[]): T => choices[stream.integer(choices.length)]!;

/**
 * KINDS are the kinds of plans, each with topologies that are drawn. One process has all tensors, so that no transfer
 * takes time.
 */
const KINDS = {
  chains: (stream) => randomTopology(stream, { transfers: 'none' }),
  'chains on devices of several classes': (stream) =>
    withClasses(stream, randomTopology(stream, { transfers: 'none' })),
  dag: (stream) => withoutTransfers(randomDag(stream, { most: 6, shares: stream.uniform() < 0.5 })),
  cascade: (stream) => planTopologyOf(gearPlan(randomGears(stream)), { transfers: 'none' }),
} satisfies Record<string, (stream: Stream) => StageTopology>;

function withoutTransfers(topology: StageTopology): StageTopology {
  for (const pool of topology.pools) {
    pool.transferNs.fill(0);
    for (const edge of pool.edges) edge.transferNs.fill(0);
  }
  return topology;
}

/** randomGears draws a cascade of up to three models on up to four devices, with up to three gears. */
function randomGears(stream: Stream): GivenGears {
  const models = 1 + stream.integer(3);
  const all = Array.from({ length: models }, (_, model) => model);
  const latencyUs = all.map((model) => {
    const [fixed, perRow] = [(1 + model) * (500 + stream.integer(4000)), 100 + stream.integer(900)];
    return Array.from({ length: 1 + stream.integer(8) }, (_, b) => fixed + b * perRow);
  });
  const held = Array.from({ length: 1 + stream.integer(4) }, (_, device) =>
    device === 0 ? all : all.filter(() => stream.uniform() < 0.6),
  ).filter((ofDevice) => ofDevice.length > 0);
  const gears = Array.from({ length: 1 + stream.integer(3) }, (_, gear) => {
    const first = stream.integer(models);
    const last = first + stream.integer(models - first);
    const steps = all.slice(first, last + 1).map((model) => ({
      model,
      minQueue: oneOf(stream, 1, 1, 2),
      ...(model < last && { threshold: 0.2 + 0.6 * stream.uniform() }),
    }));
    return { toRps: 200 * (gear + 1), timeoutMs: stream.integer(8), steps };
  });
  return { latencyUs, held, gears, sloMs: 10 + stream.integer(60), intervalMs: oneOf(stream, 5, 30) };
}

function drawnArrivals(stream: Stream, { models }: StageTopology): Arrival[] {
  const rps = models.reduce((sum, { throughputRps }) => sum + throughputRps, 0);
  const gapNs = 1e9 / (rps * oneOf(stream, 0.1, 0.7, 1.2, 4));
  const burst = oneOf(stream, 1, 1, 12);
  let at = 0;
  let left = 0;
  return Array.from({ length: REQUESTS }, () => {
    left -= 1;
    if (left < 0) {
      left = stream.integer(burst);
      at += 1 + Math.round(stream.exponential() * gapNs * (1 + left));
    }
    return {
      at,
      model: stream.integer(models.length),
      rows: oneOf(stream, 1, 1, 2, 5),
      weight: oneOf(stream, 1, 1, 4),
    };
  });
}

/**
 * took says how long batches take: other times than planned, or a few nanoseconds more on each device, so that no two
 * end at once.
 */
function took(seed: number, varies: boolean): NonNullable<ServedRun['tookNs']> {
  return () => {
    const factor = streamOf(seed, 'factors');
    return (plannedNs, device) =>
      varies ? Math.round(plannedNs * (0.5 + factor.uniform())) : plannedNs + (1 + device) ** 2;
  };
}

type Choices = Partial<StageLocalPolicy> & { readonly scaling?: ScalingRule };

/** coreOf makes cores of a scheduler. Those that are put together of choices can take others. */
function coreOf(name: SchedulerName, topology: StageTopology, choices: Choices): ServedRun['makeCore'] {
  const { family, policy, core } = SCHEDULERS[name];
  const streams = streamsOf(3, 'core');
  if (family !== 'stage-local')
    return (decisions) => core(topology, { decisions, streams }, policy) as WatchedCore;
  const all = { ...(policy as unknown as StageLocalPolicy), ...choices, streams };
  return (decisions) => new StageLocalCore(topology, decisions, all);
}

/** drawnRun draws what comes to a scheduler and how long it takes. Some schedulers are full soon. */
function drawnRun(
  name: SchedulerName,
  topology: StageTopology,
  stream: Stream,
  more: Choices = {},
): ServedRun {
  const seed = stream.integer(1e6);
  const fate = uniformAt(seed, 'fates');
  const isFullSoon = stream.uniform() < 0.2 ? { mostTasks: 6 } : {};
  return {
    topology,
    arrivals: drawnArrivals(stream, topology),
    verdict: (arrival, row, pool) => bitsOf(topology, fate(16 * arrival + row, pool), pool),
    tookNs: took(seed, stream.uniform() < 0.5),
    makeCore: coreOf(name, topology, { ...isFullSoon, ...more }),
  };
}

/** scaled has some devices on standby, and a schedule that activates and retires devices while the requests of a run come. */
function scheduled(stream: Stream, topology: StageTopology, untilNs: number): ScalingRule {
  // A plan has some device in use from the beginning, so that cores are asked then.
  for (const [d, device] of topology.devices.entries()) device.standby = d > 0 && stream.uniform() < 0.4;
  const changes = Array.from({ length: 10 }, () => {
    const pool = stream.integer(topology.pools.length);
    const own = topology.devices.filter((device) => device.pool === pool).length;
    return { atNs: stream.integer(untilNs), pool, devices: stream.integer(own + 1) };
  });
  // Every device ends in use, so that what is never dropped can end.
  const last = topology.pools.map((_, pool) => {
    const own = topology.devices.filter((device) => device.pool === pool).length;
    return { atNs: untilNs + 1, pool, devices: own };
  });
  return { kind: 'schedule', changes: [...changes.sort((a, b) => a.atNs - b.atNs), ...last] };
}

/** heard is what a core heard and said, each with its time, without that it was asked to decide. */
function heard({ log }: Timeline): { at: number; entry: string }[] {
  let at = 0;
  return log.flatMap((entry) => {
    if (entry[0] !== 'said') at = entry[1]!;
    return entry[0] === 'decide' ? [] : [{ at, entry: String(entry) }];
  });
}

const IS_NEWS = /^(arrived|turnedAway|cancelled|executed|failed|due|deviceUp|deviceDown|drain)$/;

/**
 * tieAt is when a batch first ends at an instant at which something else happens too. A live driver lets its core decide on each
 * end at once, and a simulated one when it has heard of all, so that they may differ from there on.
 */
function tieAt(log: readonly LogEntry[]): number {
  let [lastWord, lastAt] = ['', -1];
  for (const [word, at] of log) {
    if (word === 'decide') lastAt = -1;
    if (!IS_NEWS.test(word)) continue;
    if (at === lastAt && (word === 'executed' || lastWord === 'executed')) return at;
    [lastWord, lastAt] = [word, at!];
  }
  return NEVER;
}

const seen = { cases: 0, ties: 0, words: new Map<string, number>() };

/** expectSame compares the timelines of a run up to its first tie, and counts what was compared. */
function expectSame(what: string, expected: Timeline, was: Timeline, tie = tieAt(expected.log)): void {
  const before = <T extends { readonly at: number }>(list: readonly T[]) => list.filter(({ at }) => at < tie);
  const [simulatedLog, liveLog] = [heard(expected), heard(was)].map((log) => before(log));
  const at = simulatedLog!.findIndex(({ entry }, i) => entry !== liveLog![i]?.entry);
  expect({ what, at, live: liveLog![at], count: liveLog!.length }).toEqual({
    what,
    at: -1,
    live: undefined,
    count: simulatedLog!.length,
  });
  expect(before(was.runs)).toEqual(before(expected.runs));
  expect(before(was.ended)).toEqual(before(expected.ended));
  expect(before(was.scaled)).toEqual(before(expected.scaled));
  seen.cases += 1;
  if (tie < NEVER) seen.ties += 1;
  for (const { entry } of simulatedLog!) count(/^said,\d+|^[a-zA-Z]+/.exec(entry)![0]);
  for (const { reason } of before(expected.ended)) if (reason !== undefined) count(reason);
}

function count(word: string): void {
  seen.words.set(word, (seen.words.get(word) ?? 0) + 1);
}

type Kind = keyof typeof KINDS;
const ALL = Object.keys(KINDS) as Kind[];
/** kindsOf lists kinds of plans that a scheduler serves: reservations are made for devices of one stage that are alike. */
const kindsOf = (name: SchedulerName): Kind[] => (name === 'reservation' ? ['chains'] : ALL);

/**
 * casesOf gives the kinds of plans and seeds by which a scheduler is tried. In `npm test` it is one kind, of which
 * other schedulers have others, and the second and the third test have every other scheduler.
 */
function casesOf(name: SchedulerName, test: 0 | 1 | 2): [Kind, number][] {
  const kinds = kindsOf(name);
  const turn = SCHEDULER_NAMES.indexOf(name) + test;
  const isTried = test === 0 || turn % 2 === 0;
  const tried = whole(isTried ? [kinds[(turn >> Math.sign(test)) % kinds.length]!] : [], kinds);
  const seeds = Array.from({ length: cases(whole(1, 4), 60) }, (_, i) => i + 1);
  return tried.flatMap((kind) => seeds.map((seed): [Kind, number] => [kind, seed]));
}

describe.each(SCHEDULER_NAMES)('The live driver under %s', (name) => {
  it('decides, executes and answers at the same instants as the simulated one', async () => {
    for (const [kind, seed] of casesOf(name, 0)) {
      const stream = streamOf(seed, `${kind} for ${name}`);
      const run = drawnRun(name, KINDS[kind](stream), stream);
      expectSame(`${kind} ${seed}`, simulated(run), await live(run));
    }
  });

  it('does so too while devices are activated and retired', async () => {
    if (name === 'reservation') return;
    for (const [kind, seed] of casesOf(name, 1)) {
      const stream = streamOf(seed, `scaled ${kind} for ${name}`);
      const topology = KINDS[kind](stream);
      const drawn = drawnRun(name, topology, stream);
      const untilNs = Math.ceil(1.2 * drawn.arrivals.at(-1)!.at) + 1;
      const scaling = scheduled(stream, topology, untilNs);
      const makeCore = coreOf(name, topology, { scaling });
      const run = { ...drawn, makeCore, activationNs: 1 + stream.integer(20 * MS) };
      expectSame(`${kind} ${seed}`, simulated(run), await live(run));
    }
  });

  it('does so too while devices go down and come back, batches fail, clients leave, and at the end it drains', async () => {
    for (const [kind, seed] of casesOf(name, 2)) {
      const stream = streamOf(seed, `troubled ${kind} for ${name}`);
      const topology = KINDS[kind](stream);
      const drawn = drawnRun(name, topology, stream);
      const untilNs = Math.ceil(1.2 * drawn.arrivals.at(-1)!.at) + 1;
      const isScaled = name !== 'reservation' && stream.uniform() < 0.5;
      const scaling = isScaled ? { scaling: scheduled(stream, topology, untilNs) } : {};
      const run: ServedRun = {
        ...drawn,
        makeCore: coreOf(name, topology, scaling),
        ...troubles(stream, drawn, untilNs),
        activationNs: 1 + stream.integer(20 * MS),
      };
      expectSame(`${kind} ${seed}`, simulatedTroubles(run), await live(run), NEVER);
    }
  });
});

/** troubles draws what goes wrong in a run: each device is lost once, and is back at the end at the latest. */
function troubles(
  stream: Stream,
  { arrivals, topology }: ServedRun,
  untilNs: number,
): Pick<ServedRun, 'arrivals' | 'outages' | 'fails' | 'tookNs' | 'shed' | 'drainAt'> {
  const outages = topology.devices.map((_, device): Outage => {
    const at = stream.integer(untilNs);
    return { at, device, until: at + 1 + stream.integer(untilNs) };
  });
  const left = arrivals.map((arrival) =>
    stream.uniform() < 0.1 ? { ...arrival, cancelAt: arrival.at + stream.integer(20 * MS) } : arrival,
  );
  // A batch that fails is told of later than one that ends at the same instant: then no two do.
  const isBroken = stream.uniform() < 0.5;
  return {
    arrivals: left,
    outages,
    ...(isBroken ? { fails: ([first], pool) => (7 * first! + pool) % 11 === 0 } : { tookNs: undefined }),
    shed: stream.uniform() < 0.5,
    ...(stream.uniform() < 0.5 && { drainAt: stream.integer(untilNs) }),
  };
}

/** EVERYTHING is what the events and decisions of a log and the reasons for drops are called. */
const EVERYTHING = [
  ...[
    'arrived',
    'cancelled',
    'started',
    'executed',
    'failed',
    'transferred',
    'due',
    'deviceUp',
    'deviceDown',
  ],
  ...['deadline', 'device-down', 'queue-full', 'draining', 'drain'],
  ...['execute', 'transfer', 'answer', 'drop', 'wakeAt', 'activate', 'retire', 'shift', 'collect'].map(
    (kind) => `said,${Decision[kind as keyof typeof Decision]}`,
  ),
];

describe('What the live driver was compared in', () => {
  it('has every event and decision of schedulers of stages, and few ties', () => {
    expect(EVERYTHING.filter((word) => !seen.words.has(word))).toEqual([]);
    expect(seen.ties).toBeLessThan(seen.cases / 100);
  });
});
