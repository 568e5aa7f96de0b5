import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus';
import { gammaOf } from './gamma.js';

/** Stream draws the random numbers of one purpose. A draw moves this stream and no other. */
export interface Stream {
  /** uniform draws from [0, 1), with 53 random bits. */
  uniform(): number;
  /** integer draws an integer from [0, below), for a `below` from 1 to 2^53, which is not checked. */
  integer(below: number): number;
  /** exponential draws from the exponential distribution with mean 1. The result is finite and positive. */
  exponential(): number;
  /**
   * normal draws from the normal distribution with mean 0 and deviation 1 (Box-Muller, two uniform draws
   * each).
   */
  normal(): number;
  /**
   * gamma draws from the gamma distribution with this shape (> 0) and scale 1. Mean and variance are the
   * shape.
   * @throws RangeError if the shape is not positive and finite
   */
  gamma(shape: number): number;
}

/**
 * streamOf makes the stream of a purpose under a seed. It is a xoroshiro128+ generator started from a hash of both, so
 * that streams of different purposes share nothing, and one more draw from one of them changes no other. The same seed
 * and purpose always give the same draws from the start.
 * @param seed any finite number; reports state it, so that the same numbers can be drawn again
 * @param purpose what the draws are for, such as `arrivals/resnet`
 * @throws RangeError if the seed is not finite
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

/** Streams gives the stream of each purpose, which begins anew whenever it is asked for. */
export type Streams = (purpose: string) => Stream;

/** streamsOf gives the streams under a seed whose purposes all begin with `of`: that of `drop` is for `<of>/drop`. */
export function streamsOf(seed: number, of: string): Streams {
  return (purpose) => streamOf(seed, `${of}/${purpose}`);
}

/**
 * hashedState makes four 32-bit words from a text. Each is an FNV-1a hash with its own start, finished as
 * MurmurHash3 does.
 */
export function hashedState(text: string): number[] {
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
