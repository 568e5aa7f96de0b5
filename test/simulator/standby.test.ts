import { describe, expect, it } from 'vitest';
import { pipelineTopologyOf } from '../../src/plans/index.js';
import { FIFO_POLICY, type ScalingRule, StageLocalCore } from '../../src/serving/index.js';
import { simulate } from '../../src/simulator/index.js';
import { arrivalsAt } from '../../src/workload/index.js';
import { pipelineOf } from '../pipeline-plans.js';

const MS = 1e6;

/** One stage of 10 ms on two devices, the second of which is on standby. */
function run(
  arrivalsMs: readonly number[],
  changes: Extract<ScalingRule, { kind: 'schedule' }>['changes'],
  more: {
    activationDelayNs?: number;
    placement?: 'on-arrival' | 'earliest-free';
    servedUntilNs?: () => number;
  } = {},
) {
  const plan = pipelineOf([{ name: 'a', latencyUs: 10_000 }], [['a'], ['a']]);
  const topology = pipelineTopologyOf({
    ...plan,
    placement: plan.placement.map((place, i) => (i === 1 ? { ...place, standby: true as const } : place)),
  });
  const { placement = 'on-arrival', activationDelayNs = 0, servedUntilNs } = more;
  const batches: [device: number, startMs: number][] = [];
  const scaledMs: number[] = [];
  const { usedNs, endNs } = simulate({
    topology,
    makeCore: (decisions) =>
      new StageLocalCore(topology, decisions, {
        ...FIFO_POLICY,
        placement,
        scaling: { kind: 'schedule', changes },
      }),
    arrivals: arrivalsAt(arrivalsMs.map((ms) => ms * MS)),
    activationDelayNs,
    ...(servedUntilNs === undefined ? {} : { servedUntilNs }),
    observers: [
      { started: (_batch, _pool, device, _size, _handedNs, startNs) => batches.push([device, startNs / MS]) },
      { scaled: (atNs) => scaledMs.push(atNs / MS) },
    ],
  });
  return { batches, scaledMs, usedMs: Array.from(usedNs, (ns) => ns / MS), endMs: endNs / MS };
}

describe('simulate() with standby devices', () => {
  it('lets a device that is activated take work after the delay, and counts its use from the activation', () => {
    const changes = [{ atNs: 5 * MS, pool: 0, devices: 2 }];
    const { batches, usedMs, endMs } = run([0, 1, 2], changes, { activationDelayNs: 3 * MS });
    expect(batches).toEqual([
      [0, 0],
      [1, 8],
      [0, 10],
    ]);
    expect([usedMs, endMs]).toEqual([[20, 15], 20]);
  });

  it('keeps devices until the load ends, and lets them come and go until then', () => {
    const changes = [
      { atNs: 30 * MS, pool: 0, devices: 2 },
      { atNs: 60 * MS, pool: 0, devices: 1 },
      { atNs: 90 * MS, pool: 0, devices: 2 },
      { atNs: 101 * MS, pool: 0, devices: 1 },
    ];
    const kept = { servedUntilNs: () => 100 * MS, activationDelayNs: 20 * MS };
    expect(run([0], changes, kept)).toMatchObject({ usedMs: [100, 30 + 10], endMs: 100 });
    expect(run([0], changes)).toMatchObject({ usedMs: [10, 0], endMs: 10 });
    // Requests may end later than the load.
    expect(run([95], [], kept)).toMatchObject({ usedMs: [105, 0], endMs: 105 });
  });

  it('wakes the core at the end of the time that devices are kept, and not after it', () => {
    const changes = [99, 100, 101].map((ms, i) => ({ atNs: ms * MS, pool: 0, devices: 2 - (i % 2) }));
    const kept = { servedUntilNs: () => 100 * MS };
    // The second device comes up at once, and at 100 ms it goes: at 101 ms it would come up again.
    const { scaledMs } = run([0], changes, kept);
    expect(new Set(scaledMs)).toEqual(new Set([99, 100]));
  });

  it('lets a device that is retired end its batch, and counts its use until then', () => {
    const changes = [
      { atNs: 0, pool: 0, devices: 2 },
      { atNs: 4 * MS, pool: 0, devices: 1 },
    ];
    const { batches, usedMs } = run([1, 2, 3], changes);
    expect(batches).toEqual([
      [0, 1],
      [1, 2],
      [0, 11],
    ]);
    expect(usedMs).toEqual([21, 12]);
  });

  it('activates a device again that was retired, once it has ended its batch', () => {
    const changes = [
      { atNs: 0, pool: 0, devices: 2 },
      { atNs: 3 * MS, pool: 0, devices: 1 },
      { atNs: 4 * MS, pool: 0, devices: 2 },
    ];
    const { batches } = run([1, 2, 5, 6], changes);
    expect(batches).toEqual([
      [0, 1],
      [1, 2],
      [0, 11],
      [1, 12],
    ]);
  });

  it('takes back the batches that a retired device was handed and has not begun', () => {
    const changes = [
      { atNs: 0, pool: 0, devices: 2 },
      { atNs: 4 * MS, pool: 0, devices: 1 },
    ];
    const { batches, usedMs } = run([1, 2, 3, 3], changes, { placement: 'earliest-free' });
    expect(batches).toEqual([
      [0, 1],
      [1, 2],
      [0, 11],
      [0, 21],
    ]);
    expect(usedMs).toEqual([31, 12]);
  });

  it('takes no work for a device that is retired before it came up, and none is paid for after that', () => {
    const changes = [
      { atNs: 0, pool: 0, devices: 2 },
      { atNs: 4 * MS, pool: 0, devices: 1 },
    ];
    const { batches, usedMs } = run([1, 2], changes, { activationDelayNs: 10 * MS });
    expect(batches).toEqual([
      [0, 1],
      [0, 11],
    ]);
    expect(usedMs).toEqual([21, 4]);
  });

  it('counts the delay of a device from its last activation, where it was retired before it came up', () => {
    const changes = [
      { atNs: 0, pool: 0, devices: 2 },
      { atNs: 4 * MS, pool: 0, devices: 1 },
      { atNs: 6 * MS, pool: 0, devices: 2 },
    ];
    const { batches, usedMs } = run([1, 2, 3], changes, { activationDelayNs: 9 * MS });
    expect(batches).toEqual([
      [0, 1],
      [0, 11],
      [1, 15],
    ]);
    expect(usedMs).toEqual([25, 4 + 19]);
  });

  it('pays for devices until the last request has ended, though another comes up later', () => {
    const during = run([1], [{ atNs: 5 * MS, pool: 0, devices: 2 }], { activationDelayNs: 5000 * MS });
    expect([during.usedMs, during.endMs]).toEqual([[11, 6], 11]);
    const changes = [
      { atNs: 5 * MS, pool: 0, devices: 2 },
      { atNs: 500 * MS, pool: 0, devices: 1 },
    ];
    const retired = run([1], changes, { activationDelayNs: 5000 * MS });
    expect([retired.usedMs, retired.endMs]).toEqual([[11, 6], 11]);
  });

  it('pays for no device while it only waits for a wake-up of which nothing comes', () => {
    const changes = [
      { atNs: 5 * MS, pool: 0, devices: 1 },
      { atNs: 500 * MS, pool: 0, devices: 1 },
    ];
    const { usedMs, endMs } = run([1], changes);
    expect([usedMs, endMs]).toEqual([[11, 0], 11]);
  });
});
