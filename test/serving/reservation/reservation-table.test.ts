import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { ReservationTable } from '../../../src/serving/reservation/reservation-table.js';

/** Grid finds the same slots by trying every nanosecond. */
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
  it('finds the same earliest slots, of one resource and of two together, as trying every nanosecond does', () => {
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

  it('earliestSlot() takes a gap that is just long enough, and none that is a nanosecond shorter', () => {
    const table = new ReservationTable(1);
    table.insert(0, 10, 20, 1);
    table.insert(0, 25, 30, 2);
    expect([10, 11].map((length) => table.earliestSlot(0, 0, length))).toEqual([0, 30]);
    expect([5, 6].map((length) => table.earliestSlot(0, 12, length))).toEqual([20, 30]);
    expect([0, 20, 21, 29, 30, 31].map((from) => table.earliestSlot(0, from, 5))).toEqual([
      0, 20, 30, 30, 30, 31,
    ]);
  });

  it('insert() puts a reservation behind those with the same start, and keeps the latest end', () => {
    const table = new ReservationTable(1);
    table.insert(0, 10, 30, 1);
    table.insert(0, 10, 20, 2);
    expect([table.owner(0, 0), table.owner(0, 1)]).toEqual([1, 2]);
    expect(table.busyUntil[0]).toBe(30);
  });

  it('start(), end(), count() and total give the reservations of each resource', () => {
    const table = new ReservationTable(3);
    table.insert(1, 10, 12, 7);
    table.insert(1, 20, 23, 8);
    table.insert(2, 5, 6, 9);
    expect([table.start(1, 1), table.end(1, 1), table.start(2, 0), table.end(2, 0)]).toEqual([20, 23, 5, 6]);
    expect([0, 1, 2].map((resource) => table.count(resource))).toEqual([0, 2, 1]);
    expect(table.total).toBe(3);
  });

  it('remove() frees a resource from the given time, unless a later reservation holds it', () => {
    const table = new ReservationTable(2);
    table.insert(0, 10, 20, 1);
    table.insert(0, 30, 40, 2);
    table.insert(1, 10, 20, 1);
    table.remove(0, 2, 35);
    expect([table.count(0), table.busyUntil[0]]).toEqual([1, 20]);
    table.remove(0, 1, 15);
    expect([table.count(0), table.busyUntil[0]]).toEqual([0, 15]);
    expect([table.count(1), table.busyUntil[1]]).toEqual([1, 20]);
  });

  it('remove() changes nothing where the owner holds nothing, even if it holds the next resource', () => {
    const table = new ReservationTable(2);
    table.insert(0, 10, 20, 1);
    table.insert(1, 10, 20, 2);
    table.insert(1, 30, 40, 3);
    table.remove(0, 2, 99);
    expect([table.count(0), table.busyUntil[0], table.owner(0, 0)]).toEqual([1, 20, 1]);
    expect([table.count(1), table.owner(1, 0), table.owner(1, 1)]).toEqual([2, 2, 3]);
    for (let i = 2; i < 5; i++) table.insert(0, 10 * i, 10 * i + 5, 10 * i);
    // The row is now as long as it can be without growing.
    table.remove(0, 2, 99);
    expect(table.count(0)).toBe(4);
  });

  it('remove() takes a reservation out of a row of any length, and keeps the others in order', () => {
    for (const length of [1, 2, 3, 5, 33, 34, 35, 80]) {
      for (const gone of new Set([0, 1, 2, length - 34, length - 33, length - 32, length - 2, length - 1])) {
        if (gone < 0 || gone >= length) continue;
        const table = new ReservationTable(2);
        for (let i = 0; i < length; i++) {
          table.insert(0, 10 * i, 10 * i + i, 100 + i);
          table.insert(1, 10 * i, 10 * i + 1, 500 + i);
        }
        table.remove(0, 100 + gone, 7);
        const rows = (resource: number) =>
          Array.from({ length: table.count(resource) }, (_, i) => [
            table.owner(resource, i),
            table.start(resource, i),
            table.end(resource, i),
          ]);
        const left = Array.from({ length }, (_, i) => [100 + i, 10 * i, 11 * i]);
        left.splice(gone, 1);
        expect(rows(0)).toEqual(left);
        expect(table.busyUntil[0]).toBe(left.at(-1)?.[2] ?? 7);
        expect(rows(1)).toEqual(Array.from({ length }, (_, i) => [500 + i, 10 * i, 10 * i + 1]));
      }
    }
  });

  it("moveTo() keeps the length of a reservation, and changes the row's end only with the last one", () => {
    const table = new ReservationTable(2);
    table.insert(1, 10, 15, 1);
    table.insert(1, 30, 37, 2);
    expect(table.moveTo(1, 0, 12)).toBe(17);
    expect([table.start(1, 0), table.end(1, 0), table.busyUntil[1]]).toEqual([12, 17, 37]);
    expect(table.moveTo(1, 1, 20)).toBe(27);
    expect([table.start(1, 1), table.end(1, 1), table.busyUntil[1]]).toEqual([20, 27, 27]);
  });
});
