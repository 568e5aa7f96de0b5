import { streamOf } from '../../src/random/index.js';
import {
  type Decisions,
  type LogEntry,
  replay,
  StageLocalCore,
  type StageLocalPolicy,
  type Topology,
} from '../../src/serving/index.js';
import { randomDag, visitsOf } from './dags.js';
import { type Arrival, type Ended, runVirtual, STREAMS, type Watched } from './virtual-driver.js';

const MS = 1e6;

/** A stage of a row of a request, as a key. */
const keyOf = (arrival: number, row: number, stage: number) => `${arrival}/${row}/${stage}`;

/** fatesOf draws what each stage says of each row: always the same for one row of one arrival. */
export function fatesOf(seed: number): (arrival: number, row: number, stage: number) => number {
  const known = new Map<string, number>();
  return (arrival, row, stage) => {
    const key = keyOf(arrival, row, stage);
    const verdict = known.get(key) ?? streamOf(seed, key).uniform();
    known.set(key, verdict);
    return verdict;
  };
}

/** bitsOf makes the bits of a verdict, for a stage whose edges are taken by bits. */
export const bitsOf = (topology: Topology, uniform: number, stage: number) =>
  topology.pools[stage]!.edges.some(({ when }) => when.kind === 'unsure')
    ? uniform
    : Math.floor(uniform * 2 ** topology.pools[stage]!.edges.length);

/** Followed keeps when each stage of each row was executed, and when it was reached. */
class Followed {
  readonly executed = new Map<string, number>();
  private readonly reached = new Map<string, number[]>();

  constructor(private readonly visits: (arrival: number, row: number) => ReturnType<typeof visitsOf>) {}

  readonly watch = ({ what, pool, to, at, from, rows }: Watched): void => {
    for (const { arrival, row } of rows) {
      if (what === 'transferred') {
        const key = keyOf(arrival, row, to!);
        this.reached.set(key, [...(this.reached.get(key) ?? []), at]);
        continue;
      }
      const visit = this.visits(arrival, row).find(({ stage }) => stage === pool);
      if (visit === undefined) throw new Error('a stage is executed that the row does not come to');
      const key = keyOf(arrival, row, pool);
      if (this.executed.has(key)) throw new Error('a stage is executed twice for a row');
      this.executed.set(key, at);
      const inputs = this.reached.get(key) ?? [];
      if (inputs.length !== visit.from.length)
        throw new Error('a stage begins before all its inputs are there');
      if (inputs.some((input) => input > from)) throw new Error('a stage begins before an input has come');
    }
  };
}

function arrivalsOf(seed: number, count: number, gapNs: number): Arrival[] {
  const stream = streamOf(seed, 'arrivals');
  let at = 0;
  return Array.from({ length: count }, () => {
    at += Math.ceil(stream.exponential() * gapNs);
    const cancel = stream.uniform() < 0.1 ? { cancelAt: at + stream.integer(60 * MS) } : {};
    return { at, rows: 1 + stream.integer(3), weight: [1, 1, 4, 10][stream.integer(4)]!, ...cancel };
  });
}

const oneOf = <T>(seed: number, purpose: string, ...choices: readonly T[]): T =>
  choices[streamOf(seed, purpose).integer(choices.length)]!;

/**
 * surviveDagStorm serves a random DAG while anything may go wrong at once: clients leave, devices fail, are lost and come
 * back, pools are scaled, and the server drains. It throws where a stage is executed that a row does not come to, before its
 * inputs or twice, where a request is answered without all of its stages, or where a log gives other decisions. The driver
 * throws where the core breaks its own rules.
 */
export function surviveDagStorm(seed: number, policy: StageLocalPolicy): Ended[] {
  const stream = streamOf(seed, 'case');
  const topology = randomDag(stream, { shares: stream.uniform() < 0.5, standby: stream.uniform() < 0.5 });
  const fate = fatesOf(seed);
  const verdict = (arrival: number, row: number, stage: number) =>
    bitsOf(topology, fate(arrival, row, stage), stage);
  const visits = (arrival: number, row: number) =>
    visitsOf(topology.pools, (stage) => verdict(arrival, row, stage));
  const followed = new Followed(visits);
  const arrivals = arrivalsOf(seed, 60, MS * oneOf(seed, 'gap', 0.5, 3, 20));
  const breaks = stream.uniform() < 0.4;
  const log: LogEntry[] = [];
  const scaling = {
    kind: 'schedule' as const,
    changes: [
      ...Array.from({ length: stream.integer(6) }, () => {
        const pool = stream.integer(topology.pools.length);
        const devices = stream.integer(topology.pools[pool]!.devices.length + 1);
        return { atNs: stream.integer(400) * MS, pool, devices };
      }),
      // Every device ends in use, so that what is never dropped can end.
      ...topology.pools.map(({ devices }, pool) => ({ atNs: 950 * MS, pool, devices: devices.length })),
    ],
  };
  const { ended } = runVirtual({
    topology,
    arrivals,
    policy,
    verdict,
    scaling,
    activationDelayNs: stream.integer(30) * MS,
    handsAhead: policy.placement === 'earliest-free',
    watch: followed.watch,
    fails: () => breaks && stream.uniform() < 0.03,
    outages: breaks
      ? topology.devices.map((_, device) => ({ device, at: stream.integer(500) * MS, until: 900 * MS }))
      : [],
    log: (entry) => log.push(entry),
    ...(stream.uniform() < 0.2 ? { drainAt: 300 * MS } : {}),
  });
  for (const { arrival, outcome } of ended) {
    if (outcome !== 'inTime' && outcome !== 'late') continue;
    for (let row = 0; row < arrivals[arrival]!.rows!; row++)
      for (const { stage } of visits(arrival, row))
        if (!followed.executed.has(keyOf(arrival, row, stage)))
          throw new Error(`the request of arrival ${arrival} is answered without stage ${stage}`);
  }
  const makeCore = (decisions: Decisions) =>
    new StageLocalCore(topology, decisions, { ...policy, scaling, streams: STREAMS });
  if (!replay(log, makeCore).same) throw new Error('the log gives other decisions');
  return ended;
}
