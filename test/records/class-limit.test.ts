import { describe, expect, it } from 'vitest';
import type { TensorSpec } from '../../src/formats/index.js';
import { classLimitOf } from '../../src/records/index.js';

const tells = (name: string, classes: number): TensorSpec => ({
  name,
  dtype: 'float32',
  shape: [1, classes],
  batchAxis: 0,
});

describe('classLimitOf()', () => {
  it('finds the model that distinguishes the fewest classes, by the output that has its scores', () => {
    const models = [
      { name: 'a', outputs: [tells('scores', 10)] },
      { name: 'b', outputs: [tells('box', 4), tells('scores', 9)], output: 'scores' },
      { name: 'c', outputs: [tells('scores', 9)] },
    ];
    expect(classLimitOf(models)).toEqual({ model: 'b', classes: 9 });
  });

  it('says nothing of models whose outputs are not known, several, or no scores of classes', () => {
    expect(
      classLimitOf([
        { name: 'a' },
        { name: 'b', outputs: [tells('x', 4), tells('y', 3)] },
        { name: 'c', outputs: [tells('x', -1)] },
        { name: 'd', outputs: [tells('x', 1)] },
      ]),
    ).toBeUndefined();
  });
});
