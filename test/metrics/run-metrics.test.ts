import { describe, expect, it } from 'vitest';
import {
  HISTOGRAM_RELATIVE_ERROR,
  type LatencySummary,
  type RequestFigures,
  RunMetrics,
  type RunShape,
  summarizeLatencies,
  windowCells,
} from '../../src/metrics/index.js';
import { streamOf } from '../../src/random/index.js';

const DURATION_NS = 10e9;
const WINDOW_NS = 3e9;

/** SHAPE has two models. Pools 0 → 1 of model 0 use classes 0 and 1, and pool 2 of model 1 uses class 1. */
const SHAPE: RunShape = {
  models: 2,
  poolBatch: [4, 4, 2],
  poolDevices: [2, 1, 2],
  deviceClass: [0, 0, 1, 1, 1],
  deviceShare: [1, 1, 0.5, 0.25, 0.25],
  classes: 2,
  uplinkOf: [0, 1, 2, 2, 2],
  downlinkOf: [0, 1, 2, 2, 2],
  uplinks: 3,
  downlinks: 3,
  dropReasons: 5,
  durationNs: DURATION_NS,
};

interface Request {
  model: number;
  number: number;
  arrivedNs: number;
  endNs: number;
  outcome: 0 | 1 | 2 | 3;
  reason: number;
  pool: number;
  computeNs: number;
  transferNs: number;
  deviceNs: number;
}
interface Batch {
  pool: number;
  device: number;
  requests: Request[];
  startNs: number;
  endNs: number;
  /** The receiving device of a transfer. */
  to?: number;
}
interface Run {
  requests: Request[];
  batches: Batch[];
  transfers: Batch[];
}

/**
 * randomRun makes up a run. No scheduler would behave like this, but the folds must add up any events. Request numbers
 * are used again.
 */
function randomRun(seed: number): Run {
  const stream = streamOf(seed, 'run');
  const run: Run = { requests: [], batches: [], transfers: [] };
  const busyUntil = [0, 0, 0, 0, 0];
  /** The time at which the numbers 4k … 4k + 3 are free again. */
  const freeAt: number[] = [];
  let at = 0;
  while (at < DURATION_NS) {
    const began = at;
    const free = freeAt.findIndex((until) => until < began);
    const slot = free === -1 ? freeAt.length : free;
    const model = stream.integer(2);
    const size = 1 + stream.integer(model === 0 ? 4 : 2);
    const requests: Request[] = [];
    for (let i = 0; i < size && at < DURATION_NS; i++) {
      requests.push({
        model,
        number: slot * 4 + i,
        arrivedNs: at,
        endNs: at,
        outcome: 0,
        reason: -1,
        pool: -1,
        computeNs: 0,
        transferNs: 0,
        deviceNs: 0,
      });
      at += Math.round(1e8 * stream.exponential());
    }
    run.requests.push(...requests);
    carry(run, requests, at, model, busyUntil, stream.integer, stream.uniform);
    freeAt[slot] = (requests[0] as Request).endNs;
  }
  return run;
}

function carry(
  run: Run,
  requests: Request[],
  at: number,
  model: number,
  busyUntil: number[],
  integer: (below: number) => number,
  uniform: () => number,
): void {
  let now = at;
  const execute = (pool: number, device: number): void => {
    const startNs = Math.max(now, busyUntil[device] as number);
    const endNs = startNs + integer(1e9);
    busyUntil[device] = endNs;
    now = endNs;
    run.batches.push({ pool, device, requests, startNs, endNs });
    for (const request of requests) {
      request.computeNs += endNs - startNs;
      request.deviceNs += ((endNs - startNs) * (SHAPE.deviceShare[device] as number)) / requests.length;
    }
  };
  const end = (outcome: 0 | 1 | 2 | 3, reason = -1, pool = -1): void => {
    for (const request of requests) Object.assign(request, { endNs: now, outcome, reason, pool });
  };
  if (uniform() < 0.1) {
    end(2, integer(5), -1);
    return;
  }
  if (model === 1) {
    execute(2, 3 + integer(2));
    end(uniform() < 0.05 ? 3 : uniform() < 0.2 ? 1 : 0);
    return;
  }
  const from = integer(2);
  execute(0, from);
  const startNs = now;
  now += integer(5e7);
  run.transfers.push({ pool: 0, device: from, to: integer(4) - 1, requests, startNs, endNs: now });
  for (const request of requests) request.transferNs += now - startNs;
  if (uniform() < 0.2) {
    end(2, 0, 1);
    return;
  }
  execute(1, 2);
  end(uniform() < 0.2 ? 1 : 0);
}

/**
 * told tells the run's events in order. At one instant, ends of batches come first, then outcomes, then
 * arrivals.
 */
function told(run: Run, options: ConstructorParameters<typeof RunMetrics>[1], shape = SHAPE): RunMetrics {
  const metrics = new RunMetrics(shape, options);
  let current: Request[] = [];
  metrics.begun({
    core: { batchTask: (_, i) => i + 100 },
    requestOf: (task) => current[task - 100]?.number as number,
  });
  const events = [
    ...run.requests.map((r) => ({
      at: r.arrivedNs,
      order: 2,
      tell: () => metrics.arrived(r.arrivedNs, r.model, r.number),
    })),
    ...run.requests.map((r) => ({
      at: r.endNs,
      order: r.endNs === r.arrivedNs ? 3 : 1,
      tell: () => metrics.ended(r.endNs, r.model, r.number, r.arrivedNs, r.outcome, r.reason, r.pool),
    })),
    ...run.batches.map((b, i) => ({
      at: b.endNs,
      order: 0,
      tell: () => {
        current = b.requests;
        metrics.executed(i, b.pool, b.device, b.requests.length, b.startNs, b.startNs, b.endNs);
      },
    })),
    ...run.transfers.map((b, i) => ({
      at: b.endNs,
      order: 0,
      tell: () => {
        current = b.requests;
        metrics.transferred(
          i,
          b.pool,
          b.device,
          b.to as number,
          b.requests.length,
          b.startNs,
          b.startNs,
          b.endNs,
        );
      },
    })),
  ];
  events.sort((a, b) => a.at - b.at || a.order - b.order);
  for (const { tell } of events) tell();
  return metrics;
}

const share = (part: readonly Request[], all: readonly Request[]) => part.length / all.length;
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const within = (batches: readonly Batch[], fromNs: number, toNs: number, weight: (b: Batch) => number) =>
  sum(batches.map((b) => weight(b) * Math.max(0, Math.min(b.endNs, toNs) - Math.max(b.startNs, fromNs))));

function expectSummary(found: LatencySummary | undefined, valuesNs: readonly number[], exact: boolean): void {
  const expected = summarizeLatencies(valuesNs.map((ns) => ns / 1e6));
  if (expected === undefined) throw new Error('nothing was answered: the case shows nothing');
  const error = exact ? 1e-12 : HISTOGRAM_RELATIVE_ERROR;
  expect(found?.count).toBe(expected.count);
  expect(found?.mean).toBeCloseTo(expected.mean, 6);
  for (const key of ['p50', 'p90', 'p95', 'p99', 'max'] as const)
    expect(Math.abs((found?.[key] as number) - expected[key])).toBeLessThanOrEqual(
      expected[key] * error + 1e-9,
    );
}

function expectFigures(found: RequestFigures, requests: readonly Request[], exact: boolean): void {
  const of = (outcome: number) => requests.filter((r) => r.outcome === outcome);
  const bad = [...of(1), ...of(2)];
  const answered = [...of(0), ...of(1)];
  expect(found).toMatchObject({
    arrived: requests.length,
    inTime: of(0).length,
    late: of(1).length,
    dropped: of(2).length,
    failed: of(3).length,
    attainment: share(of(0), requests),
    dropRate: share(bad, requests),
  });
  expect(found.unfinished).toBeUndefined();
  expect(found.invalidRate).toBeCloseTo(
    sum(bad.map((r) => r.deviceNs)) / sum(requests.map((r) => r.deviceNs)),
    9,
  );
  expect(found.offeredRps).toBeCloseTo(requests.length / 10, 9);
  expect(found.goodputRps).toBeCloseTo(of(0).length / 10, 9);
  expect(found.throughputRps).toBeCloseTo(answered.length / 10, 9);
  expectSummary(
    found.latencyMs,
    answered.map((r) => r.endNs - r.arrivedNs),
    exact,
  );
  expectSummary(
    found.splitMs?.compute,
    answered.map((r) => r.computeNs),
    exact,
  );
  expectSummary(
    found.splitMs?.transfer,
    answered.map((r) => r.transferNs),
    exact,
  );
  expectSummary(
    found.splitMs?.queueing,
    answered.map((r) => r.endNs - r.arrivedNs - r.computeNs - r.transferNs),
    exact,
  );
}

describe('RunMetrics', () => {
  it.each([false, true])('gives the same figures of requests as full lists of them (exact: %s)', (exact) => {
    for (let seed = 0; seed < 12; seed++) {
      const run = randomRun(seed);
      const figures = told(run, { exact }).figures(DURATION_NS);
      expectFigures(figures.overall, run.requests, exact);
      figures.models.forEach((found, model) => {
        expectFigures(
          found,
          run.requests.filter((r) => r.model === model),
          exact,
        );
      });
      const dropped = run.requests.filter((r) => r.outcome === 2);
      const places = new Map<string, number>();
      for (const { model, reason, pool } of dropped) {
        const place = JSON.stringify({ model, reason, pool });
        places.set(place, (places.get(place) ?? 0) + 1);
      }
      const found = figures.drops.map(({ count, ...place }) => [JSON.stringify(place), count]);
      expect(found.sort()).toEqual([...places].sort());
    }
  });

  it('counts nothing of a warm-up: no request that arrives in it, and no device time', () => {
    const warmUpNs = 4e9;
    const durationNs = DURATION_NS - warmUpNs;
    for (let seed = 0; seed < 12; seed++) {
      const run = randomRun(seed);
      expect(run.batches.some((b) => b.startNs < warmUpNs && b.endNs > warmUpNs)).toBe(true);
      const metrics = told(run, { exact: true, warmUpNs, windowNs: WINDOW_NS }, { ...SHAPE, durationNs });
      const { overall, drops, pools, classes, links, windows = [] } = metrics.figures(durationNs);
      const counted = run.requests.filter((r) => r.arrivedNs >= warmUpNs);
      expect(overall.arrived).toBe(counted.length);
      expect(overall.attainment).toBeCloseTo(
        share(
          counted.filter((r) => r.outcome === 0),
          counted,
        ),
        12,
      );
      expect(overall.offeredRps).toBeCloseTo(counted.length / (durationNs / 1e9), 9);
      const answered = counted.filter((r) => r.outcome <= 1);
      expectSummary(
        overall.latencyMs,
        answered.map((r) => r.endNs - r.arrivedNs),
        true,
      );
      expect(sum(drops.map(({ count }) => count))).toBe(counted.filter((r) => r.outcome === 2).length);
      pools.forEach((found, pool) => {
        const own = run.batches.filter((b) => b.pool === pool);
        expect(found.batches).toBe(own.filter((b) => b.startNs >= warmUpNs).length);
        const busyNs = within(own, warmUpNs, DURATION_NS, () => 1);
        expect(found.utilisation).toBeCloseTo(busyNs / ((SHAPE.poolDevices[pool] as number) * durationNs), 9);
      });
      classes.forEach(({ busyGpuS }, index) => {
        const own = run.batches.filter((b) => SHAPE.deviceClass[b.device] === index);
        const busy = within(own, warmUpNs, DURATION_NS, (b) => SHAPE.deviceShare[b.device] as number);
        expect(busyGpuS).toBeCloseTo(busy / 1e9, 6);
      });
      const sent = within(run.transfers, warmUpNs, DURATION_NS, () => 1);
      expect(links.uplink.mean).toBeCloseTo(sent / 3 / durationNs, 9);
      windows.forEach((found, window) => {
        const fromNs = warmUpNs + window * WINDOW_NS;
        const isIn = (ns: number) => fromNs <= ns && ns < fromNs + WINDOW_NS;
        expect(found.arrived).toBe(counted.filter((r) => isIn(r.arrivedNs)).length);
        expect(found.batches).toBe(run.batches.filter((b) => isIn(b.startNs)).length);
        const toNs = Math.min(fromNs + WINDOW_NS, DURATION_NS);
        const own = run.batches.filter((b) => SHAPE.deviceClass[b.device] === 1);
        const busy = within(own, fromNs, toNs, (b) => SHAPE.deviceShare[b.device] as number);
        expect(found.utilisation[1]).toBeCloseTo(busy / (toNs - fromNs), 9);
      });
    }
  });

  it('gives the same figures of batches and devices as full lists of them cut at the end', () => {
    for (let seed = 0; seed < 12; seed++) {
      const { batches, transfers, ...run } = randomRun(seed);
      expect(batches.some((b) => b.endNs > DURATION_NS)).toBe(true);
      const figures = told({ batches, transfers, ...run }, {}).figures(DURATION_NS);
      figures.pools.forEach((found, pool) => {
        const own = batches.filter((b) => b.pool === pool);
        const sizes = SHAPE.poolBatch[pool] as number;
        expect(found.sizes).toEqual(
          Array.from({ length: sizes }, (_, i) => own.filter((b) => b.requests.length === i + 1).length),
        );
        expect([found.batches, found.requests]).toEqual([own.length, sum(own.map((b) => b.requests.length))]);
        expect(found.meanBatch).toBeCloseTo(sum(own.map((b) => b.requests.length)) / own.length, 9);
        const there = SHAPE.poolDevices[pool] as number;
        expect(found.utilisation).toBeCloseTo(
          within(own, 0, DURATION_NS, () => 1) / (there * DURATION_NS),
          9,
        );
      });
      figures.classes.forEach((found, index) => {
        const own = batches.filter((b) => SHAPE.deviceClass[b.device] === index);
        const gpus = sum(Array.from(SHAPE.deviceShare).filter((_, d) => SHAPE.deviceClass[d] === index));
        const busy = within(own, 0, DURATION_NS, (b) => SHAPE.deviceShare[b.device] as number);
        expect(found.gpus).toBe(gpus);
        expect(found.virtualGpus).toBe(Array.from(SHAPE.deviceClass).filter((c) => c === index).length);
        expect(found.utilisation).toBeCloseTo(busy / (gpus * DURATION_NS), 9);
        expect(found.busyGpuS).toBeCloseTo(busy / 1e9, 6);
      });
      const up = [0, 1, 2].map((link) =>
        within(
          transfers.filter((b) => SHAPE.uplinkOf[b.device] === link),
          0,
          DURATION_NS,
          () => 1,
        ),
      );
      expect(figures.links.uplink.busiest).toBeCloseTo(Math.max(...up) / DURATION_NS, 9);
      expect(figures.links.uplink.mean).toBeCloseTo(sum(up) / 3 / DURATION_NS, 9);
      const down = [0, 1, 2].map((link) =>
        within(
          transfers.filter((b) => b.to !== -1 && SHAPE.downlinkOf[b.to as number] === link),
          0,
          DURATION_NS,
          () => 1,
        ),
      );
      expect(Math.min(...down)).toBeGreaterThan(0);
      expect(figures.links.downlink.busiest).toBeCloseTo(Math.max(...down) / DURATION_NS, 9);
      expect(figures.links.downlink.mean).toBeCloseTo(sum(down) / 3 / DURATION_NS, 9);
    }
  });

  it('gives the same figures of windows as full lists of their requests, batches and device time', () => {
    for (let seed = 0; seed < 12; seed++) {
      const run = randomRun(seed);
      const windows = told(run, { windowNs: WINDOW_NS, exact: true }).figures(DURATION_NS).windows ?? [];
      expect(windows.map(({ fromS }) => fromS)).toEqual([0, 3, 6, 9]);
      windows.forEach((found, i) => {
        const from = i * WINDOW_NS;
        const to = Math.min(from + WINDOW_NS, DURATION_NS);
        const requests = run.requests.filter((r) => r.arrivedNs >= from && r.arrivedNs < to);
        const answered = requests.filter((r) => r.outcome < 2);
        const inTime = requests.filter((r) => r.outcome === 0);
        expect(found.arrived).toBe(requests.length);
        const outcomes = [found.inTime, found.late, found.dropped, found.failed];
        expect(outcomes).toEqual([0, 1, 2, 3].map((o) => requests.filter((r) => r.outcome === o).length));
        const bad = requests.filter((r) => r.outcome === 1 || r.outcome === 2);
        expect(found.invalidRate).toBeCloseTo(
          sum(bad.map((r) => r.deviceNs)) / sum(requests.map((r) => r.deviceNs)),
          9,
        );
        expect(found.offeredRps).toBeCloseTo(requests.length / ((to - from) / 1e9), 9);
        expect(found.splitMs?.transfer).toBeCloseTo(
          sum(answered.map((r) => r.transferNs)) / answered.length / 1e6,
          6,
        );
        expect(found.attainment).toBeCloseTo(share(inTime, requests), 12);
        expect(found.goodputRps).toBeCloseTo(inTime.length / ((to - from) / 1e9), 9);
        const latencies = summarizeLatencies(answered.map((r) => (r.endNs - r.arrivedNs) / 1e6));
        for (const key of ['mean', 'p50', 'p99', 'max'] as const)
          expect(found.latencyMs?.[key]).toBeCloseTo(latencies?.[key] as number, 6);
        expect(found.splitMs?.compute).toBeCloseTo(
          sum(answered.map((r) => r.computeNs)) / answered.length / 1e6,
          6,
        );
        const { queueing, transfer, compute } = found.splitMs as {
          queueing: number;
          transfer: number;
          compute: number;
        };
        expect(queueing + transfer + compute).toBeCloseTo(found.latencyMs?.mean as number, 6);
        const began = run.batches.filter((b) => b.startNs >= from && b.startNs < to);
        expect(found.batches).toBe(began.length);
        expect(found.meanBatch).toBeCloseTo(sum(began.map((b) => b.requests.length)) / began.length, 9);
        found.utilisation.forEach((utilisation, index) => {
          const own = run.batches.filter((b) => SHAPE.deviceClass[b.device] === index);
          const gpus = index === 0 ? 2 : 1;
          const busy = within(own, from, to, (b) => SHAPE.deviceShare[b.device] as number);
          expect(utilisation).toBeCloseTo(busy / (gpus * (to - from)), 9);
        });
        found.attainments.forEach((attainment, model) => {
          const own = requests.filter((r) => r.model === model);
          const expected =
            own.length === 0
              ? null
              : share(
                  own.filter((r) => r.outcome === 0),
                  own,
                );
          expect(attainment).toBe(expected);
        });
      });
    }
  });

  it('counts the open requests of an interrupted run, and only the windows that it reached', () => {
    const metrics = new RunMetrics(SHAPE, { windowNs: WINDOW_NS });
    metrics.begun({ core: { batchTask: () => 0 }, requestOf: () => 0 });
    metrics.arrived(0, 0, 0);
    metrics.arrived(10, 0, 5000);
    metrics.ended(1e9, 0, 0, 0, 0, -1, -1);
    const { overall, windows, models } = metrics.figures(2e9);
    expect(overall).toMatchObject({ arrived: 2, inTime: 1, unfinished: 1, attainment: 1, goodputRps: 0.5 });
    expect(windows).toHaveLength(1);
    expect(windows?.[0]).toMatchObject({ arrived: 2, goodputRps: 0.5 });
    expect(models[1]?.attainment).toBeUndefined();
  });

  it('reports a utilisation of exactly 1 for devices that are always busy, despite rounding', () => {
    const devices = Array.from({ length: 8 }, (_, device) => device);
    const none = devices.map(() => 0);
    const shape = {
      ...SHAPE,
      models: 1,
      classes: 1,
      poolBatch: [1],
      uplinks: 1,
      downlinks: 1,
      poolDevices: [8],
      deviceClass: none,
      uplinkOf: none,
      downlinkOf: none,
      deviceShare: devices.map(() => 1 / 5),
    };
    const metrics = new RunMetrics(shape, { windowNs: DURATION_NS });
    metrics.begun({ core: { batchTask: () => 0 }, requestOf: () => 0 });
    metrics.arrived(0, 0, 0);
    for (const device of devices) metrics.executed(0, 0, device, 1, 0, 0, DURATION_NS + device);
    const { classes, pools, windows } = metrics.figures(DURATION_NS);
    expect(1.6 / devices.reduce((sum) => sum + 1 / 5, 0)).toBeGreaterThan(1);
    expect([classes[0]?.utilisation, pools[0]?.utilisation, windows?.[0]?.utilisation]).toEqual([1, 1, [1]]);
  });

  it('counts no device time after the run was interrupted', () => {
    const metrics = new RunMetrics(SHAPE, { windowNs: WINDOW_NS });
    metrics.begun({ core: { batchTask: () => 0 }, requestOf: () => 0 });
    metrics.arrived(1e9, 0, 0);
    metrics.endAt(2e9);
    metrics.executed(0, 0, 0, 1, 1e9, 1e9, 5e9);
    metrics.transferred(0, 0, 0, 2, 1, 1.5e9, 1.5e9, 4e9);
    metrics.executed(0, 1, 2, 1, 4e9, 4e9, 6e9);
    const { classes, links, windows } = metrics.figures(2e9);
    expect(classes.map(({ busyGpuS }) => busyGpuS)).toEqual([1, 0]);
    expect(classes[0]?.utilisation).toBe(0.25);
    expect([links.uplink.busiest, links.downlink.busiest]).toEqual([0.25, 0.25]);
    expect(windows).toHaveLength(1);
    expect(windows?.[0]).toMatchObject({ batches: 1, utilisation: [0.25, 0] });
  });

  it('counts devices from when they are asked to come up until they are on standby', () => {
    const scaling = { inUse: [1, 0, 1, 1, 0], poolsOf: [[0], [0], [1], [2], [2]] };
    const metrics = new RunMetrics({ ...SHAPE, scaling }, { windowNs: 5e9 });
    metrics.begun({ core: { batchTask: () => 0 }, requestOf: () => 0 });
    metrics.arrived(0, 0, 0);
    metrics.scaled(2e9, 1, 1);
    metrics.scaled(4e9, 1, 2);
    metrics.executed(0, 0, 1, 1, 4e9, 4e9, 7e9);
    metrics.scaled(7e9, 1, 0);
    metrics.scaled(8e9, 0, 0);
    metrics.scaled(11e9, 4, 1);
    const { classes, pools, windows } = metrics.figures(DURATION_NS);
    expect(pools.map(({ inUse }) => inUse)).toEqual([
      { least: 0, mean: 1.3, most: 2 },
      { least: 1, mean: 1, most: 1 },
      { least: 1, mean: 1, most: 1 },
    ]);
    expect(pools[0]?.utilisation).toBeCloseTo(3 / 13, 12);
    expect(classes).toMatchObject([
      { virtualGpus: 1, gpus: 1, busyGpuS: 3, utilisation: 3 / 13 },
      { virtualGpus: 2, gpus: 0.75, utilisation: 0 },
    ]);
    expect(windows).toMatchObject([
      { inUse: [1.6, 1, 1], utilisation: [1 / 8, 0] },
      { inUse: [1, 1, 1], utilisation: [2 / 5, 0] },
    ]);
  });

  it('says nothing of devices in use where all are there all the time', () => {
    const { pools, windows } = new RunMetrics(SHAPE, { windowNs: 5e9 }).figures(DURATION_NS);
    expect([...pools, ...(windows ?? [])].filter((one) => 'inUse' in one)).toEqual([]);
  });

  it('keeps as many numbers per window as windowCells() says', () => {
    expect(windowCells(SHAPE, 100)).toBe(100 * (13 + 8 + 2 * 2));
  });
});
