import { describe, expect, it } from 'vitest';
import { NONE } from '../../../src/collections/index.js';
import { OpenBatches } from '../../../src/serving/state/open-batches.js';

const tasksOf = (batches: OpenBatches, batch: number) =>
  Array.from({ length: batches.size(batch) }, (_, i) => batches.task(batch, i));

describe('OpenBatches', () => {
  it('keeps the tasks of each batch in the order they were added, and its pool and device', () => {
    const batches = new OpenBatches(3);
    const [one, other] = [batches.open(4, 7), batches.open(5, 8)];
    for (const task of [30, 10, 20]) batches.add(one, task);
    batches.add(other, 40);
    expect([tasksOf(batches, one), tasksOf(batches, other)]).toEqual([[30, 10, 20], [40]]);
    expect([batches.pool(one), batches.device(one)]).toEqual([4, 7]);
    expect([batches.pool(other), batches.device(other)]).toEqual([5, 8]);
  });

  it('add() refuses one task more than the largest batch holds', () => {
    const batches = new OpenBatches(2);
    const batch = batches.open(0, 0);
    batches.add(batch, 1);
    batches.add(batch, 2);
    expect(() => batches.add(batch, 3)).toThrow('larger than any planned');
    expect(tasksOf(batches, batch)).toEqual([1, 2]);
  });

  it('keeps, after set() and truncate(), the tasks set at the front, and add() continues behind them', () => {
    const batches = new OpenBatches(3);
    batches.open(0, 0);
    const batch = batches.open(0, 0);
    for (const task of [10, 20, 30]) batches.add(batch, task);
    batches.set(batch, 0, 20);
    batches.set(batch, 1, 30);
    batches.truncate(batch, 2);
    expect(tasksOf(batches, batch)).toEqual([20, 30]);
    batches.add(batch, 40);
    expect(tasksOf(batches, batch)).toEqual([20, 30, 40]);
  });

  it('moveTo() sets another pool, with a device of it or none yet', () => {
    const batches = new OpenBatches(1);
    const batch = batches.open(1, 2);
    batches.moveTo(batch, 3, NONE);
    expect([batches.pool(batch), batches.device(batch)]).toEqual([3, NONE]);
    batches.moveTo(batch, 3, 9);
    expect(batches.device(batch)).toBe(9);
  });

  it("isMoving() from setMoving() until the batch's number is used again", () => {
    const batches = new OpenBatches(1);
    const batch = batches.open(0, 0);
    expect(batches.isMoving(batch)).toBe(false);
    batches.setMoving(batch);
    expect(batches.isMoving(batch)).toBe(true);
    batches.close(batch);
    expect(batches.open(0, 0)).toBe(batch);
    expect(batches.isMoving(batch)).toBe(false);
  });

  it('close() empties a batch and gives its number to the next', () => {
    const batches = new OpenBatches(2);
    const [one, other] = [batches.open(0, 0), batches.open(0, 0)];
    batches.add(one, 10);
    expect(batches.count).toBe(2);
    batches.close(one);
    expect([batches.count, batches.size(one)]).toEqual([1, 0]);
    expect(batches.open(5, 6)).toBe(one);
    expect([batches.count, batches.size(one), batches.pool(one), batches.device(one)]).toEqual([2, 0, 5, 6]);
    expect(other).not.toBe(one);
  });

  it('open() empties a batch whose number was used before, whatever happened to it since', () => {
    const batches = new OpenBatches(2);
    const batch = batches.open(0, 0);
    batches.close(batch);
    batches.truncate(batch, 1);
    expect(batches.size(batches.open(0, 0))).toBe(0);
  });

  it('keeps everything when it grows for more batches', () => {
    const batches = new OpenBatches(3);
    for (let i = 0; i < 70; i++) {
      const batch = batches.open(i, 2 * i);
      if (i % 2 === 0) batches.setMoving(batch);
      for (const task of [i, i + 100, i + 200]) batches.add(batch, task);
    }
    for (let i = 0; i < 70; i++) {
      expect(tasksOf(batches, i)).toEqual([i, i + 100, i + 200]);
      expect([batches.pool(i), batches.device(i), batches.isMoving(i)]).toEqual([i, 2 * i, i % 2 === 0]);
    }
  });
});
