import { describe, expect, it } from 'vitest';
import type { Stream, Streams } from '../../../src/random/index.js';
import { type RayLikePolicy, workflowCore } from '../../../src/serving/index.js';
import { call, type Happened, story, type Told } from './story.js';
import type { Shape } from './workflows.js';

const S = 1e9;

function coreOf(rayLike: Partial<RayLikePolicy> = {}): Told['coreOf'] {
  return (topology, parts) => workflowCore('ray-like', topology, { ...parts, rayLike });
}

/** drawing gives a stream whose integers are those that are given, and fails where one more is drawn. */
function drawing(integers: readonly number[]): Streams {
  return () => {
    const left = [...integers];
    const integer = (below: number): number => {
      const drawn = left.shift();
      if (drawn === undefined || drawn >= below) throw new Error(`nothing below ${below} is left to draw`);
      return drawn;
    };
    return { integer } as Stream;
  };
}

/** cluster has devices of one server, each with room for two components and a little, which take a time by their batch. */
function cluster(
  devices: number,
  latenciesNs: readonly (readonly number[])[],
  more: Partial<Shape> & { readonly bytes?: number } = {},
): Shape {
  const { bytes = 100, ...rest } = more;
  return {
    components: latenciesNs.map((latencyNs) => ({ bytes: 40, loadNs: 2 * S, latencyNs: [latencyNs] })),
    devices: Array.from({ length: devices }, () => ({ class: 0, server: 0, bytes })),
    applications: 1,
    hostBytes: 1e9,
    linkBytesPerNs: 1,
    networkBytesPerNs: 1,
    sloNs: 5000 * S,
    ...rest,
  };
}

/** came gives requests of one call at times in seconds. */
function came(atS: readonly number[], component = 0, requestBytes = 0): Told['requests'] {
  return atS.map((at) => ({ atNs: at * S, run: { requestBytes, calls: [call(component)] } }));
}

/** told tells when, in seconds, which devices did one of some things, and with how many rows or what component. */
function told(
  given: Told,
  ...events: readonly Happened['event'][]
): (readonly [number, string, number, number])[] {
  return story(given).flatMap(({ atNs, event, on, what, rows = what }) =>
    events.includes(event) ? [[atNs / S, event, on, rows] as const] : [],
  );
}

describe('RayLikeAllocation', () => {
  it('makes replicas where most memory is free once more were asked for for 30 s, and ends them after 600 s', () => {
    const shape = cluster(3, [[100 * S], [S]], { holds: [[0], [1], []] });
    const given = { shape, requests: came([1, 1, 1, 1, 1, 1]), coreOf: coreOf(), streams: drawing([1, 1]) };
    // Six tasks, of which the one replica takes five, ask for two replicas at 10 s and for three at 40 s. Device 2 is all free, and
    // device 1 is free but for another component.
    expect(told(given, 'load', 'loaded', 'evict')).toEqual([
      ...[[40, 'load', 1, 0] as const, [40, 'load', 2, 0], [42, 'loaded', 1, 0], [42, 'loaded', 2, 0]],
      // A task ends at 101 s, one at 142 s, and then one each 100 s, so that from 170 s on fewer than three are asked
      // for. When that has lasted for 600 s, there are no tasks. The replicas on devices without another go, the last
      // one first.
      ...[[770, 'evict', 0, 0] as const, [770, 'evict', 2, 0]],
    ]);
    expect(told(given, 'execute')).toEqual([
      ...[
        [1, 'execute', 0, 1] as const,
        [42, 'execute', 2, 1],
        [101, 'execute', 0, 1],
        [201, 'execute', 0, 1],
      ],
      ...[[301, 'execute', 0, 1] as const, [401, 'execute', 0, 1]],
    ]);
  });

  it('ends a replica first that has not loaded yet, and evicts it once it has', () => {
    const drawn = cluster(2, [[10 * S], [S]], { holds: [[0], [1]] });
    const shape = { ...drawn, components: drawn.components.map((one) => ({ ...one, loadNs: 1000 * S })) };
    // A second replica is asked for from 10 s on, and no more from 90 s on, when the last counts are 3, 2 and 1: at 690 s one ends.
    const given = { shape, requests: came([1, 1, 1, 1, 1, 11, 11, 21, 31]), coreOf: coreOf() };
    expect(told(given, 'load', 'loaded', 'evict')).toEqual([
      ...[[40, 'load', 1, 0] as const, [1040, 'loaded', 1, 0], [1040, 'evict', 1, 0]],
    ]);
  });

  it('gives a task to the one of two drawn replicas that has fewer, and draws again where both are full', () => {
    const shape = cluster(3, [[100 * S]], { holds: [[0], [0], [0]] });
    const draws = [
      ...[0, 0], // Of devices 0 and 1, which have as many tasks, the first.
      ...[0, 1], // Device 0 has one, and device 2 none.
      ...[2, 0], // Devices 2 and 0 have one each.
      ...[2, 0], // Device 2 has two, and device 0 one.
      ...[0, 1], // Devices 0 and 2 are full.
      ...[1, 0], // Device 1 has none.
      ...[1, 0], // Device 1 has one.
      ...[1, 0], // All were full until device 0 had ended its first task.
    ];
    const given = { shape, requests: came([1, 2, 3, 4, 5, 6, 7]), streams: drawing(draws) };
    expect(told({ ...given, coreOf: coreOf({ mostOngoing: 2 }) }, 'execute')).toEqual([
      ...[[1, 'execute', 0, 1] as const, [2, 'execute', 2, 1], [5, 'execute', 1, 1], [101, 'execute', 0, 1]],
      ...[[102, 'execute', 2, 1] as const, [105, 'execute', 1, 1], [201, 'execute', 0, 1]],
    ]);
  });

  it('seals a batch 10 ms after its first task, also while its device is busy', () => {
    const shape = cluster(1, [[0.1 * S, 0.1 * S, 0.1 * S]], { holds: [[0]], bytes: 1e9 });
    // What clients send takes a millisecond to the device: the second comes at the very instant at which the first has
    // waited enough.
    const given = { shape, requests: came([0, 0.01, 0.011, 0.022], 0, 1e6), coreOf: coreOf() };
    expect(told(given, 'execute')).toEqual([
      ...[[0.011, 'execute', 0, 2] as const, [0.111, 'execute', 0, 1], [0.211, 'execute', 0, 1]],
    ]);
    const full = { ...given, requests: came([0, 0, 0, 0]) };
    expect(told(full, 'execute')).toEqual([[0, 'execute', 0, 3] as const, [0.1, 'execute', 0, 1]]);
  });

  it('waits for no company once it drains', () => {
    const shape = cluster(1, [[S, S]], { holds: [[0]] });
    const troubles = [{ kind: 'drains' as const, atNs: 0.004 * S }];
    expect(told({ shape, requests: came([0]), coreOf: coreOf(), troubles }, 'execute')).toEqual([
      [0.004, 'execute', 0, 1],
    ]);
  });

  it('executes batches of the replicas of a device in turn', () => {
    const shape = cluster(1, [[S], [S]], { holds: [[0, 1]] });
    const requests = [...came([0, 0, 0]), ...came([0], 1)];
    const begun = story({ shape, requests, coreOf: coreOf() }).filter(({ event }) => event === 'execute');
    expect(begun.map(({ what }) => what)).toEqual([0, 1, 0, 0]);
  });

  it('sends inputs to a replica while its device executes', () => {
    const shape = cluster(2, [[10 * S], [10 * S]], { holds: [[0], [1]], bytes: 1e11 });
    const chain = { requestBytes: 0, calls: [call(0, { outputBytes: 5 * S }), call(1, { inputs: [0] })] };
    const requests = [...came([0], 1), { atNs: 0, run: chain }, ...came([5], 1)];
    expect(told({ shape, requests, coreOf: coreOf() }, 'execute')).toEqual([
      ...[[0, 'execute', 0, 1] as const, [0, 'execute', 1, 1], [10, 'execute', 1, 1], [20, 'execute', 1, 1]],
    ]);
  });

  it('makes the first replica of each component at the start, and evicts none for another', () => {
    const shape = cluster(1, [[S], [S], [S]], { sloNs: 50 * S });
    const given = { shape, requests: [...came([3], 1), ...came([4], 2)], coreOf: coreOf() };
    expect(told(given, 'load', 'evict', 'end')).toEqual([
      ...[[0, 'load', 0, 0] as const, [2, 'load', 0, 1], [5, 'end', 0, 0]],
      // The third has no room, so that its request is dropped after its deadline.
      [54 + 1 / S, 'end', 1, 2],
    ]);
  });

  it('makes a replica elsewhere at once where a device is lost, and routes its tasks anew', () => {
    const shape = cluster(2, [[10 * S]], { holds: [[0], []] });
    const troubles = [{ kind: 'down' as const, atNs: 5 * S, device: 0 }];
    const given = { shape, requests: came([1, 1]), coreOf: coreOf(), troubles };
    expect(told(given, 'load', 'execute', 'end')).toEqual([
      ...[[1, 'execute', 0, 1] as const, [5, 'load', 1, 0], [7, 'execute', 1, 1], [17, 'execute', 1, 1]],
      ...[[17, 'end', 0, 0] as const, [27, 'end', 1, 0]],
    ]);
  });
});
