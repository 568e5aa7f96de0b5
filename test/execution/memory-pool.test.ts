import { describe, expect, it } from 'vitest';
import { MemoryPool } from '../../src/execution/index.js';

const KIB = 1024;

describe('MemoryPool', () => {
  it('reuses memory that was given back, for sizes of one class', () => {
    const pool = new MemoryPool({ pieces: 4 });
    const first = pool.take(600_000);
    expect(first.byteLength).toBeGreaterThanOrEqual(600_000);
    pool.give(first);
    expect(pool.has(590_001)).toBe(true);
    expect(pool.take(590_001)).toBe(first);
    expect(pool.has(590_001)).toBe(false);
    expect(pool.take(590_001)).not.toBe(first);
  });

  it('forgets the pieces that were given back first, beyond its number of pieces', () => {
    const pool = new MemoryPool({ pieces: 2 });
    for (const classes of [1, 2, 3]) pool.give(pool.take(classes * 64 * KIB));
    expect([1, 2, 3].map((classes) => pool.has(classes * 64 * KIB))).toEqual([false, true, true]);
  });

  it('forgets as many as a new piece needs to fit its bytes, and no more', () => {
    const pool = new MemoryPool({ bytes: 512 * KIB });
    const pieces = [64, 128, 192, 64].map((size) => pool.take(size * KIB));
    for (const piece of pieces) pool.give(piece);
    pool.give(pool.take(256 * KIB));
    expect([64, 128, 192, 256].map((size) => pool.has(size * KIB))).toEqual([true, false, true, true]);
    // 64 KiB were taken out, so that as much fits again.
    expect(pool.take(64 * KIB)).toBe(pieces[3]);
    pool.give(pieces[0]!);
    expect([64, 192, 256].map((size) => pool.has(size * KIB))).toEqual([true, true, true]);
  });

  it('keeps what it has where a piece is larger than all of its bytes, or no whole number of classes', () => {
    const pool = new MemoryPool({ bytes: 128 * KIB });
    const [small, large] = [pool.take(1), pool.take(192 * KIB)];
    pool.give(small);
    for (const piece of [large, new ArrayBuffer(100 * KIB), new ArrayBuffer(0)]) pool.give(piece);
    expect([pool.has(1), pool.has(100 * KIB), pool.has(192 * KIB)]).toEqual([true, false, false]);
  });
});
