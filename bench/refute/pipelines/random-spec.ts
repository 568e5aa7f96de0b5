import type { PipelineSpec, Profile } from '../../../src/formats/index.js';
import type { Dice } from '../../seeded/dice.js';

/** RandomPipeline is a spec of a small pipeline with the profile of each of its stages. */
export interface RandomPipeline {
  readonly spec: PipelineSpec;
  readonly profiles: readonly Profile[];
}

const BATCHES = [1, 2, 4];
const CLASSES = ['a', 'b'];

/**
 * randomPipeline draws a DAG of one to three stages, with fixed replicas and batches at times, on one or two classes that
 * may be scarce, with links that may be slow, a load of a second or two, and an SLO that may be tight.
 */
export function randomPipeline(dice: Dice): RandomPipeline {
  const classes = CLASSES.slice(0, 1 + dice.below(2));
  const stages = 1 + dice.below(3);
  const profiles = Array.from({ length: stages }, (_, i) => profileOf(dice, `m${i}`, classes));
  const rps = 40 + dice.below(160);
  const pathMs = profiles.reduce((sum, profile) => sum + fastestMs(profile), 0);
  const spec: PipelineSpec = {
    kind: 'pipeline',
    name: 'p',
    cluster: clusterOf(dice, classes),
    stages: profiles.map((_, i) => ({
      name: `s${i}`,
      profile: `m${i}.json`,
      ...nextOf(dice, i, stages),
      ...(dice.chance(0.3) ? { replicas: 1 + dice.below(3) } : {}),
      ...(dice.chance(0.2) ? { batch: dice.pick(BATCHES) } : {}),
    })),
    sloMs: Number((pathMs * (0.7 + 3 * (dice.below(1000) / 1000))).toFixed(2)),
    attainment: dice.pick([0.5, 0.9, 0.95, 0.99]),
    load: { arrivals: 'poisson', rps, duration: dice.pick(['1s', '2s']) },
    planner: { method: dice.pick(['inferline', 'exact']), draws: 1 + dice.below(3) },
  };
  // Most specs leave the scheduler to the planner, and proofs are strongest of `inferline`.
  const named = dice.other('serving');
  if (named.chance(0.5))
    spec.serving = { scheduler: named.pick(['inferline', 'inferline', 'room-first', 'pard', 'stage-local']) };
  const others = dice.other('applications');
  return { spec: others.chance(0.4) ? withApplications(others, spec) : spec, profiles };
}

/** withApplications puts two or three applications in place of the SLO, with SLOs from shorter to much longer than it. */
function withApplications(dice: Dice, { sloMs = 0, ...spec }: PipelineSpec): PipelineSpec {
  const shares = dice.pick([
    [0.5, 0.5],
    [0.05, 0.95],
    [0.25, 0.25, 0.5],
  ]);
  const applications = shares.map((share, k) => {
    const factor = dice.pick([0.8, 1, 1.5, 4]);
    return { name: `a${k}`, share, sloMs: Number((factor * sloMs).toFixed(2)) };
  });
  return { ...spec, applications };
}

function clusterOf(dice: Dice, classes: readonly string[]): Exclude<PipelineSpec['cluster'], string> {
  const devices = classes.map((name, k) => {
    const count = dice.chance(0.7) ? { count: 1 + dice.below(6) } : {};
    return [name, { hourlyCost: [1, 2.5][k] as number, perServer: dice.pick([1, 2, 4]), ...count }] as const;
  });
  return {
    kind: 'cluster',
    devices: Object.fromEntries(devices),
    ...(dice.chance(0.6) ? { networkGbps: dice.pick([0.2, 1, 10]) } : {}),
  };
}

function profileOf(dice: Dice, name: string, classes: readonly string[]): Profile {
  const work = 1000 + dice.below(9000);
  const own = classes.filter((_, k) => k === 0 || dice.chance(0.8));
  const devices = own.map((device, k) => {
    const rowUs = (work * (0.2 + dice.below(80) / 100)) / [1, 2][k]!;
    const fixedUs = work * (0.2 + dice.below(100) / 100);
    // At times more rows take much longer, so that batches should stay small.
    const stepUs = dice.chance(0.2) ? 3 * work : 0;
    const latency = (batch: number) => [Math.round(fixedUs + rowUs * batch + (batch > 2 ? stepUs : 0))];
    const byBatch = Object.fromEntries(BATCHES.map((batch) => [String(batch), latency(batch)]));
    return [device, { blockLatencyUs: { 1: byBatch } }] as const;
  });
  const cutBytes = dice.chance(0.7) ? dice.below(400_000) : 0;
  return {
    kind: 'profile',
    version: '1.0',
    model: { name },
    blocks: [{ cutBytes, weightBytes: 1000 }],
    devices: Object.fromEntries(devices),
  } as Profile;
}

function nextOf(dice: Dice, i: number, stages: number): Pick<PipelineSpec['stages'][number], 'next'> {
  const later = Array.from({ length: stages - i - 1 }, (_, k) => `s${i + 1 + k}`);
  const [first, second] = later;
  if (first === undefined) return {};
  // Every stage has one that leads to it: the next is always among those that a stage leads to.
  const to = (name: string) => (dice.chance(0.4) ? { to: name, probability: dice.pick([0.3, 0.6]) } : name);
  return { next: [to(first), ...(second !== undefined && dice.chance(0.4) ? [to(second)] : [])] };
}

function fastestMs({ devices }: Profile): number {
  const all = Object.values(devices).map(({ blockLatencyUs }) => blockLatencyUs[1]?.[1]?.[0] as number);
  return Math.min(...all) / 1e3;
}
