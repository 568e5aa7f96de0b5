import { describe, expect, it } from 'vitest';
import { topologyOf } from '../../../src/plans/index.js';
import { streamOf } from '../../../src/random/index.js';
import { INFERLINE_POLICY, type StageLocalPolicy } from '../../../src/serving/index.js';
import { ENGINE_POLICIES } from '../../../src/serving/stage-local/index.js';
import { clashes } from '../../../src/serving/stage-local/policy.js';
import { seeds, whole } from '../../cases.js';
import { planOf } from '../plans.js';
import { type Outage, runVirtual, STREAMS } from '../virtual-driver.js';
import { type Engine, type PlainStage, plainEngine } from './engines.js';

const MS = 1e6;
const SLO_MS = 60;

/** policyOf is the policy of an engine. */
function policyOf(engine: Engine): StageLocalPolicy {
  switch (engine.name) {
    case 'ray-serve':
      return {
        ...ENGINE_POLICIES['ray-serve'],
        formation: { kind: 'gathered', gatherNs: engine.gatherNs },
      };
    case 'ray-serve-batch':
      return {
        ...ENGINE_POLICIES['ray-serve-batch'],
        formation: { kind: 'sealed', timeoutNs: engine.timeoutNs },
        drop: { kind: 'timed-out', slos: engine.requestTimeoutNs / (SLO_MS * MS) },
      };
    case 'triton':
      return { ...ENGINE_POLICIES.triton, formation: { kind: 'delay', delayNs: engine.delayNs } };
  }
}

/** chain draws stages whose latencies are whole microseconds and arrivals that are not. */
function chain(seed: number): { stages: PlainStage[]; arrivals: number[] } {
  const stream = streamOf(seed, 'engines');
  const stages = Array.from({ length: 1 + stream.integer(3) }, (): PlainStage => {
    const batch = 1 + stream.integer(6);
    const [fixedUs, rowUs] = [1000 + stream.integer(8000), 200 + stream.integer(2000)];
    const latencyNs = Array.from({ length: batch }, (_, i) => (fixedUs + rowUs * (i + 1)) * 1000);
    return { replicas: 1 + stream.integer(4), batch, latencyNs };
  });
  const rps = Math.min(
    ...stages.map(({ replicas, batch, latencyNs }) => (replicas * batch * 1e9) / latencyNs[batch - 1]!),
  );
  const load = [0.4, 0.8, 1, 1.4][stream.integer(4)]!;
  let at = 0;
  const arrivals = Array.from({ length: 300 }, () => {
    at += 1 + Math.floor((stream.exponential() * 1e9) / (load * rps));
    return at;
  });
  return { stages, arrivals };
}

/** served lets the core serve a chain, and gives what became of the requests in the order of arrival. */
function served(
  stages: readonly PlainStage[],
  arrivals: readonly number[],
  policy: StageLocalPolicy,
  outages: Outage[] = [],
) {
  const parts = stages.map(({ replicas, batch, latencyNs }) => ({
    batch,
    virtualGpus: replicas,
    latencyUs: (size: number) => latencyNs[size - 1]! / 1000,
  }));
  const topology = topologyOf(planOf([{ sloMs: SLO_MS, pipelines: [{ throughputRps: 1, parts }] }]));
  const { ended, executed } = runVirtual({
    topology,
    arrivals: arrivals.map((at) => ({ at })),
    policy,
    outages,
  });
  const ends = [...ended]
    .sort((a, b) => a.arrival - b.arrival)
    .map(({ outcome, at }) => ({ what: outcome === 'dropped' ? 'dropped' : 'answered', at }));
  return { ends, executed };
}

/** fastShare is the share of requests that the faster of two replicas serves, of 10 and 40 ms, at 0.8 of their rate. */
function fastShare(policy: StageLocalPolicy): number {
  const part = { batch: 1, virtualGpus: 2, latencyUs: () => 10_000 };
  const topology = topologyOf(planOf([{ sloMs: 10_000, pipelines: [{ throughputRps: 1, parts: [part] }] }]));
  const stream = streamOf(1, 'unlike');
  let at = 0;
  const arrivals = Array.from({ length: 5000 }, () => {
    at += Math.ceil(stream.exponential() * 10 * MS);
    return { at };
  });
  const executionNs = (_pool: number, _size: number, device: number) => (device === 0 ? 10 : 40) * MS;
  const { executed } = runVirtual({ topology, arrivals, policy, executionNs });
  return executed.filter(({ device }) => device === 0).length / executed.length;
}

const ENGINES: Engine[] = [
  { name: 'ray-serve', gatherNs: 0 },
  { name: 'ray-serve', gatherNs: 5 * MS },
  { name: 'ray-serve-batch', timeoutNs: 10 * MS, requestTimeoutNs: 2 * SLO_MS * MS },
  { name: 'ray-serve-batch', timeoutNs: 3 * MS, requestTimeoutNs: 0.75 * SLO_MS * MS },
  { name: 'triton', delayNs: 0 },
  { name: 'triton', delayNs: 4 * MS },
];

describe.each(ENGINES)('The scheduler $name of random chains ($timeoutNs, $delayNs)', (engine) => {
  it('ends every request at the same nanosecond as a plain computation of the engine', () => {
    const counts = { answered: 0, dropped: 0 };
    for (const seed of seeds(whole(4, 15), 300)) {
      const { stages, arrivals } = chain(seed);
      const draws = STREAMS('dispatch');
      const wanted = plainEngine({ engine, stages, arrivals, sloNs: SLO_MS * MS, draws });
      const { ends } = served(stages, arrivals, policyOf(engine));
      expect({ seed, ends }).toEqual({ seed, ends: wanted });
      for (const { what } of wanted) counts[what] += 1;
    }
    expect(Math.min(counts.answered, counts.dropped)).toBeGreaterThan(whole(10, 100));
  });
});

/** One stage of 2 devices and batches of up to 3, which take 20 ms. */
const STAGE: PlainStage = { replicas: 2, batch: 3, latencyNs: [20 * MS, 20 * MS, 20 * MS] };
const ONE: PlainStage = { ...STAGE, replicas: 1 };
const BATCHED = policyOf({ name: 'ray-serve-batch', timeoutNs: 10 * MS, requestTimeoutNs: 120 * MS });

describe('The schedulers of engines', () => {
  it('ray-serve-batch lets a lone request wait the timeout out, though its replica is idle', () => {
    const { ends } = served([STAGE], [5 * MS], BATCHED);
    expect(ends).toEqual([{ what: 'answered', at: 35 * MS }]);
  });

  it('ray-serve-batch seals batches while the replica is busy: a full one, one after its timeout, and they start in order', () => {
    // 0, 1, 2 are a batch; 4 and 14 another, since 14 comes at the very end of its time; 15 is alone.
    const { executed } = served(
      [ONE],
      [0, 1, 2, 4, 14, 15].map((ms) => ms * MS),
      BATCHED,
    );
    expect(executed.map(({ from, arrivals }) => [from / MS, arrivals])).toEqual([
      [2, [0, 1, 2]],
      [22, [3, 4]],
      [42, [5]],
    ]);
  });

  it('ray-serve-batch ends a request at its timeout, also while it is executed, and keeps it until its last nanosecond', () => {
    const policy = (timeoutMs: number) =>
      policyOf({ name: 'ray-serve-batch', timeoutNs: 0, requestTimeoutNs: timeoutMs * MS });
    expect(served([ONE], [0], policy(20)).ends).toEqual([{ what: 'answered', at: 20 * MS }]);
    expect(served([ONE], [0], policy(19)).ends).toEqual([{ what: 'dropped', at: 19 * MS + 1 }]);
    // The second waits for the device, which the first holds to its end.
    expect(served([ONE], [0, MS], policy(30)).ends).toEqual([
      { what: 'answered', at: 20 * MS },
      { what: 'dropped', at: 31 * MS + 1 },
    ]);
  });

  it('ray-serve-batch lets what a lost replica held come to another one anew, and tries alone what was lost in execution', () => {
    const policy: StageLocalPolicy = {
      ...policyOf({ name: 'ray-serve-batch', timeoutNs: 5 * MS, requestTimeoutNs: 300 * MS }),
      dispatch: { kind: 'turns' },
    };
    // By turns, 0, 2 and 4 come to replica 0, which is lost at 8 ms with 0 in execution.
    const arrivals = [0, 0, 6, 6, 7, 7].map((ms) => ms * MS);
    const pairs = { ...STAGE, batch: 2 };
    const { executed } = served([pairs], arrivals, policy, [{ at: 8 * MS, device: 0 }]);
    expect(executed.map(({ from, arrivals: batch }) => [from / MS, batch])).toEqual([
      [5, [0]],
      [5, [1]],
      [25, [3, 5]],
      [45, [0]],
      [65, [2, 4]],
    ]);
  });

  it('triton takes a full batch at once, and less when the oldest has waited for the delay', () => {
    const policy = policyOf({ name: 'triton', delayNs: 8 * MS });
    const { executed } = served(
      [STAGE],
      [0, 1, 2, 30, 33].map((ms) => ms * MS),
      policy,
    );
    expect(executed.map(({ from, arrivals }) => [from / MS, arrivals])).toEqual([
      [2, [0, 1, 2]],
      [38, [3, 4]],
    ]);
  });

  it('triton without a delay and queue policy serves as inferline does, and ray-serve of one replica a stage that gathers nothing too', () => {
    for (const seed of seeds(whole(3, 10), 100)) {
      const { stages, arrivals } = chain(seed);
      const drop = { kind: 'never' } as const;
      const { ends, executed } = served(stages, arrivals, { ...ENGINE_POLICIES.triton, drop });
      expect({ ends, executed }).toEqual(served(stages, arrivals, INFERLINE_POLICY));
      const single = stages.map((stage) => ({ ...stage, replicas: 1 }));
      const formation = { kind: 'gathered', gatherNs: 0 } as const;
      const alone = served(single, arrivals, { ...ENGINE_POLICIES['ray-serve'], drop, formation });
      expect(alone).toEqual(served(single, arrivals, INFERLINE_POLICY));
    }
  });

  it('ray-serve spreads requests by their number: an unlike replica that is four times as fast serves less than four times as many', () => {
    expect(fastShare(ENGINE_POLICIES['ray-serve'])).toBeGreaterThan(0.6);
    expect(fastShare(ENGINE_POLICIES['ray-serve'])).toBeLessThan(0.79);
  });
});

describe('ENGINE_POLICIES', () => {
  it('spreads requests over pipelines by their planned rates, takes them as they come and corrects nothing', () => {
    for (const policy of Object.values(ENGINE_POLICIES))
      expect(policy).toMatchObject({
        choice: { kind: 'proportional' },
        order: { kind: 'fifo' },
        late: { kind: 'drop' },
        correction: { kind: 'none' },
      });
  });
});

describe('clashes()', () => {
  it('lets batches be sealed only in queues of devices, in the order of arrival', () => {
    const sealed = ENGINE_POLICIES['ray-serve-batch'];
    expect(clashes(sealed)).toEqual([]);
    for (const changed of [{ placement: 'on-arrival' }, { order: { kind: 'deadline' } }] as const)
      expect(clashes({ ...sealed, ...changed }).map(({ choice }) => choice)).toEqual(['formation']);
  });
});
