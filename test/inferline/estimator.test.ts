import { describe, expect, it } from 'vitest';
import type { PlannedEdge } from '../../src/formats/index.js';
import {
  estimatorOf,
  type PlanningProblem,
  type Sample,
  type StageCandidate,
  type StageChoices,
} from '../../src/inferline/index.js';
import { pipelineTopologyOf, readStageGraph } from '../../src/plans/index.js';
import { streamOf } from '../../src/random/index.js';
import { INFERLINE_POLICY, type Pool, StageLocalCore } from '../../src/serving/index.js';
import { drawnFates } from '../../src/simulation/fates.js';
import { simulate } from '../../src/simulator/index.js';
import { arrivalsAt } from '../../src/workload/index.js';
import { cases, inWholeRun, WHOLE } from '../cases.js';
import { edge, pipelineOf } from '../pipeline-plans.js';
import { plainEstimator } from './plain-estimator.js';
import { randomProblem } from './random-problem.js';

/**
 * A random pipeline of up to seven stages, with splits, branches of both kinds and merges, and a sample. On a network,
 * each stage sends along one edge, for a shorter time than its shortest batch takes, so that no transfer meets another.
 * Where times are multiples of a step, arrivals and ends of batches often come together, and requests in bursts.
 */
function randomCase(seed: number, { network = false, stepUs = 0 } = {}) {
  const random = streamOf(seed, 'estimator');
  const whole = (least: number, most: number) => least + Math.floor(random.uniform() * (most - least + 1));
  const stages = whole(1, 7);
  const stepped = (us: number) => (stepUs === 0 ? us : stepUs * Math.max(1, Math.round(us / stepUs)));
  const names = Array.from({ length: stages }, (_, i) => `s${i}`);
  const exclusive: string[][] = [];
  const shapes = names.map((name, i) => {
    const later = names.slice(i + 1).filter(() => random.uniform() < 0.5);
    const isExclusive = later.length >= 2 && random.uniform() < 0.3 && exclusive.length === 0;
    if (isExclusive) exclusive.push(later);
    const next = later.map(
      (to): PlannedEdge =>
        isExclusive
          ? edge(to, 1 / later.length)
          : edge(to, random.uniform() < 0.5 ? 0.1 + 0.8 * random.uniform() : undefined),
    );
    if (network && next.length > 0) {
      const at = whole(0, next.length - 1);
      next[at] = { ...(next[at] as PlannedEdge), transferBytes: whole(1, 900) };
    }
    return {
      name,
      next,
      batch: whole(1, random.uniform() < 0.2 ? 64 : 6),
      latencyUs: stepped(500 + 3000 * random.uniform()),
    };
  });
  const replicas = names.map(() => whole(1, random.uniform() < 0.2 ? 20 : 3));
  const plan = pipelineOf(
    shapes,
    names.flatMap((name, i) => Array.from({ length: replicas[i] as number }, () => [name])),
    { exclusive, sloMs: 10, cluster: { devices: { cpu: {} }, ...(network ? { networkGbps: 1 } : {}) } },
  );
  let now = 0;
  const atNs = Float64Array.from({ length: whole(1, 300) }, () => {
    const gapNs = Math.ceil(random.exponential() * 1e6 * (0.2 + random.uniform()));
    now += stepUs === 0 ? gapNs : 1e3 * stepUs * Math.round(gapNs / (1e3 * stepUs));
    return now;
  });
  return { plan, atNs, replicas, fates: drawnFates(plan, seed) };
}

type Case = ReturnType<typeof randomCase>;

function problemOf({ plan }: Case): PlanningProblem {
  const topology = pipelineTopologyOf(plan);
  return {
    graph: readStageGraph(plan).graph,
    stages: plan.stages.map(({ batch, device }, i) => ({
      candidates: [
        { device, batches: [batch], latencyNs: topology.pools[i]?.latencyNs as Float64Array, hourlyCost: 1 },
      ],
    })),
    objectives: [{ attainment: 0.99, sloNs: 10e6 }],
    counts: {},
    transferNs: ({ from, edge: { to }, rows }) => {
      const pool = topology.pools[from] as Pool;
      // Pools of a chain have no edges.
      const sender = pool.edges?.find((sent) => sent.to === to) ?? pool;
      return sender.transferNs[rows - 1] as number;
    },
  };
}

function sampleOf({ plan, atNs, fates }: Case): Sample {
  return {
    atNs,
    verdicts: plan.stages.map(({ next }, stage) =>
      next.some(({ probability }) => probability !== undefined)
        ? Int32Array.from(atNs, (_, r) => fates(r, 0, stage))
        : undefined,
    ),
  };
}

function simulated({ plan, atNs, fates }: Case): Float64Array {
  const topology = pipelineTopologyOf(plan);
  const latencyNs = new Float64Array(atNs.length).fill(Number.NaN);
  const orders = new Map<number, number>();
  let count = 0;
  simulate({
    topology,
    makeCore: (decisions) => new StageLocalCore(topology, decisions, INFERLINE_POLICY),
    arrivals: arrivalsAt([...atNs]),
    verdict: fates,
    observers: [
      {
        arrived: (_at, _model, request) => orders.set(request, count++),
        ended: (at, _model, request, arrivedNs) => {
          latencyNs[orders.get(request) as number] = at - arrivedNs;
        },
      },
    ],
  });
  return latencyNs;
}

function configurationOf({ plan, replicas }: Case) {
  return {
    candidate: new Int32Array(plan.stages.length),
    batch: Int32Array.from(plan.stages, ({ batch }) => batch),
    replicas: Int32Array.from(replicas),
  };
}

/** mergesEdges says whether several edges lead to a stage. */
function mergesEdges({ plan }: Case): boolean {
  const ends = plan.stages.flatMap(({ next }) => next.map(({ to }) => to));
  return new Set(ends).size < ends.length;
}

const CASES = cases(WHOLE ? 300 : 60, 10_000);

describe('estimatorOf()', () => {
  inWholeRun(
    'gives every request the latency that the simulator gives it under the scheduler inferline',
    () => {
      for (let seed = 0; seed < CASES; seed++) {
        const one = randomCase(seed);
        const { latencyNs, attainments } = estimatorOf(problemOf(one), sampleOf(one)).estimate(
          configurationOf(one),
        );
        expect(attainments).toEqual([latencyNs.filter((ns) => ns <= 10e6).length / latencyNs.length]);
        expect([seed, ...latencyNs]).toEqual([seed, ...simulated(one)]);
      }
    },
  );

  inWholeRun(
    'gives every request the latency that the simulator gives it where transfers wait for no link',
    () => {
      for (let seed = 0; seed < CASES; seed++) {
        const one = randomCase(seed, { network: true });
        const { latencyNs } = estimatorOf(problemOf(one), sampleOf(one)).estimate(configurationOf(one));
        expect([seed, ...latencyNs]).toEqual([seed, ...simulated(one)]);
      }
    },
  );

  it('does so too where requests come in bursts and batches end together, unless edges merge at the same time', () => {
    let compared = 0;
    for (let seed = 0; seed < CASES; seed++) {
      const one = randomCase(seed, { stepUs: [250, 500, 1000][seed % 3] as number });
      if (mergesEdges(one)) continue;
      const { latencyNs } = estimatorOf(problemOf(one), sampleOf(one)).estimate(configurationOf(one));
      expect([seed, ...latencyNs]).toEqual([seed, ...simulated(one)]);
      compared += 1;
    }
    expect(compared).toBeGreaterThan(CASES / 3);
  });

  it('estimates after any changes what a new Estimator estimates', () => {
    for (let seed = 0; seed < CASES; seed++) {
      const { problem, sample } = randomProblem(seed, { mostStages: 6, requests: 60, limits: true });
      const random = streamOf(seed, 'changes');
      const estimator = estimatorOf(problem, sample);
      const configuration = {
        candidate: new Int32Array(problem.stages.length),
        batch: Int32Array.from(problem.stages, ({ candidates }) => candidates[0]?.batches[0] as number),
        replicas: new Int32Array(problem.stages.length).fill(1),
      };
      for (let change = 0; change < 12; change++) {
        const stage = random.integer(problem.stages.length);
        const { candidates } = problem.stages[stage] as StageChoices;
        if (random.uniform() < 0.5) configuration.replicas[stage] = 1 + random.integer(4);
        else {
          const candidate = random.integer(candidates.length);
          const { batches } = candidates[candidate] as StageCandidate;
          configuration.candidate[stage] = candidate;
          configuration.batch[stage] = batches[random.integer(batches.length)] as number;
        }
        const { latencyNs, attainments } = estimator.estimate(configuration);
        const anew = estimatorOf(problem, sample).estimate(configuration);
        expect([seed, change, ...latencyNs]).toEqual([seed, change, ...anew.latencyNs]);
        expect(attainments).toEqual(anew.attainments);
      }
    }
  });

  it('counts how many replicas are busy at once, at most, where each visit has one', () => {
    const found = new Set<number>();
    for (let seed = 0; seed < CASES / 3; seed++) {
      const one = randomCase(seed, { stepUs: seed % 2 === 0 ? 0 : 500 });
      if (mergesEdges(one)) continue;
      const each = { ...configurationOf(one), replicas: new Int32Array(one.plan.stages.length).fill(300) };
      const { mostBusy } = estimatorOf(problemOf(one), sampleOf(one)).estimate(each);
      const { spansNs } = plainEstimator(problemOf(one), sampleOf(one)).estimate(each);
      for (const [stage, spans] of spansNs.entries()) {
        const busy = spans.map(([at]) => spans.filter(([start, done]) => start <= at && at < done).length);
        expect([seed, stage, mostBusy?.(stage)]).toEqual([seed, stage, Math.max(0, ...busy)]);
        found.add(Math.max(0, ...busy));
      }
    }
    expect(found.size).toBeGreaterThan(5);
  });

  it('counts a latency of exactly the SLO as in time', () => {
    const one = {
      plan: pipelineOf([{ name: 'only', latencyUs: 1000 }], [['only']]),
      atNs: Float64Array.of(0, 500_000, 5_000_000),
      replicas: [1],
      fates: () => 0,
    };
    const objectives = [1e6, 1.5e6, 1.5e6 - 1].map((sloNs) => ({ attainment: 0.9, sloNs }));
    const problem = { ...problemOf(one), objectives };
    const { attainments, latencyNs } = estimatorOf(problem, sampleOf(one)).estimate(configurationOf(one));
    expect([...latencyNs]).toEqual([1e6, 1.5e6, 1e6]);
    expect(attainments).toEqual([2 / 3, 1, 2 / 3]);
  });
});
