import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus';
import { gammaOf } from './gamma.js';

/** Random numbers of one purpose. Every draw moves this stream and no other. */
export interface Stream {
  /** In [0, 1), 53 random bits. */
  uniform(): number;
  /** An integer in [0, below), for below up to 2^53. */
  integer(below: number): number;
  /** Exponential with mean 1; finite and positive. */
  exponential(): number;
  /** Normal with mean 0 and deviation 1 (Box-Muller; two draws each). */
  normal(): number;
  /** Gamma with this shape and scale 1: mean and variance are the shape. Of a shape > 0. */
  gamma(shape: number): number;
}

/**
 * The stream of a purpose under a seed: xoroshiro128+ started from a hash of both, so that streams of different purposes
 * share nothing and one more draw in one of them moves nothing elsewhere.
 * @param seed any finite number; told in reports, and enough to draw the same again
 * @param purpose what the draws are for, e.g. `arrivals/resnet`
 */
export function streamOf(seed: number, purpose: string): Stream {
  if (!Number.isFinite(seed)) throw new RangeError(`Cannot seed a stream: ${seed} is not a finite number`);
  const generator = xoroshiro128plusFromState(hashedState(`${seed}\u0000${purpose}`));
  const uniform = () => uniformFloat64(generator);
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const draws = { uniform, normal };
  return {
    uniform,
    integer: (below) => Math.floor(uniform() * below),
    exponential: () => -Math.log(1 - uniform()) || Number.MIN_VALUE,
    normal,
    gamma: (shape) => gammaOf(shape, draws),
  };
}

/** Four 32-bit words, each an FNV-1a hash of the text from another start, finished as MurmurHash3 does. */
function hashedState(text: string): number[] {
  return [0x811c9dc5, 0x9e3779b9, 0x85ebca6b, 0xc2b2ae35].map((start) => {
    let hash = start;
    for (let i = 0; i < text.length; i++) {
      hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    }
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return hash ^ (hash >>> 16);
  });
}
