/**
 * Seeded randomness, one stream per purpose.
 *
 * In go a seed and the name of a purpose, out comes a stream of draws. The same pair gives the same draws on every machine.
 * It holds no global state and reads no clock.
 */
export { type Stream, streamOf } from './stream.js';
