import type { PlanningProblem, Sample, StageCandidate, StageChoices } from '../../src/inferline/problem.js';
import { scaleFactors } from '../../src/pipeline/index.js';
import { readStageGraph, type StageGraph } from '../../src/plans/index.js';
import { type Stream, streamOf } from '../../src/random/index.js';
import { randomGraph } from '../plans/pipeline/random-graph.js';

/** Drawn says what a random problem is like. */
interface Drawn {
  readonly mostStages: number;
  readonly requests: number;
  readonly batches?: readonly number[];
  /** Whether classes may have counts, transfers may take time, and choices may be fixed. */
  readonly limits?: boolean;
  /** The number of samples. */
  readonly draws?: number;
  /** Whether stages must keep up with a mean rate, which is half to three times that of the samples. */
  readonly keepsUp?: boolean;
  /** Whether requests are of two or three applications, some of which hardly any request is of. */
  readonly applications?: boolean;
}

const CLASSES = ['cpu', 'k80', 'v100'];
const PRICES = [0.4, 1, 3];

/** randomProblem draws a small pipeline and samples of bursty arrivals; about one in four is infeasible. */
export function randomProblem(
  seed: number,
  {
    mostStages,
    requests,
    batches = [1, 2, 4],
    limits = false,
    draws = 1,
    keepsUp = false,
    applications = false,
  }: Drawn,
): { problem: PlanningProblem; sample: Sample; samples: readonly Sample[] } {
  const stream = streamOf(seed, 'problem');
  const graph = graphOf(seed, mostStages);
  const stages = graph.names.map(() => choicesOf(stream, { batches, limits }));
  const pathNs = stages.reduce(
    (sum, { candidates }) => sum + Math.min(...candidates.map(({ latencyNs }) => latencyNs[0] as number)),
    0,
  );
  const slackful = Math.round(pathNs * (0.6 + 2.5 * stream.uniform()));
  const objectives = [{ attainment: [0.9, 0.95, 0.99, 1][stream.integer(4)] as number, sloNs: slackful }];
  if (stream.uniform() < 0.3) objectives.push({ attainment: 0.7, sloNs: Math.round(slackful * 0.8) });
  const counts =
    limits && stream.uniform() < 0.6 ? { [CLASSES[stream.integer(3)] as string]: 1 + stream.integer(4) } : {};
  const transferNs = (move: { fromDevice: string; toDevice: string; rows: number }): number =>
    move.fromDevice === move.toDevice ? 0 : 3 * move.rows;
  const problem = {
    graph,
    stages,
    objectives,
    counts,
    ...(limits && stream.uniform() < 0.4 ? { transferNs } : {}),
  };
  const gapNs = 15 + 60 * stream.uniform();
  const samples = Array.from({ length: draws }, () => sampleOf(graph, stream, { requests, gapNs }));
  const rps = ((0.5 + 2.5 * streamOf(seed, 'rate').uniform()) * 1e9) / gapNs;
  const load = { rps, visits: scaleFactors(graph).factors };
  const drawn = { problem: keepsUp ? { ...problem, load } : problem, samples };
  const asked = applications ? withApplications(streamOf(seed, 'applications'), drawn) : drawn;
  return { ...asked, sample: asked.samples[0] as Sample };
}

/** withApplications gives each request to an application, whose SLO is 0.8 to 5 times that of all. */
function withApplications(
  stream: Stream,
  { problem, samples }: { problem: PlanningProblem; samples: readonly Sample[] },
): { problem: PlanningProblem; samples: readonly Sample[] } {
  const [{ attainment, sloNs }] = problem.objectives as [PlanningProblem['objectives'][number]];
  const count = 2 + stream.integer(2);
  const objectives = Array.from({ length: count }, (_, application) => ({
    attainment,
    application,
    sloNs: Math.round(sloNs * [0.8, 1, 1.5, 5][stream.integer(4)]!),
  }));
  const rare = stream.uniform() < 0.3;
  const applicationOf = () => (rare && stream.uniform() < 0.9 ? 0 : stream.integer(count));
  return {
    problem: { ...problem, objectives },
    samples: samples.map((sample) => ({
      ...sample,
      applications: Uint8Array.from(sample.atNs, applicationOf),
    })),
  };
}

function graphOf(seed: number, mostStages: number): StageGraph {
  if (mostStages === 1 || seed % 5 === 0) return readStageGraph({ stages: [{ name: 's0' }] }).graph;
  return readStageGraph(randomGraph(seed, mostStages)).graph;
}

function choicesOf(
  stream: Stream,
  { batches, limits }: { batches: readonly number[]; limits: boolean },
): StageChoices {
  const workNs = 20 + stream.integer(80);
  const all = CLASSES.map((device, k): StageCandidate => {
    const rowNs = workNs / [1, 3, 12][k]! / (0.5 + stream.uniform());
    const fixedNs = workNs * [0.3, 0.4, 0.3][k]! * (0.5 + stream.uniform());
    const sizes = limits && stream.uniform() < 0.15 ? [batches.at(-1) as number] : batches;
    const latencyNs = Float64Array.from({ length: sizes.at(-1) as number }, (_, n) =>
      Math.ceil(fixedNs + rowNs * (n + 1)),
    );
    return { device, batches: sizes, latencyNs, hourlyCost: PRICES[k] as number };
  });
  const kept = all.filter(() => stream.uniform() < 0.75);
  const candidates = kept.length > 0 ? kept : all.slice(1);
  return limits && stream.uniform() < 0.1 ? { candidates, replicas: 1 + stream.integer(3) } : { candidates };
}

function sampleOf(
  graph: StageGraph,
  stream: Stream,
  { requests, gapNs }: { requests: number; gapNs: number },
): Sample {
  let at = 0;
  const atNs = Float64Array.from(
    { length: requests },
    () => (at += Math.round(gapNs * stream.gamma(0.5) * 2)),
  );
  const verdicts = graph.edges.map((edges) => {
    const conditional = edges.filter(({ probability }) => probability < 1);
    if (conditional.length === 0) return undefined;
    return Int32Array.from({ length: requests }, () => {
      const drawn = new Map<number, number>();
      return conditional.reduce((bits, { probability, group }, bit) => {
        if (group === undefined) return bits | (stream.uniform() < probability ? 1 << bit : 0);
        const left = drawn.get(group) ?? stream.uniform();
        drawn.set(group, left - probability);
        return bits | (left >= 0 && left < probability ? 1 << bit : 0);
      }, 0);
    });
  });
  return { atNs, verdicts };
}
