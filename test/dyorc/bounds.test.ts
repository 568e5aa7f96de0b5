import { describe, expect, it } from 'vitest';
import { boundSample, leastLatencyNs, leastTimes, requestWorkNs } from '../../src/dyorc/bounds.js';
import { devicesInGroups, usedCluster } from '../../src/dyorc/devices.js';
import { placedByWork } from '../../src/dyorc/placing.js';
import type { OpenCluster, Run, RunTask } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { requestsOfLoad } from '../../src/specs/workflow/requests.js';
import { cases, inWholeRun, WHOLE, whole } from '../cases.js';
import { chatSpec, randomSpec, resolvedSpec } from './made-specs.js';
import { seenRequests } from './simulated.js';

const task = (component: string, more: Partial<RunTask> = {}): RunTask => ({
  component,
  inputs: ['request'],
  after: [],
  outputBytes: 0,
  rows: 1,
  ...more,
});

const run = (tasks: RunTask[], requestBytes = 0): Run => ({
  kind: 'run',
  version: '1.0',
  application: 'chat',
  requestBytes,
  tasks,
});

const MS = 1e6;
/** At 10 Gbps, so many bytes pass in a millisecond. */
const BYTES_PER_MS = 1_250_000;

describe('leastLatencyNs()', () => {
  const { components, cluster } = resolvedSpec(chatSpec());
  const least = leastTimes(components, cluster);
  const latencyMs = (tasks: RunTask[], requestBytes = 0) =>
    leastLatencyNs(run(tasks, requestBytes), least) / MS;

  it('is one execution, the way of the request there, and that of the output back', () => {
    expect(latencyMs([task('vision')])).toBe(10);
    expect(latencyMs([task('vision', { outputBytes: 3 * BYTES_PER_MS })], 2 * BYTES_PER_MS)).toBe(15);
    // A task that does not take the request need not wait for it.
    expect(latencyMs([task('vision', { inputs: [] })], 2 * BYTES_PER_MS)).toBe(10);
  });

  it('follows outputs that are passed on, of which none comes to the front', () => {
    const bytes = 4 * BYTES_PER_MS;
    expect(latencyMs([task('vision', { outputBytes: bytes }), task('language', { inputs: [0] })])).toBe(90);
    expect(latencyMs([task('vision'), task('language'), task('image', { inputs: [0, 1] })])).toBe(280);
  });

  it('brings to the front what was read or returned, where the run says so', () => {
    const bytes = 4 * BYTES_PER_MS;
    const tasks = [
      task('vision', { outputBytes: bytes }),
      task('language', { inputs: [0], outputBytes: 9 * bytes }),
    ];
    const readMs = (reads: number[]) => leastLatencyNs({ ...run(tasks), reads }, least) / MS;
    expect(readMs([1])).toBe(90 + 36);
    expect([readMs([0]), readMs([])]).toEqual([90, 90]);
    expect(readMs([0, 1])).toBe(126);
    // An output that is taken, and takes longer to come back than to be taken.
    const large = [task('language', { outputBytes: 100 * bytes }), task('vision', { inputs: [0] })];
    expect(leastLatencyNs({ ...run(large), reads: [0] }, least) / MS).toBe(80 + 400);
  });

  it('counts what a program reads and thinks before a call', () => {
    const read = task('vision', { outputBytes: 5 * BYTES_PER_MS });
    expect(latencyMs([read, task('language', { inputs: [0], after: [0], thinkMs: 7 })])).toBe(
      10 + 5 + 7 + 80,
    );
    // Thinking about what it passes on goes on while that is executed.
    expect(latencyMs([read, task('language', { inputs: [0], thinkMs: 7 })])).toBe(90);
    expect(latencyMs([read, task('language', { inputs: [0], thinkMs: 70 })])).toBe(150);
    // A call is made no sooner than those whose outputs it takes.
    expect(
      latencyMs([task('vision', { thinkMs: 100 }), task('language', { inputs: [0], thinkMs: 105 })]),
    ).toBe(190);
  });

  it('is that of the batch that takes least, of those with as many rows or more', () => {
    expect(latencyMs([task('vision', { rows: 3 })])).toBe(16);
    expect(latencyMs([task('vision', { rows: 4 })])).toBe(16);
  });
});

describe('requestWorkNs()', () => {
  it('is the part of the batch that takes least for each row', () => {
    const { components, cluster } = resolvedSpec(chatSpec());
    const least = leastTimes(components, cluster);
    // Of vision, 8 rows take 30 ms, 4 take 16 and grow by no more than 1 % after; of language 8 take 160.
    expect(requestWorkNs(run([task('vision'), task('language', { rows: 2 })]), least) / MS).toBeCloseTo(
      30 / 8 + 40,
      9,
    );
    expect(requestWorkNs(run([task('image')]), least) / MS).toBeCloseTo(195, 9);
  });
});

describe('boundSample()', () => {
  const CASES = cases(whole(3, 12), 400);

  inWholeRun('is passed by no scheduler on random samples: not by any request, nor by the mean', () => {
    let tight = 0;
    for (let seed = 1; seed <= CASES; seed++) {
      const { resolved, requests, bounds, placement } = bounded(seed);
      for (const scheduler of ['dyorc', 'greedy', 'round-robin'] as const) {
        const seen = seenRequests(resolved, requests, { placement, scheduler });
        const latencies = seen.filter(({ isAnswered }) => isAnswered).map(({ latencyNs }) => latencyNs);
        // Ends do not come in the order of arrivals: sorted, each of the latencies is at least that of its rank.
        const sorted = Float64Array.from(latencies).sort();
        const least = bounds.latencyNs.toSorted();
        for (const [rank, latencyNs] of sorted.entries())
          expect({ seed, scheduler, latencyNs, isLess: latencyNs < (least[rank] as number) }).toMatchObject({
            isLess: false,
          });
        if (latencies.length === requests.runs.length) {
          const meanMs = latencies.reduce((sum, ns) => sum + ns, 0) / latencies.length / MS;
          expect(meanMs).toBeGreaterThanOrEqual(bounds.meanMs * (1 - 1e-12));
          if (meanMs <= bounds.meanMs * 1.5) tight += 1;
        }
      }
    }
    // A bound that nothing comes near would say little.
    if (WHOLE) expect(tight).toBeGreaterThan(0);
  });

  inWholeRun(
    'holds of devices: whatever serves the sample in time, or as soon as can be, has as many',
    () => {
      let met = 0;
      for (let seed = 1; seed <= CASES; seed++) {
        const { resolved, requests, bounds, placement } = bounded(seed);
        const { workflows, attainment } = resolved;
        for (const scheduler of ['dyorc', 'greedy'] as const) {
          const seen = seenRequests(resolved, requests, { placement, scheduler });
          const isHeld = workflows.every(({ sloMs }, w) => {
            const own = seen.filter(({ workflow }) => workflow === w);
            return (
              sloMs === undefined || own.filter(({ isInTime }) => isInTime).length >= attainment * own.length
            );
          });
          if (!isHeld) continue;
          met += 1;
          expect({
            seed,
            devices: placement.length,
            bound: bounds.sloDevices ?? Number.POSITIVE_INFINITY,
          }).toSatisfy(({ devices, bound }) => devices >= bound);
        }
      }
      expect(met).toBeGreaterThan(CASES / 4);
    },
  );

  it('bounds the devices by work over time, where one more request would need one more device', () => {
    const { components, cluster } = resolvedSpec(chatSpec());
    const least = leastTimes(components, cluster);
    const sample = (count: number) => ({
      atNs: Float64Array.from({ length: count }, () => 0),
      workflows: new Int32Array(count),
      runs: Array.from({ length: count }, () => run([task('image')])),
    });
    const devices = (count: number, attainment = 1) =>
      boundSample(sample(count), { workflows: [{ sloMs: 1950 }], attainment, least }).sloDevices;
    // Each takes 195 ms of a device at least, and all must have ended 1,950 ms after they came.
    expect([1, 10, 11, 20, 21].map((count) => devices(count))).toEqual([1, 1, 2, 2, 3]);
    // Half of 22 are 11, and half of 20 are 10.
    expect([devices(22, 0.5), devices(20, 0.5)]).toEqual([2, 1]);
  });

  it('takes the requests with the least work as those that are in time, out of those that can be', () => {
    const { components, cluster } = resolvedSpec(chatSpec());
    const least = leastTimes(components, cluster);
    const runs = [
      run([task('vision')]),
      run([task('image')]),
      run([task('image'), task('image', { inputs: [0] })]),
    ];
    const sample = { atNs: new Float64Array(3), workflows: new Int32Array(3), runs };
    const bound = (sloMs: number, attainment: number) =>
      boundSample(sample, { workflows: [{ sloMs }], attainment, least });
    expect(bound(400, 1).promised).toEqual([{ wanted: 3, leastSloMs: 400 }]);
    expect(bound(399, 1).sloDevices).toBeUndefined();
    expect(bound(399, 2 / 3)).toMatchObject({ sloDevices: 1, promised: [{ wanted: 2, leastSloMs: 200 }] });
    // Half of three are two.
    expect(bound(399, 1 / 2).promised).toEqual([{ wanted: 2, leastSloMs: 200 }]);
    expect(bound(199, 2 / 3).sloDevices).toBeUndefined();
    expect(bound(199, 1 / 3).sloDevices).toBe(1);
  });

  it('lets requests without an SLO end when they can at the soonest', () => {
    const { components, cluster } = resolvedSpec(chatSpec());
    const least = leastTimes(components, cluster);
    const runs = Array.from({ length: 5 }, () => run([task('image')]));
    const sample = { atNs: Float64Array.of(0, 0, 0, 0, 300 * MS), workflows: new Int32Array(5), runs };
    // Work for 975 ms, and the last request can end 500 ms after the first came.
    const { sloDevices, devices } = boundSample(sample, { workflows: [{}], attainment: 1, least });
    expect({ sloDevices, devices }).toEqual({ sloDevices: 0, devices: 2 });
  });

  it('is what a request alone takes on idle devices that hold everything', () => {
    for (let seed = 1; seed <= CASES; seed++) {
      const { spec, profiles } = randomSpec(seed);
      const devices = { one: { count: 8, memoryGiB: 1000, loadGBps: 1 } };
      // No link takes time, and each program waits for its calls one after another.
      const cluster: OpenCluster = { devices };
      const resolved = resolvedSpec({ ...spec, cluster }, profiles);
      const { runs } = requestsOfLoad({ resolved }, seed);
      const tasks = (runs[0] as Run).tasks.map((one, t) => ({ ...one, after: [...Array(t).keys()] }));
      const alone = {
        atNs: new Float64Array(1),
        workflows: new Int32Array(1),
        runs: [{ ...(runs[0] as Run), tasks }],
      };
      const least = leastTimes(resolved.components, resolved.cluster);
      const isSteady = resolved.components.every(({ classes }) =>
        classes.every(({ latencyUsByBatch }) => {
          const known = latencyUsByBatch.flatMap((us) => us ?? []);
          return known.every((us, i) => us >= (known[i - 1] ?? 0));
        }),
      );
      if (!isSteady) continue;
      const placement = placementFor(resolved, 8);
      // This scheduler gives up no request that will be late.
      const [seen] = seenRequests(resolved, alone, { placement, scheduler: 'greedy' });
      const latencyNs = leastLatencyNs(alone.runs[0] as Run, least);
      expect({ seed, latencyNs: seen?.latencyNs }).toEqual({ seed, latencyNs });
    }
  });
});

/** bounded draws a random spec and its sample, the bounds of that, and some of the spec's devices by which it is served. */
function bounded(seed: number) {
  const { spec, profiles } = randomSpec(seed);
  const resolved = resolvedSpec(spec, profiles);
  const requests = requestsOfLoad({ resolved }, seed);
  const { workflows, attainment, components, cluster } = resolved;
  const bounds = boundSample(requests, { workflows, attainment, least: leastTimes(components, cluster) });
  const most = Object.values(cluster.devices).reduce((sum, { count = 0 }) => sum + count, 0);
  return {
    resolved,
    requests,
    bounds,
    placement: placementFor(resolved, 1 + streamOf(seed, 'devices').integer(most)),
  };
}

/** placementFor places components on so many devices, of all classes in turn, which all run every component. */
function placementFor({ components, cluster }: ReturnType<typeof resolvedSpec>, devices: number) {
  let left = devices;
  const counts = Object.entries(cluster.devices).map(([device, { count = 0 }]) => {
    const own = Math.min(left, count);
    left -= own;
    return { device, count: own };
  });
  const none = components.map(() => 0);
  return placedByWork({
    components,
    cluster: usedCluster(cluster, counts),
    devices: devicesInGroups(cluster, counts, 1),
    rowsPerNs: components.map(() => 1),
    taskInputBytes: none,
    batchInputBytes: none,
  }).placement;
}
