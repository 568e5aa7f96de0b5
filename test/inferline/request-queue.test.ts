import { describe, expect, it } from 'vitest';
import { RequestQueue } from '../../src/inferline/request-queue.js';
import { streamOf } from '../../src/random/index.js';

interface Entry {
  readonly request: number;
  readonly moment: number;
}

/** entriesOf makes entries with moments that rise but for some steps back, many of them equal. */
function entriesOf(seed: number, from: number): Entry[] {
  const random = streamOf(seed, `entries/${from}`);
  return Array.from({ length: random.integer(30) }, (_, i) => ({
    request: from + i,
    moment: Math.floor(i / 3) + random.integer(5),
  }));
}

const isIn = ({ request }: Entry) => request % 3 !== 0;
/** Sorting keeps the order of equal moments. */
const sorted = (entries: readonly Entry[]) => entries.toSorted((a, b) => a.moment - b.moment);

function queueOf(entries: readonly Entry[], size = entries.filter(isIn).length): RequestQueue {
  const queue = new RequestQueue(size);
  for (const entry of entries) queue.addNearlySorted(entry.request, entry.moment, isIn(entry) ? 1 : 0);
  return queue;
}

function entriesIn({ requests, moments, length }: RequestQueue): Entry[] {
  return Array.from({ length }, (_, i) => ({
    request: requests[i] as number,
    moment: moments[i] as number,
  }));
}

describe('RequestQueue', () => {
  it('sorts what is added by moments, in the order of adding where they are equal, and leaves out the rest', () => {
    for (let seed = 0; seed < 300; seed++) {
      const entries = entriesOf(seed, 0);
      expect(entriesIn(queueOf(entries))).toEqual(sorted(entries.filter(isIn)));
    }
  });

  it('merges another list behind what it has where moments are equal', () => {
    for (let seed = 0; seed < 300; seed++) {
      const [own, others] = [entriesOf(seed, 0), entriesOf(seed, 100)];
      const queue = queueOf(own, 60);
      const other = queueOf(others);
      queue.merge(other);
      expect(entriesIn(queue)).toEqual(sorted([...sorted(own), ...sorted(others)].filter(isIn)));
      expect(entriesIn(other)).toEqual(sorted(others.filter(isIn)));
    }
  });
});
