import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { ReservationTable } from '../../../src/serving/reservation/reservation-table.js';

/** Grid finds the same slots by trying every instant. */
class Grid {
  private readonly taken: number[][];

  constructor(
    resources: number,
    private readonly span: number,
  ) {
    this.taken = Array.from({ length: resources }, () => new Array(span).fill(-1));
  }

  isFree(resource: number, start: number, length: number): boolean {
    return this.taken[resource]!.slice(start, start + length).every((owner) => owner === -1);
  }

  earliest(resources: number[], from: number, length: number): number {
    for (let at = from; at < this.span; at++) {
      if (resources.every((resource) => this.isFree(resource, at, length))) return at;
    }
    throw new Error('Cannot find a slot: the grid is too short');
  }

  set(resource: number, start: number, end: number, owner: number): void {
    this.taken[resource]!.fill(owner, start, end);
  }

  remove(resource: number, owner: number): void {
    this.taken[resource] = this.taken[resource]!.map((at) => (at === owner ? -1 : at));
  }
}

describe('ReservationTable', () => {
  it('finds the same earliest slots of one resource and of two as trying every instant does', () => {
    for (let seed = 1; seed <= 30; seed++) {
      const stream = streamOf(seed, 'table');
      const table = new ReservationTable(3);
      const grid = new Grid(3, 2000);
      const held: [resource: number, owner: number][] = [];
      for (let owner = 0; owner < 60; owner++) {
        const from = stream.integer(300);
        const length = 1 + stream.integer(20);
        const [one, other] = [stream.integer(3), stream.integer(3)];
        const both = table.earliestCommonSlot(one, other, from, length);
        expect(both).toBe(grid.earliest([one, other], from, length));
        const start = table.earliestSlot(one, from, length);
        expect(start).toBe(grid.earliest([one], from, length));
        table.insert(one, start, start + length, owner);
        grid.set(one, start, start + length, owner);
        held.push([one, owner]);
        if (stream.uniform() < 0.4) {
          const [resource, gone] = held.splice(stream.integer(held.length), 1)[0]!;
          table.remove(resource, gone, 0);
          grid.remove(resource, gone);
        }
      }
    }
  });

  it('keeps reservations in the order of their starts, and knows when the last ends', () => {
    const table = new ReservationTable(2);
    for (const start of [50, 10, 90, 30, 70, 110]) table.insert(1, start, start + 5, start);
    expect(Array.from({ length: table.count(1) }, (_, i) => table.owner(1, i))).toEqual([
      10, 30, 50, 70, 90, 110,
    ]);
    expect(table.busyUntil[1]).toBe(115);
    table.remove(1, 110, 0);
    expect(table.busyUntil[1]).toBe(95);
    expect(table.moveTo(1, 4, 100)).toBe(105);
    expect(table.busyUntil[1]).toBe(105);
    expect(table.count(0)).toBe(0);
  });
});
