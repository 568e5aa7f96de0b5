/**
 * This room makes seeded random numbers, with one stream per purpose.
 *
 * It takes a seed and the name of a purpose, and gives a stream of draws, or numbers that are looked up by place
 * (`uniform-at.ts`). The same pair gives the same draws on every machine. The room holds no global state and reads no
 * clock. Start reading at `stream.ts`.
 */
export { type Stream, type Streams, streamOf, streamsOf } from './stream.js';
export { type UniformAt, uniformAt } from './uniform-at.js';
