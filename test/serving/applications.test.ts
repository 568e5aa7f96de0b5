import { describe, expect, it } from 'vitest';
import { type Stream, streamOf, streamsOf } from '../../src/random/index.js';
import type { ServedModel, StageTopology } from '../../src/serving/index.js';
import { SCHEDULERS } from '../../src/serving/schedulers.js';
import { PlanColumns } from '../../src/serving/state/index.js';
import { beyondChains, sharingFirst, slosSharing } from '../../src/serving/topology.js';
import { cases, seeds, whole } from '../cases.js';
import { randomDag } from './dags.js';
import { surviveStorm } from './storm.js';
import { type Run, runVirtual, type WatchedCore } from './virtual-driver.js';

type Name = keyof typeof SCHEDULERS;

const NAMES = Object.keys(SCHEDULERS) as Name[];
const HANDS_AHEAD: Partial<Record<Name, boolean>> = { reactive: true, reservation: true };

/** coreOf makes cores of a scheduler with its own policy. */
function coreOf(name: Name, seed: number): NonNullable<Run['makeCore']> {
  const { core, policy } = SCHEDULERS[name];
  return (topology, decisions) =>
    core(topology, { decisions, streams: streamsOf(seed, 'core') }, policy) as WatchedCore;
}

/** chainOf is a topology of a chain with the pools of a DAG, of which each leads to the next. */
function chainOf(dag: StageTopology): StageTopology {
  const { pools } = dag;
  return {
    ...dag,
    routes: { kind: 'chains' },
    pools: pools.map((pool, i) => {
      const transferNs = new Float64Array(pool.batch);
      const edge = { to: i + 1, when: { kind: 'always' as const }, transferNs, transferBytes: 0 };
      return { ...pool, transferNs, edges: i === pools.length - 1 ? [] : [edge] };
    }),
  };
}

/** shared is the topology with applications of these SLOs, which share all its pools. */
function shared(topology: StageTopology, slosNs: readonly number[]): StageTopology {
  const [one] = topology.models as [ServedModel];
  return { ...topology, models: slosNs.map((sloNs, m) => ({ ...one, name: `a${m}`, sloNs })) };
}

/** topologyFor draws a DAG, or a chain where the scheduler serves no other. */
function topologyFor(name: Name, stream: Stream): StageTopology {
  const dag = randomDag(stream, { most: 5 });
  return name === 'reservation' ? chainOf(dag) : dag;
}

/** burstOf draws arrivals of so many applications, alone and together, at rates from little to far too much. */
function burstOf(stream: Stream, models: number): { at: number; model: number }[] {
  const meanNs = 1e6 * [0.3, 1, 3, 10][stream.integer(4)]!;
  let at = 0;
  return Array.from({ length: 150 }, () => {
    if (stream.uniform() < 0.8) at += Math.round(meanNs * stream.exponential());
    return { at, model: stream.integer(models) };
  });
}

describe('applications that share stages', () => {
  for (const name of NAMES)
    it(`are served by ${name} as one is, batch for batch, where their SLOs are equal`, () => {
      for (const seed of seeds(whole(2, 12), 300)) {
        const stream = streamOf(seed, 'equal');
        const topology = topologyFor(name, stream);
        const { sloNs } = topology.models[0] as ServedModel;
        const count = 2 + stream.integer(2);
        const arrivals = burstOf(stream, count);
        const chosen = { makeCore: coreOf(name, seed), handsAhead: HANDS_AHEAD[name] ?? true };
        const verdict = (arrival: number, row: number, pool: number) =>
          Math.floor(16 * streamOf(seed, `${arrival} ${row} ${pool}`).uniform());
        const serve = (slosNs: number[], sent: typeof arrivals) => {
          const { ended, executed } = runVirtual({
            topology: shared(topology, slosNs),
            arrivals: sent,
            verdict,
            ...chosen,
          });
          return { ended, executed };
        };
        const one = serve(
          [sloNs],
          arrivals.map(({ at }) => ({ at, model: 0 })),
        );
        const several = serve(
          Array.from({ length: count }, () => sloNs),
          arrivals,
        );
        expect(several, `seed ${seed}`).toEqual(one);
      }
    });

  for (const name of NAMES)
    it(`survive a storm under ${name} with SLOs from short to long, each request ended once`, () => {
      for (const seed of seeds(whole(1, 6), 100)) {
        const stream = streamOf(seed, 'storms');
        const topology = topologyFor(name, stream);
        const { sloNs } = topology.models[0] as ServedModel;
        const slosNs = [0.4, 1, 5].map((factor) => Math.round(factor * sloNs));
        surviveStorm(seed, shared(topology, slosNs), cases(200, 300), {
          makeCore: coreOf(name, seed),
          handsAhead: true,
          shed: seed % 2 === 0,
          comesBack: true,
        });
      }
    });

  it('of which one has a longer SLO are served the more urgent first by deadline, and both in time', () => {
    const topology = shared(chainOf(randomDag(streamOf(3, 'one'), { most: 1 })), [2e9, 1e9]);
    const [pool] = topology.pools as [StageTopology['pools'][number]];
    Object.assign(pool, { batch: 1, latencyNs: Float64Array.of(3e8), transferNs: new Float64Array(1) });
    pool.devices.splice(1);
    topology.devices.splice(1);
    const arrivals = [0, 0, 0, 1].map((model, i) => ({ at: i, model }));
    for (const name of ['stage-local', 'pard-lbf', 'room-first'] as const) {
      const { executed, ended } = runVirtual({
        topology,
        arrivals,
        makeCore: coreOf(name, 1),
        handsAhead: true,
      });
      const order = executed.toSorted((a, b) => a.from - b.from).flatMap((one) => one.arrivals);
      expect(order.indexOf(3), name).toBeLessThan(order.indexOf(2));
      expect(
        ended.map(({ outcome }) => outcome),
        name,
      ).toEqual(['inTime', 'inTime', 'inTime', 'inTime']);
    }
  });
});

describe('sharingFirst() and slosSharing()', () => {
  const model = (sloNs: number, ...entries: number[]): ServedModel => ({
    name: 'm',
    sloNs,
    throughputRps: 1,
    entries,
  });

  it('group models by their entries, and leave those without pipelines to themselves', () => {
    const models = [model(5, 3), model(7), model(2, 0), model(9, 3), model(1), model(4, 3)];
    expect([...sharingFirst({ models })]).toEqual([0, 1, 2, 0, 4, 0]);
    const { leastNs, mostNs } = slosSharing({ models });
    expect([...leastNs]).toEqual([4, 7, 2, 4, 1, 4]);
    expect([...mostNs]).toEqual([9, 7, 2, 9, 1, 9]);
  });
});

describe('PlanColumns', () => {
  it('has the least SLO of the applications of a pool, and says which may overtake others', () => {
    const topology = shared(chainOf(randomDag(streamOf(1, 'columns'))), [3e8, 1e8, 3e8]);
    const columns = new PlanColumns(topology);
    expect(new Set(columns.poolSloNs)).toEqual(new Set([1e8]));
    expect([...columns.mayOvertake]).toEqual([0, 1, 0]);
    expect(beyondChains(topology)).toEqual([]);
  });
});
