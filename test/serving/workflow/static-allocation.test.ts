import { describe, expect, it } from 'vitest';
import { type Stream, streamOf, streamsOf } from '../../../src/random/index.js';
import { Decisions, workflowCore } from '../../../src/serving/index.js';
import type { RecordedRun } from '../../../src/simulator/index.js';
import { cases, inWholeRun } from '../../cases.js';
import { call, story, type Told } from './story.js';
import { type Shape, workflowTopology } from './workflows.js';

const coreOf: Told['coreOf'] = (topology, parts) => workflowCore('static', topology, parts);

const DROPPED = 2;

/** Executed is a batch as both simulations tell it. */
interface Executed {
  readonly component: number;
  readonly fromNs: number;
  readonly toNs: number;
  readonly rows: number;
}

/** QueuedCall is a call in the textbook's simulation: `left` counts the inputs that are not made. */
interface QueuedCall {
  readonly call: RecordedRun['calls'][number];
  readonly takers: QueuedCall[];
  readonly inputs: readonly QueuedCall[];
  readonly calledNs: number;
  left: number;
  turn: number;
}

/**
 * textbook simulates devices that each serve some components of their own, first come first served in batches: whichever event is
 * next happens, until none is left. Outputs pass between devices of one server only, over links that nothing shares.
 */
function textbook({ shape, requests }: Told, deviceOf: readonly number[]): Executed[] {
  const executed: Executed[] = [];
  const events: { atNs: number; happens: () => void }[] = [];
  const queues: QueuedCall[][] = shape.components.map(() => []);
  const busyUntilNs = shape.devices.map(() => 0);
  const liesOn = new Map<QueuedCall, Set<number>>();
  let turn = 0;
  const join = (one: QueuedCall, atNs: number) => {
    if (one.left > 0 || atNs < one.calledNs) return;
    one.turn = turn++;
    queues[one.call.component]!.push(one);
  };
  const begin = (device: number, atNs: number) => {
    if (busyUntilNs[device]! > atNs) return;
    const own = queues.filter((queue, component) => deviceOf[component] === device && queue.length > 0);
    own.sort((a, b) => a[0]!.turn - b[0]!.turn);
    const [queue] = own;
    if (queue === undefined) return;
    const { component } = queue[0]!.call;
    const timesNs = shape.components[component]!.latencyNs[0]!;
    const batch: QueuedCall[] = [];
    let rows = 0;
    for (const one of queue)
      if (rows + one.call.rows <= timesNs.length) {
        batch.push(one);
        rows += one.call.rows;
      }
    queues[component] = queue.filter((one) => !batch.includes(one));
    const passesNs = batch.flatMap(({ inputs }) =>
      inputs.map((input) =>
        liesOn.get(input)!.has(device) ? 0 : Math.round(input.call.outputBytes / shape.linkBytesPerNs),
      ),
    );
    for (const { inputs } of batch) for (const input of inputs) liesOn.get(input)!.add(device);
    const fromNs = atNs + Math.max(0, ...passesNs);
    const toNs = fromNs + timesNs[rows - 1]!;
    busyUntilNs[device] = toNs;
    executed.push({ component, fromNs, toNs, rows });
    events.push({
      atNs: toNs,
      happens: () => {
        for (const one of batch) {
          liesOn.set(one, new Set([device]));
          // What becomes ready at one instant does so in the order in which it was called.
          for (const taker of one.takers.sort((a, b) => a.calledNs - b.calledNs)) {
            taker.left -= 1;
            join(taker, toNs);
          }
        }
      },
    });
  };
  for (const { atNs, run } of requests) {
    const made: QueuedCall[] = [];
    for (const one of run.calls) {
      const inputs = [...new Set(one.inputs)].filter((input) => input !== -1).map((input) => made[input]!);
      const calledNs = Math.max(atNs, ...inputs.map((input) => input.calledNs)) + one.thinkNs;
      const queued = { call: one, takers: [], inputs, calledNs, left: inputs.length, turn: 0 };
      for (const input of inputs) input.takers.push(queued);
      made.push(queued);
      events.push({ atNs: calledNs, happens: () => join(queued, calledNs) });
    }
  }
  while (events.length > 0) {
    const atNs = Math.min(...events.map((event) => event.atNs));
    const now = events.filter((event) => event.atNs === atNs);
    for (const event of now) {
      events.splice(events.indexOf(event), 1);
      event.happens();
    }
    for (const device of shape.devices.keys()) begin(device, atNs);
  }
  return executed;
}

/** queueCase draws components that each have one device, and programs; times are so fine that hardly two fall together. */
function queueCase(stream: Stream): { readonly told: Told; readonly deviceOf: number[] } {
  const components = Array.from({ length: 1 + stream.integer(4) }, () => {
    const [fixed, each] = [1e6 + stream.integer(1e6), 1e5 + stream.integer(1e6)];
    const latencyNs = Array.from({ length: 2 + stream.integer(4) }, (_, b) => fixed + each * (b + 1));
    return { bytes: 1, loadNs: 1, latencyNs: [latencyNs] };
  });
  const devices = Array.from({ length: 1 + stream.integer(3) }, () => ({ class: 0, server: 0, bytes: 1e12 }));
  const deviceOf = components.map(() => stream.integer(devices.length));
  const holds = devices.map((_, device) => [...components.keys()].filter((c) => deviceOf[c] === device));
  const shape: Shape = {
    applications: 1,
    components,
    devices,
    holds,
    hostBytes: 1e12,
    sloNs: 1e15,
    linkBytesPerNs: 1,
    networkBytesPerNs: 1,
  };
  let atNs = 0;
  const requests = Array.from({ length: 40 }, () => {
    atNs += stream.integer(3e6);
    const calls = Array.from({ length: 1 + stream.integer(5) }, (_, place) => {
      const inputs = Array.from({ length: place }, (_, i) => i).filter(() => stream.uniform() < 0.4);
      return call(stream.integer(components.length), {
        inputs: inputs.length === 0 ? [-1] : inputs,
        rows: 1 + stream.integer(2),
        thinkNs: 1 + stream.integer(2e6),
        outputBytes: stream.integer(1e6),
      });
    });
    return { atNs, run: { requestBytes: 0, calls } };
  });
  return { told: { shape, requests, coreOf }, deviceOf };
}

/**
 * oneComponent is a cluster with one component, which takes 100 ns a batch of up to two, on devices of the servers that
 * are given.
 */
function oneComponent(servers: readonly number[], holds: readonly (readonly number[])[]): Shape {
  return {
    applications: 1,
    components: [{ bytes: 50, loadNs: 30, diskNs: 5, latencyNs: [[100, 150]] }],
    devices: servers.map((server) => ({ class: 0, server, bytes: 100 })),
    holds,
    hostBytes: 1000,
    linkBytesPerNs: 10,
    networkBytesPerNs: 1,
    sloNs: 1000,
  };
}

/** endsOf tells when which requests ended, and how. */
function endsOf(told: Told): { atNs: number; on: number; what: number }[] {
  return story(told).flatMap(({ event, atNs, on, what }) => (event === 'end' ? [{ atNs, on, what }] : []));
}

describe('StaticAllocation', () => {
  inWholeRun(
    'executes the batches of a textbook queue to the nanosecond where each component has one device',
    () => {
      let batches = 0;
      for (let seed = 0; seed < cases(30, 400); seed++) {
        const { told, deviceOf } = queueCase(streamOf(seed, 'queues'));
        const executed = story(told).flatMap(({ event, what: component, fromNs, atNs: toNs, rows }) =>
          event === 'executed' ? [{ component, fromNs, toNs, rows }] : [],
        );
        const expected = textbook(told, deviceOf).sort((a, b) => a.toNs - b.toNs);
        expect({ seed, executed }).toEqual({ seed, executed: expected });
        batches += executed.filter(({ rows }) => rows! > 2).length;
      }
      expect(batches).toBeGreaterThan(300);
    },
  );

  it('lets any device take the next batch that holds the component and has nothing to do, and fetches only then', () => {
    const run = { requestBytes: 20, calls: [call(0)] };
    const requests = [0, 0, 0, 10, 20].map((atNs) => ({ atNs, run }));
    const begun = story({ shape: oneComponent([0, 1], [[0], [0]]), requests, coreOf }).filter(
      ({ event }) => event === 'execute',
    );
    // Device 0 takes two of the first three, whose inputs share its link, and device 1 the third.
    expect(begun).toEqual([
      { atNs: 20, event: 'execute', on: 1, what: 0, rows: 1 },
      { atNs: 40, event: 'execute', on: 0, what: 0, rows: 2 },
      // Device 1 is done at 120, and takes what has come meanwhile.
      { atNs: 160, event: 'execute', on: 1, what: 0, rows: 2 },
    ]);
  });

  it('has a device that comes up again load what it is to hold', () => {
    const requests = [{ atNs: 0, run: { requestBytes: 0, calls: [call(0)] } }];
    const troubles = [
      { kind: 'down' as const, atNs: 50, device: 0 },
      { kind: 'up' as const, atNs: 70, device: 0 },
    ];
    const happened = story({ shape: oneComponent([0], [[0]]), requests, troubles, coreOf });
    expect(happened.map(({ atNs, event }) => [atNs, event])).toEqual([
      ...[[0, 'execute'] as const, [70, 'load'], [100, 'loaded'], [100, 'execute'], [200, 'executed']],
      [200, 'end'],
    ]);
  });

  it('loads from disk what its server keeps no more', () => {
    const shape = { ...oneComponent([0], [[0]]), hostBytes: 0 };
    const requests = [{ atNs: 80, run: { requestBytes: 0, calls: [call(0)] } }];
    const troubles = [
      { kind: 'down' as const, atNs: 50, device: 0 },
      { kind: 'up' as const, atNs: 70, device: 0 },
    ];
    const happened = story({ shape, requests, troubles, coreOf });
    expect(happened.map(({ atNs, event }) => [atNs, event])).toEqual([
      ...[[70, 'load'] as const, [105, 'loaded'], [105, 'execute'], [205, 'executed'], [205, 'end']],
    ]);
  });

  it('lets outputs leave first that nothing takes any more, and never what a batch takes', () => {
    // Memory beside the component is 50 bytes. The first call gives 20 bytes and the second, which takes them, gives 20
    // more. The third takes the second's, and gives 20: of the three the first, which nothing takes now, is to leave.
    // The fourth takes the second's and the third's, which are both there still: had another left, it would take 20 ns
    // to come again.
    const calls = [
      call(0, { outputBytes: 20 }),
      call(0, { inputs: [0], outputBytes: 20 }),
      call(0, { inputs: [1], outputBytes: 20 }),
      call(0, { inputs: [1, 2] }),
    ];
    const requests = [{ atNs: 0, run: { requestBytes: 0, calls } }];
    const begun = story({ shape: oneComponent([0], [[0]]), requests, coreOf }).filter(
      ({ event }) => event === 'execute',
    );
    expect(begun.map(({ atNs }) => atNs)).toEqual([0, 100, 200, 300]);
    // The body and the first, which nothing takes, are as old as can be. Where the oldest is still taken, a younger one leaves.
    const young = [
      call(0, { outputBytes: 20 }),
      call(0, { inputs: [0], outputBytes: 20 }),
      call(0, { inputs: [1], outputBytes: 20 }),
      call(0, { inputs: [0, 2] }),
    ];
    const after = story({
      shape: oneComponent([0], [[0]]),
      requests: [{ atNs: 0, run: { requestBytes: 0, calls: young } }],
      coreOf,
    }).filter(({ event }) => event === 'execute');
    expect(after.map(({ atNs }) => atNs)).toEqual([0, 100, 200, 300]);
  });

  it('lets requests wait for a device that holds what they need, and drops them after their deadlines', () => {
    const run = { requestBytes: 0, calls: [call(0)] };
    const requests = [
      { atNs: 10, run },
      { atNs: 500, run },
    ];
    const troubles = [
      { kind: 'down' as const, atNs: 5, device: 0 },
      { kind: 'up' as const, atNs: 1200, device: 0 },
    ];
    const ends = endsOf({ shape: oneComponent([0], [[0]]), requests, troubles, coreOf });
    expect(ends).toEqual([
      { atNs: 1011, on: 0, what: DROPPED },
      { atNs: 1330, on: 1, what: 0 },
    ]);
  });

  it.each(['static', 'ray-like'] as const)(
    'finds room again where a device is lost that an output was on its way to, as %s',
    (name) => {
      const shape: Shape = {
        ...oneComponent([0, 1], [[0], [1]]),
        components: [0, 1].map(() => ({ bytes: 50, loadNs: 30, latencyNs: [[100]] })),
        networkBytesPerNs: 0.01,
      };
      const chain = { requestBytes: 0, calls: [call(0, { outputBytes: 40 }), call(1, { inputs: [0] })] };
      const requests = [
        { atNs: 0, run: chain },
        { atNs: 120, run: { requestBytes: 20, calls: [call(0)] } },
      ];
      const troubles = [{ kind: 'down' as const, atNs: 150, device: 1 }];
      const rayLike = { batchWaitNs: 0 };
      const begun = story({
        shape,
        requests,
        troubles,
        coreOf: (topology, parts) => workflowCore(name, topology, { ...parts, rayLike }),
      }).filter(({ event }) => event === 'execute');
      // From 100 to 150 ns, what the first gave is sent to device 1, and leaves no room for the 20 bytes of the second,
      // which then take 2000 ns to come. The first is only dropped at 1001 ns.
      expect(begun.map(({ atNs, on }) => [atNs, on])).toEqual([
        [0, 0],
        [2150, 0],
      ]);
    },
  );

  it('drops at once what fits on no device that is to hold its component', () => {
    const tooMuch = { requestBytes: 51, calls: [call(0)] };
    const tooMany = { requestBytes: 0, calls: [call(0, { rows: 3 })] };
    const just = { requestBytes: 50, calls: [call(0, { rows: 2 })] };
    const requests = [tooMuch, tooMany, just].map((run, i) => ({ atNs: 10 * i, run }));
    const ends = endsOf({ shape: oneComponent([0], [[0]]), requests, coreOf });
    expect(ends).toEqual([
      { atNs: 0, on: 0, what: DROPPED },
      { atNs: 10, on: 1, what: DROPPED },
      { atNs: 220, on: 2, what: 0 },
    ]);
  });

  it('refuses placements that lack a component or do not fit, with all faults at once', () => {
    const shape: Shape = {
      ...oneComponent([0, 0], [[0, 1], []]),
      components: [0, 1, 2].map(() => ({ bytes: 60, loadNs: 1, latencyNs: [[1]] })),
    };
    const { topology, table } = workflowTopology(shape);
    const parts = { decisions: new Decisions(), table, streams: streamsOf(1, 'core') };
    let said = '';
    try {
      workflowCore('static', topology, parts);
    } catch (error) {
      said = String(error);
    }
    expect(said.split('\n')).toEqual([
      'InputError: Cannot serve workflows with a static placement:',
      '  no device holds component2',
      '  server0/gpu0/0 has 100 bytes of memory, and what it is to hold takes 120',
      'Place each component on a device that has room for it, or take another scheduler.',
    ]);
  });
});
