import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GraphBuilder } from '../../../examples/models/graph.js';
import { type PipelineSpec, sha256Of } from '../../../src/formats/index.js';
import type { Dice } from '../../seeded/dice.js';

/** MadePipeline is a random chain of stages, of which requests may leave each, with what its profiles say. */
export interface MadePipeline {
  readonly spec: Omit<PipelineSpec, 'cluster'>;
  readonly cluster: MadeCluster;
  readonly rps: number;
  /** By stage: how many of a request's tasks come to it. */
  readonly visits: readonly number[];
  /** By stage and class: milliseconds by batch. */
  readonly latencyMs: readonly Readonly<Record<string, Readonly<Record<string, number>>>>[];
}

interface MadeCluster {
  readonly kind: 'cluster';
  readonly activationDelayMs: number;
  readonly devices: Readonly<Record<string, { readonly hourlyCost: number; readonly count?: number }>>;
}

/** Tuners with such short times come to each of their decisions in a load of seconds. */
const TUNERS = [
  { kind: 'inferline', stabilityS: 0.5, lookBackS: 2, windowS: 1 },
  { kind: 'inferline', stabilityS: 0.5, lookBackS: 2, windowS: 1 },
  { kind: 'hpa', syncS: 0.5, stabilizationS: 0.5 },
  { kind: 'kpa', stableS: 2, panicS: 0.5 },
  { kind: 'by-rate', intervalS: 0.5, keepS: 1 },
] as const;

/** madePipeline draws up to three stages, whose loads some clusters cannot serve. */
export function madePipeline(dice: Dice): MadePipeline {
  const stages = 1 + dice.below(3);
  const classes = dice.chance(0.4) ? ['c0', 'c1'] : ['c0'];
  const batches = dice.pick([[1], [1, 2], [1, 2, 4]]);
  const latencyMs = Array.from({ length: stages }, () => {
    const ms = 4 + dice.below(30);
    return Object.fromEntries(classes.map((name, k) => [name, byBatch(ms / (1 + 2 * k), { batches, dice })]));
  });
  const probabilities = Array.from({ length: stages - 1 }, () => dice.pick([1, 0.3, 0.7]));
  const visits = Array.from({ length: stages }, (_, i) =>
    probabilities.slice(0, i).reduce((a, b) => a * b, 1),
  );
  const longestMs = latencyMs.reduce((sum, { c0 = {} }) => sum + (c0[1] as number), 0);
  const rps = 10 + dice.below(60);
  const spec = {
    kind: 'pipeline' as const,
    name: 'made',
    stages: probabilities.concat(1).map(stageOf),
    sloMs: dice.pick([2, 5, 20]) * longestMs,
    attainment: dice.pick([0.9, 0.99]),
    load: madeLoad(dice, rps),
    serving: { scheduler: dice.pick(['inferline', 'stage-local']), tuner: dice.pick(TUNERS) },
    planner: { method: dice.pick(['inferline', 'inferline', 'exact', 'coarse-mean'] as const), draws: 2 },
  };
  const cluster = { kind: 'cluster' as const, activationDelayMs: dice.pick([0, 300, 1500]), devices: {} };
  const devices = classes.map((name, k) => {
    const count = dice.chance(0.6) ? { count: 1 + dice.below(7) } : {};
    return [name, { hourlyCost: dice.pick([0.5, 1, 2]) * (1 + k), ...count }];
  });
  return { spec, cluster: { ...cluster, devices: Object.fromEntries(devices) }, rps, visits, latencyMs };
}

function byBatch(
  ms: number,
  { batches, dice }: { readonly batches: readonly number[]; readonly dice: Dice },
) {
  const share = dice.pick([0.1, 0.5, 0.9]);
  return Object.fromEntries(batches.map((batch) => [batch, ms * (1 + share * (batch - 1))]));
}

function madeLoad(dice: Dice, rps: number): NonNullable<PipelineSpec['load']> {
  const duration = `${2 + dice.below(4)}s`;
  const arrivals = dice.pick(['poisson', 'gamma', 'uniform'] as const);
  return { arrivals, rps, duration, ...(arrivals === 'gamma' ? { cv: dice.pick([0.5, 2, 4]) } : {}) };
}

function stageOf(probability: number, i: number, all: readonly number[]): PipelineSpec['stages'][number] {
  const [to, when] = [`s${i + 1}`, { output: 'score', index: 0, atLeast: 0 }];
  const edge = probability === 1 ? to : { to, probability, when };
  return {
    name: `s${i}`,
    profile: `s${i}.json`,
    inputs: { x: 'request.x' },
    ...(i < all.length - 1 ? { next: [edge] } : {}),
  };
}

/** written writes the spec with its cluster, profiles and model. It gives the path of the spec. */
export async function written({ spec, cluster, latencyMs }: MadePipeline, folder: string): Promise<string> {
  const builder = new GraphBuilder('score', 1);
  builder.node('Identity', [builder.input('x', 'float32', ['batch', 1])], { name: 'same', output: 'score' });
  builder.output('score', ['batch', 1]);
  const model = builder.bytes();
  await writeFile(join(folder, 'score.onnx'), model);
  const tensor = (name: string) => ({ name, dtype: 'float32', shape: [1, 1], batchAxis: 0 });
  for (const [i, byClass] of latencyMs.entries()) {
    const devices = Object.entries(byClass).map(([name, byBatches]) => {
      const cells = Object.entries(byBatches).map(([batch, ms]) => [batch, [1e3 * ms]]);
      return [name, { provider: 'cpu', threads: 1, blockLatencyUs: { 1: Object.fromEntries(cells) } }];
    });
    const profile = {
      kind: 'profile',
      version: '1.0',
      devices: Object.fromEntries(devices),
      model: {
        name: `s${i}`,
        file: 'score.onnx',
        sha256: sha256Of(model),
        inputs: [tensor('x')],
        outputs: [tensor('score')],
      },
      blocks: [{ nodes: ['same'], cutBytes: 4, weightBytes: 0, tensors: [tensor('score')] }],
    };
    await writeFile(join(folder, `s${i}.json`), JSON.stringify(profile));
  }
  await writeFile(join(folder, 'cluster.json'), JSON.stringify(cluster));
  const path = join(folder, 'spec.json');
  await writeFile(path, JSON.stringify({ ...spec, cluster: 'cluster.json' }));
  return path;
}
