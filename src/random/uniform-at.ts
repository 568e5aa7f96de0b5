import { hashedState } from './stream.js';

/** UniformAt gives the number of [0, 1) at a place: always the same one, whatever was asked before. */
export type UniformAt = (place: number, column: number) => number;

const LOW = 2 ** 32;

/**
 * uniformAt makes uniform numbers that are looked up rather than drawn: one for each whole `place` of 0 to 2^53 and each
 * `column` of 0 to 2^32, under a seed and purpose. So what is drawn for one request does not depend on which requests
 * were asked for before it. Two rounds of MurmurHash3's finisher mix the place, the column and the hash of the purpose.
 * @param seed any finite number
 * @throws RangeError if the seed is not finite
 */
export function uniformAt(seed: number, purpose: string): UniformAt {
  if (!Number.isFinite(seed)) throw new RangeError(`Cannot seed numbers: ${seed} is not a finite number`);
  const [a, b] = hashedState(`${seed}\u0000${purpose}`) as [number, number, ...number[]];
  return (place, column) => {
    const high = mixed(mixed(place % LOW, a) ^ Math.imul(column, 0x9e3779b1), Math.floor(place / LOW));
    const low = mixed(mixed(high, b) ^ column, place % LOW);
    return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;
  };
}

function mixed(word: number, key: number): number {
  let hash = (word ^ key) | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
