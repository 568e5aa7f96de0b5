import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CascadeSpec } from '../../../src/formats/index.js';
import type { Dice } from '../../seeded/dice.js';

const DEVICE = 'gpu';

/** RandomModel is a model of a random family. */
export interface RandomModel {
  readonly name: string;
  readonly latencyUs: readonly number[];
  readonly isRight: readonly boolean[];
  readonly certainty: readonly number[];
}

/** RandomCascade is a spec of kind `cascade` with its family, which is small enough to be planned in a second. */
export interface RandomCascade {
  readonly models: readonly RandomModel[];
  readonly spec: CascadeSpec;
}

/**
 * randomCascade draws a family of one to three models, from cheaper to dearer ones, and what is asked of it. Latencies may
 * have a batch that is much faster than its neighbours, and the latency that is promised is a few times what a model takes.
 */
export function randomCascade(dice: Dice): RandomCascade {
  const samples = dice.pick([20, 60, 400, 9_000]);
  const batches = dice.pick([1, 2, 4, 8, 16]);
  const ease = Array.from({ length: samples }, () => normal(dice));
  let us = 200 * 10 ** share(dice);
  const models = Array.from({ length: 1 + dice.below(3) }, (_, m): RandomModel => {
    us *= 1.5 + 4 * share(dice);
    const perSample = 0.05 + 0.9 * share(dice);
    const outlier = dice.chance(0.3) ? 1 + dice.below(batches) : 0;
    const right = ease.map((z) => 0.2 + 0.4 * m + z + 0.5 * normal(dice));
    return {
      name: `m${m}`,
      latencyUs: Array.from({ length: batches }, (_, b) =>
        Math.max(1, Math.round(us * (1 + perSample * b) * (b + 1 === outlier ? 0.3 : 1))),
      ),
      isRight: right.map((x) => x > 0),
      certainty: right.map((x) => Math.round(1000 * Math.tanh(Math.abs(x + 0.3 * normal(dice)))) / 1000),
    };
  });
  const devices = 1 + dice.below(3);
  const slowest = models[dice.below(models.length)] as RandomModel;
  const perSecond = (1e6 * batches * devices) / (slowest.latencyUs.at(-1) as number);
  return {
    models,
    spec: specOf(dice, { models, devices, perSecond, slowestUs: slowest.latencyUs[0] as number }),
  };
}

function specOf(
  dice: Dice,
  asked: {
    readonly models: readonly RandomModel[];
    readonly devices: number;
    readonly perSecond: number;
    readonly slowestUs: number;
  },
): CascadeSpec {
  const objective = dice.pick(['accuracy', 'accuracy', 'accuracy', 'latency', 'devices'] as const);
  const isAccurate = objective !== 'accuracy' || dice.chance(0.2);
  const best = Math.max(...asked.models.map(accuracyOf));
  return {
    kind: 'cascade',
    name: 'case',
    records: 'records.csv',
    cluster: { devices: { [DEVICE]: { count: asked.devices } } },
    models: asked.models.map(({ name }) => ({ name, profile: `${name}.json` })),
    slo: {
      ...(objective === 'latency'
        ? {}
        : { latencyMs: (asked.slowestUs / 1e3) * (0.8 + 8 * share(dice) ** 2) }),
      ...(isAccurate ? { accuracy: Math.max(0.01, best * (0.7 + 0.3 * share(dice))) } : {}),
      ...(objective !== 'latency' && dice.chance(0.2) ? { quantile: dice.pick([0.5, 0.9, 0.99]) } : {}),
    },
    load: {
      maxRps: asked.perSecond * (0.1 + 0.9 * share(dice)),
      ranges: 1 + dice.below(4),
      intervalMs: dice.pick([20, 100, 500]),
    },
    planner: {
      method: dice.pick(['gears', 'gears', 'gears', 'ms+', 'static', 'dynba', 'exhaustive'] as const),
      objective,
      thresholds: 1 + dice.below(6),
    },
  };
}

export function accuracyOf({ isRight }: Pick<RandomModel, 'isRight'>): number {
  return isRight.filter(Boolean).length / isRight.length;
}

/** writeCascade writes a spec with its profiles and records, and gives its path. */
export async function writeCascade({ models, spec }: RandomCascade, folder: string): Promise<string> {
  const lines = models.flatMap(({ name, isRight, certainty }) =>
    isRight.map((right, sample) => `${sample},${name},${right ? 1 : 0},1,${certainty[sample]}`),
  );
  await writeFile(
    join(folder, 'records.csv'),
    `sample,model,prediction,label,certainty\n${lines.join('\n')}\n`,
  );
  for (const { name, latencyUs } of models) {
    const byBatch = Object.fromEntries(latencyUs.map((us, b) => [b + 1, [us]]));
    const profile = {
      kind: 'profile',
      version: '1.0',
      model: { name },
      blocks: [{ cutBytes: 0, weightBytes: 1000 }],
      devices: { [DEVICE]: { blockLatencyUs: { 1: byBatch } } },
    };
    await writeFile(join(folder, `${name}.json`), JSON.stringify(profile));
  }
  const path = join(folder, 'spec.json');
  await writeFile(path, JSON.stringify(spec));
  return path;
}

const PARTS = 1 << 30;

function share(dice: Dice): number {
  return (dice.below(PARTS) + 0.5) / PARTS;
}

function normal(dice: Dice): number {
  return Math.sqrt(-2 * Math.log(share(dice))) * Math.cos(2 * Math.PI * share(dice));
}
