import { markAsUntransferable } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { freeMemory } from '../../src/execution/index.js';

const KIB = 1024;

describe('freeMemory()', () => {
  it('frees the memory of large bytes at once', () => {
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 50; i++) {
      const bytes = new Uint8Array(1024 * KIB).fill(1);
      freeMemory(bytes);
      expect(bytes.length).toBe(0);
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10 * 1024 * KIB);
  });

  it('leaves small bytes, and bytes that share their memory with others', () => {
    const small = Buffer.from('a short text');
    const shared = new Uint8Array(64 * KIB).fill(7);
    freeMemory(small);
    freeMemory(shared.subarray(0, 60 * KIB));
    freeMemory(shared.subarray(1));
    expect(small.toString()).toBe('a short text');
    expect(shared.every((byte) => byte === 7)).toBe(true);
  });

  it('leaves memory that cannot be moved', () => {
    const bytes = new Uint8Array(64 * KIB);
    markAsUntransferable(bytes.buffer);
    freeMemory(bytes);
    expect(bytes).toHaveLength(64 * KIB);
  });
});
