/**
 * This benchmark measures the double-ended priority queue of PARD (`MinMaxHeaps`) at sizes from 10 to 10^6, and checks
 * every item that it gives against a sorted array:
 *
 *     node dist/bench/pard/queue.js [operations of each kind and size, default 4000000]
 *
 * Heaps are filled and emptied again and again: filled with random keys, or with falling ones, each of which goes the
 * longest way, to the root; emptied from the first end, from the last, or in a random order. A time is the mean of all
 * operations of its kind in nanoseconds, with the loop around it. Small heaps are many at once, 10^4 items together.
 * Times grow with the logarithm of the size while the caches hold all; from 10^5 items (24 bytes each) they do not.
 *
 * "sorted" is a get and a put in a sorted array of that size, where a put moves all items that come after it. "bytes"
 * are those of the typed arrays for each item, "garbage" those that the heap of JavaScript grew by for each operation.
 */
import { performance } from 'node:perf_hooks';
import { streamOf } from '../../src/random/index.js';
import { benchArguments, benchNumber } from '../arguments.js';
import { tableText } from '../results/table.js';
import { KINDS, NAMES, QueueTrial } from './queue-trial.js';

const SIZES = [10, 100, 1000, 1e4, 1e5, 1e6];
const SORTED_OPERATIONS = 2e4;
const USAGE = 'node dist/bench/pard/queue.js [operations of each kind and size, default 4000000]';
const { positionals } = benchArguments(USAGE, {});
bench(benchNumber(USAGE, 'operations', positionals[0] ?? '4e6'));

function bench(operations: number): void {
  const lines = [['size', 'log2', ...NAMES, 'sorted', 'bytes', 'garbage']];
  let checked = 0;
  for (const size of SIZES) {
    const trial = new QueueTrial(size);
    trial.round();
    trial.ms.fill(0);
    const rounds = Math.ceil(operations / trial.items);
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < rounds; i++) trial.round();
    const garbage = (process.memoryUsage().heapUsed - before) / (5.5 * rounds * trial.items);
    checked += trial.checked;
    const perItem = NAMES.map((name, kind) => (1e6 * (trial.ms[kind] as number)) / (rounds * KINDS[name]));
    const ns = [...perItem.map((each) => each / trial.items), sortedNs(size)].map((each) => each.toFixed(0));
    const memory = [trial.bytes / trial.items, garbage].map((each) => each.toFixed(1));
    lines.push([String(size), Math.log2(size).toFixed(1), ...ns, ...memory]);
  }
  process.stdout.write(`${tableText(lines)}${checked} items came as they do from a sorted array.\n`);
}

/** sortedNs times a get at either end, in turn, and a put in a sorted array of this size. */
function sortedNs(size: number): number {
  const stream = streamOf(1, 'sorted');
  const sorted = Float64Array.from({ length: size }, () => stream.uniform()).sort();
  const keys = Float64Array.from({ length: SORTED_OPERATIONS }, () => stream.uniform());
  const start = performance.now();
  for (let i = 0; i < keys.length; i++) {
    if (i % 2 === 0) sorted.copyWithin(0, 1);
    const key = keys[i] as number;
    let low = 0;
    for (let high = size - 1; low < high; ) {
      const middle = (low + high) >> 1;
      if ((sorted[middle] as number) < key) low = middle + 1;
      else high = middle;
    }
    sorted.copyWithin(low + 1, low, size - 1);
    sorted[low] = key;
  }
  return (1e6 * (performance.now() - start)) / keys.length;
}
