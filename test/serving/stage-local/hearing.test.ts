import { beforeEach, describe, expect, it } from 'vitest';
import { streamsOf } from '../../../src/random/index.js';
import { DEFAULT_POLICY, Decisions, makeCore, StageLocalCore } from '../../../src/serving/index.js';
import {
  DROPPINGS,
  type Dropping,
  type droppingOf,
} from '../../../src/serving/stage-local/dropping/dropping.js';
import type { DropRule } from '../../../src/serving/stage-local/policy.js';
import { chainOf, MS, stage } from '../by-hand.js';
import { comes, down, ends, fails, isThere, starts, Told, up } from '../told.js';

const heard: string[] = [];
let draws = false;

/**
 * A drop rule of this test's own. It writes down when it is asked and what it hears, and gives a head up by chance, a
 * drawn part of a millisecond after the time at which it is asked.
 */
function listening(
  _rule: unknown,
  { batches, requests, streams }: Parameters<typeof droppingOf>[1],
): Dropping {
  const stream = draws ? streams('drop') : undefined;
  const tasksOf = (batch: number) =>
    Array.from({ length: batches.size(batch) }, (_, i) => requests.queuedAt(batches.task(batch, i)) / MS);
  return {
    drops: true,
    dropTime: (at, head) => {
      heard.push(`asked of ${head} at ${at / MS}`);
      return stream === undefined ? Number.POSITIVE_INFINITY : at + Math.ceil(MS * stream.uniform());
    },
    refuses: () => false,
    forbids: () => true,
    batchUnderLoad: () => 1,
    entered: () => {},
    waitedOn: () => {},
    hearing: {
      started: (at, batch) => heard.push(`started ${batch} at ${at / MS}, queued at ${tasksOf(batch)}`),
      ended: (at, batch) => heard.push(`ended ${batch} at ${at / MS}, queued at ${tasksOf(batch)}`),
    },
  };
}

Object.assign(DROPPINGS, { listening });
const drop = { kind: 'listening' } as unknown as DropRule;

const stages = [stage([10]), stage([10])];

beforeEach(() => {
  heard.length = 0;
  draws = false;
});

describe('a drop rule that listens', () => {
  it('hears the time at which it is asked', () => {
    const told = new Told((decisions) => new StageLocalCore(chainOf(100, stage([10])), decisions, { drop }));
    told.at(0, up(0));
    told.at(3, comes(100));
    told.at(5, comes(100));
    told.at(7, ends(0, 4));
    expect(heard.filter((line) => line.startsWith('asked'))).toEqual([
      'asked of 0 at 3',
      'asked of 1 at 5',
      'asked of 1 at 7',
    ]);
  });

  it('hears each batch start and end once at every stage, while the batch holds its tasks', () => {
    const told = new Told((decisions) => new StageLocalCore(chainOf(100, ...stages), decisions, { drop }));
    told.at(0, up(0, 1));
    told.at(1, comes(100));
    told.at(1, starts(0));
    told.at(11, ends(0, 10));
    told.at(12, isThere(0, 1));
    told.at(12, starts(0));
    told.at(22, ends(0, 10));
    expect(heard.filter((line) => !line.startsWith('asked'))).toEqual([
      'started 0 at 1, queued at 1',
      'ended 0 at 11, queued at 1',
      'started 0 at 12, queued at 12',
      'ended 0 at 22, queued at 12',
    ]);
  });

  it('hears that batches end which fail or are lost with their device, and nothing of batches that did not begin', () => {
    const told = new Told(
      (decisions) =>
        new StageLocalCore(chainOf(1000, stage([10])), decisions, {
          placement: 'earliest-free',
          mostTries: 9,
          drop,
          formation: { kind: 'eager' },
        }),
    );
    told.at(0, up(0));
    // The second batch is handed ahead, and taken back with the device.
    told.at(1, comes(1000), comes(1000));
    told.at(1, starts(0));
    told.at(2, down(0));
    told.at(3, up(0));
    told.at(3, starts(1));
    told.at(4, fails(1));
    expect(heard.filter((line) => !line.startsWith('asked'))).toEqual([
      'started 0 at 1, queued at 1',
      'ended 0 at 2, queued at 1',
      'started 1 at 3, queued at 1',
      'ended 1 at 4, queued at 1',
    ]);
  });

  it('draws from the streams that are handed in: the same under a seed, others under another, none without', () => {
    draws = true;
    const wakes = (seed: number) => {
      const chosen = { name: 'stage-local', policy: { ...DEFAULT_POLICY, drop } } as const;
      const topology = chainOf(100, stage([10]));
      const told = new Told((decisions) =>
        makeCore(chosen, topology, { decisions, streams: streamsOf(seed, 'core') }),
      );
      return [1, 3, 5].map((ms) => told.at(ms, comes(100)));
    };
    expect(wakes(1)).toEqual(wakes(1));
    expect(wakes(1)).not.toEqual(wakes(2));
    const first = Math.ceil(MS * streamsOf(1, 'core')('drop').uniform());
    expect(wakes(1)[0]).toEqual([`wake ${1 + first / MS}`]);
    const without = () => new StageLocalCore(chainOf(100, stage([10])), new Decisions(), { drop });
    expect(without).toThrow('Broken promise of the serving core: random numbers are to be drawn for drop');
  });
});
