import { describe, expect, it } from 'vitest';
import type { PlannedEdge } from '../../src/artifacts/index.js';
import { estimatorOf, type PlanningProblem, type Sample } from '../../src/inferline/index.js';
import { readStageGraph } from '../../src/pipeline/index.js';
import { streamOf } from '../../src/random/index.js';
import { FIFO_POLICY, pipelineTopologyOf, StageLocalCore } from '../../src/serving/index.js';
import { drawnFates } from '../../src/simulation/fates.js';
import { simulate } from '../../src/simulator/index.js';
import { arrivalsAt } from '../../src/workload/index.js';
import { edge, pipelineOf } from '../pipeline-plans.js';

/** A random pipeline of up to seven stages, with splits, branches of both kinds and merges, and a sample. */
function randomCase(seed: number) {
  const random = streamOf(seed, 'estimator');
  const whole = (least: number, most: number) => least + Math.floor(random.uniform() * (most - least + 1));
  const stages = whole(1, 7);
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
    return {
      name,
      next,
      batch: whole(1, random.uniform() < 0.2 ? 64 : 6),
      latencyUs: 500 + 3000 * random.uniform(),
    };
  });
  const replicas = names.map(() => whole(1, random.uniform() < 0.2 ? 20 : 3));
  const plan = pipelineOf(
    shapes,
    names.flatMap((name, i) => Array.from({ length: replicas[i] as number }, () => [name])),
    { exclusive },
  );
  let now = 0;
  const atNs = Float64Array.from({ length: whole(1, 300) }, () => {
    now += Math.ceil(random.exponential() * 1e6 * (0.2 + random.uniform()));
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
    makeCore: (decisions) => new StageLocalCore(topology, decisions, FIFO_POLICY),
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

const CASES = process.env.TEST_LONG === undefined ? 300 : 10_000;

describe('estimatorOf()', () => {
  it('gives every request the latency that the simulator gives it where no deadline makes a batch smaller', () => {
    for (let seed = 0; seed < CASES; seed++) {
      const one = randomCase(seed);
      const { latencyNs, attainments } = estimatorOf(problemOf(one), sampleOf(one)).estimate(
        configurationOf(one),
      );
      expect(attainments).toEqual([latencyNs.filter((ns) => ns <= 10e6).length / latencyNs.length]);
      expect([seed, ...latencyNs]).toEqual([seed, ...simulated(one)]);
    }
  });
});
