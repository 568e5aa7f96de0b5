import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { RAY_LIKE_POLICY } from '../../../src/serving/index.js';
import { ReplicaScaling, type ScalingSettings } from '../../../src/serving/workflow/replica-scaling.js';
import { cases, inWholeRun } from '../../cases.js';

const S = 1e9;

/** scaledBy asks a scaling of one component whenever it wants to be asked, and when the number of its tasks changes, in seconds. */
function scaledBy(
  changes: readonly (readonly [atS: number, tasks: number])[],
  settings: Partial<ScalingSettings> = {},
  first = 1,
): { readonly targets: [atS: number, target: number][]; readonly asked: number } {
  const scaling = new ReplicaScaling([{ first, most: 8 }], { ...RAY_LIKE_POLICY, ...settings });
  const targets: [number, number][] = [[0, first]];
  let [tasks, asked, place, at] = [0, 0, 0, 0];
  while (at < Number.POSITIVE_INFINITY) {
    while (place < changes.length && changes[place]![0] * S <= at) tasks = changes[place++]![1];
    const nextNs = scaling.decide(at, [tasks]);
    asked += 1;
    const target = scaling.targets[0]!;
    if (target !== targets.at(-1)![1]) targets.push([at / S, target]);
    expect(nextNs).toBeGreaterThan(at);
    at = Math.min(nextNs, (changes[place]?.[0] ?? Number.POSITIVE_INFINITY) * S);
  }
  return { targets, asked };
}

describe('ReplicaScaling', () => {
  it('follows the mean of three counts once it has asked for more for 30 s, and for fewer for 600 s', () => {
    // Six tasks are counted at 10 s, where the mean of 0 and 6 asks for two. From 30 s on the mean is 6, which asks for
    // three. After 101 s there are none: at 110 s the mean is 4, which asks for two, and from 130 s on it is 0.
    const { targets } = scaledBy([
      [1, 6],
      [101, 0],
    ]);
    expect(targets).toEqual([
      [0, 1],
      [40, 3],
      [710, 1],
    ]);
  });

  it('begins to wait anew when the wish has turned round or ended meanwhile', () => {
    // The mean asks for more from 10 s to 39 s, and again from 60 s on.
    const { targets } = scaledBy([
      [5, 6],
      [15, 0],
      [55, 9],
      [200, 0],
    ]);
    // At 60 s the mean is 3, at 70 s it is 6, and from 80 s on it is 9, which asks for five.
    expect(targets.slice(0, 2)).toEqual([
      [0, 1],
      [90, 5],
    ]);
  });

  it('asks for no more than there can be, and ends the last replica only where none is asked for', () => {
    const many = scaledBy([
      [0, 100],
      [100, 0],
    ]);
    // At 110 s the mean of 100, 0 and 0 still asks for all.
    expect(many.targets).toEqual([
      [0, 1],
      [30, 8],
      [720, 1],
    ]);
    // Without a least number the first replica comes at once; the last two go after 600 s each.
    const few = scaledBy(
      [
        [3, 4],
        [63, 0],
      ],
      { leastReplicas: 0 },
      0,
    );
    expect(few.targets).toEqual([
      [0, 0],
      [3, 1],
      [50, 2],
      [680, 1],
      [1280, 0],
    ]);
  });

  it('is not asked again for ever once nothing is to change', () => {
    expect(scaledBy([]).asked).toBe(1);
    const short = scaledBy([
      [1, 1],
      [2, 0],
    ]);
    expect(short.asked).toBeLessThan(10);
  });

  inWholeRun('does what a loop does that looks every tenth of a second, as Ray has it', () => {
    for (let seed = 0; seed < cases(30, 200); seed++) {
      const stream = streamOf(seed, 'loads');
      let atS = 0;
      const changes = Array.from({ length: 12 }, () => {
        atS += 1 + stream.integer(stream.uniform() < 0.3 ? 300 : 40);
        return [atS, stream.integer(12)] as [number, number];
      });
      changes.push([atS + 50, 0]);
      const leastReplicas = stream.integer(2);
      const first = leastReplicas + stream.integer(4);
      const settings = { leastReplicas, downscaleDelayNs: 60 * S };
      expect({ seed, ...scaledBy(changes, settings, first) }).toMatchObject({
        seed,
        targets: loopOf(changes, leastReplicas, first),
      });
    }
  });
});

/**
 * loopOf counts the turns of Ray's control loop in which the same was wanted, with a look every tenth of a second.
 * Times are whole seconds.
 */
function loopOf(
  changes: readonly (readonly [number, number])[],
  least: number,
  first: number,
): [number, number][] {
  const targets: [number, number][] = [[0, first]];
  const counts: number[] = [];
  let [target, desired, counter, tasks] = [first, first, 0, 0];
  for (let tenth = 0; tenth < 40_000; tenth++) {
    for (const [atS, count] of changes) if (atS * 10 === tenth) tasks = count;
    if (tenth % 100 === 0) {
      counts.push(tasks);
      const last = counts.slice(-3);
      const mean = last.reduce((sum, count) => sum + count, 0) / last.length;
      desired = Math.max(least, Math.min(8, Math.ceil(mean / 2)));
    }
    if (target === 0 && tasks > 0) target = 1;
    if (desired > target) counter = Math.max(counter, 0) + 1;
    else if (desired < target) counter = Math.min(counter, 0) - 1;
    else counter = 0;
    if (counter > 300 || counter < -600) {
      target = counter < 0 && target > 1 ? Math.max(1, desired) : desired;
      counter = 0;
    }
    if (target !== targets.at(-1)![1]) targets.push([Math.floor(tenth / 10), target]);
  }
  return targets;
}
