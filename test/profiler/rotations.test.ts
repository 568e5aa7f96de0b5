import { describe, expect, test } from 'vitest';
import { type Need, rotationsOf, stepsOf } from '../../src/profiler/rotations.js';
import { streamOf } from '../../src/random/index.js';

const MIB = 2 ** 20;

function needs(...mebibytes: number[]) {
  const needOf = (part: number): Need => ({ workingBytes: mebibytes[part]! * MIB, weightBytes: MIB });
  return { parts: [...mebibytes.keys()], needOf };
}

describe('rotationsOf()', () => {
  test('puts all parts into one rotation where they take little memory', () => {
    const { parts, needOf } = needs(90, 30, 30, 50, 56);
    expect(rotationsOf(parts, { needOf, limitBytes: 2 ** 40 })).toEqual([parts]);
  });

  test('gives no rotation more memory than the largest part alone takes, and fills rotations evenly', () => {
    const { parts, needOf } = needs(1000, 600, 700, 300, 400, 500);
    const rotations = rotationsOf(parts, { needOf, limitBytes: 2 ** 40 });
    expect(rotations[0]).toEqual([0]);
    expect(rotations.flat().sort()).toEqual(parts);
    expect(rotations).toHaveLength(4);
    for (const rotation of rotations.slice(1)) {
      const mebibytes = rotation.reduce((sum, part) => sum + needOf(part).workingBytes, 0) / MIB;
      expect(mebibytes).toBeLessThanOrEqual(1000);
      expect(mebibytes).toBeGreaterThanOrEqual(700);
    }
  });

  test('divides parts by their memory, with weights, until they fit within the limit or are single', () => {
    const { parts, needOf } = needs(50, 40, 40);
    expect(rotationsOf(parts, { needOf, limitBytes: 133 * MIB })).toEqual([parts]);
    expect(rotationsOf(parts, { needOf, limitBytes: 132 * MIB })).toHaveLength(2);
    expect(rotationsOf(parts, { needOf, limitBytes: MIB })).toEqual([[0], [1], [2]]);
  });

  test('holds weights of at most 1.5 times the heaviest part, or 256 MiB', () => {
    const weights = [400, 100, 300, 100, 200, 200];
    const needOf = (part: number): Need => ({ workingBytes: MIB, weightBytes: weights[part]! * MIB });
    const parts = [...weights.keys()];
    const rotations = rotationsOf(parts, { needOf, limitBytes: 2 ** 40 });
    expect(rotations.flat().sort()).toEqual(parts);
    for (const rotation of rotations)
      expect(rotation.reduce((sum, part) => sum + weights[part]!, 0)).toBeLessThanOrEqual(600);
    const light = (part: number): Need => ({ workingBytes: MIB, weightBytes: (weights[part]! * MIB) / 6 });
    expect(rotationsOf(parts, { needOf: light, limitBytes: 2 ** 40 })).toEqual([parts]);
  });

  test('holds every part once and in order, whatever the parts need', () => {
    const { uniform } = streamOf(5, 'needs');
    for (let k = 0; k < 100; k++) {
      const { parts, needOf } = needs(
        ...Array.from({ length: 1 + Math.floor(uniform() * 9) }, () => uniform() * 900),
      );
      const rotations = rotationsOf(parts, { needOf, limitBytes: uniform() * 3000 * MIB });
      expect(rotations.flat().sort((a, b) => a - b)).toEqual(parts);
      for (const rotation of rotations) expect([...rotation].sort((a, b) => a - b)).toEqual(rotation);
    }
  });
});

describe('stepsOf()', () => {
  test("puts half of the compared part's runs before the other rotations and half after", () => {
    const { parts, needOf } = needs(600, 1000, 700);
    const steps = stepsOf(parts, { compared: 1, needOf, limitBytes: 2 ** 40 });
    expect(steps.map(({ parts, share }) => [parts, share])).toEqual([
      [[1], 0.5],
      [[0], 1],
      [[2], 1],
      [[1], 0.5],
    ]);
    const shared = needs(100, 90, 90, 30);
    const halves = stepsOf(shared.parts, { compared: 0, needOf: shared.needOf, limitBytes: 2 ** 40 });
    expect(halves).toEqual([
      { parts: [0, 3], share: 0.5 },
      { parts: [1, 2], share: 1 },
      { parts: [0, 3], share: 0.5 },
    ]);
  });

  test('measures the compared part once where there is one rotation', () => {
    const { parts, needOf } = needs(100, 90);
    const steps = stepsOf(parts, { compared: 0, needOf, limitBytes: 2 ** 40 });
    expect(steps).toEqual([{ parts, share: 1 }]);
  });
});
