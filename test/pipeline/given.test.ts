import { describe, expect, it } from 'vitest';
import { planGiven } from '../../src/pipeline/index.js';
import { type Asked, example, planned, resolved } from './example.js';

/** reasons gives the reasons why the example, changed, has no plan. */
function reasons(change: (asked: Asked) => void) {
  const asked = example();
  change(asked);
  const outcome = planGiven(resolved(asked));
  return outcome.status === 'feasible' ? [] : outcome.reasons;
}

describe('planGiven()', () => {
  it('gives the figures of the example as they are computed by hand', () => {
    const plan = planned(example());
    expect(
      plan.stages.map(({ name, scaleFactor, throughputRps }) => [name, scaleFactor, throughputRps]),
    ).toEqual([
      ['detect', 1, 2000],
      ['read', 0.25, 1000],
      ['face', 0.75, 4e6 / 6000],
      ['merge', 1, 5000],
    ]);
    const ratios = plan.stages.map(({ maxProvisioningRatio = 0 }) => maxProvisioningRatio);
    [500 / 2000, 125 / 1000, 375 / (4e6 / 6000), 500 / 5000].forEach((ratio, i) => {
      expect(ratios[i]).toBeCloseTo(ratio, 12);
    });
    expect(plan.throughputRps).toBeCloseTo(4e6 / 6000 / 0.75, 9);
    expect(plan.hourlyCost).toBeCloseTo(3 * 0.5 + 0.25, 12);
    // crop is 16 bytes for each row, and boxes come along with what read and face have found.
    expect(plan.stages.map(({ next }) => next.map(({ transferBytes }) => transferBytes))).toEqual([
      [16, 16],
      [32],
      [32],
      [],
    ]);
    // At 1 Mbit/s a byte takes 8 µs: batches of 4 send 64 and 128 bytes.
    expect(plan.longestPath).toEqual({
      stages: ['detect', 'face', 'merge'],
      latencyUs: 2000 + 64 * 8 + 6000 + 128 * 8 + 800,
    });
    expect(plan.classes).toEqual({ L4: { used: 3, count: 4 }, T4: { used: 1 } });
    // Of the three that use links, face does so longest, and detect and read share the other server.
    expect(plan.placement).toEqual([
      { server: 'L4-1', gpu: 0, class: 'L4', virtual: 1, stages: ['detect'] },
      { server: 'L4-1', gpu: 1, class: 'L4', virtual: 1, stages: ['read'] },
      { server: 'L4-0', gpu: 0, class: 'L4', virtual: 1, stages: ['face'] },
      { server: 'T4-0', gpu: 0, class: 'T4', virtual: 1, stages: ['merge'] },
    ]);
    expect(plan).toMatchObject({ name: 'pipeline', method: 'given', attainment: 0.99, rps: 500 });
  });

  it('puts stages behind those that lead to them, whatever their order in the spec', () => {
    const asked = example();
    asked.spec.stages.reverse();
    asked.files.profiles.reverse();
    const names = planned(asked).stages.map(({ name }) => name);
    expect(names).toEqual(['detect', 'face', 'read', 'merge']);
  });

  it('adds up the work and the weights of stages that share devices', () => {
    const asked = example();
    for (const i of [1, 2]) {
      delete asked.spec.stages[i]!.device;
      delete asked.spec.stages[i]!.replicas;
    }
    asked.spec.shared = [{ device: 'L4', stages: ['read', 'face'], replicas: 3, virtual: 2, standby: 2 }];
    const plan = planned(asked);
    // At 1/2 of a GPU a batch of read takes 8 ms, and one of face 12 ms.
    const secondsEach = (0.25 * 0.008) / 4 + (0.75 * 0.012) / 4;
    expect(plan.shared).toEqual([
      { stages: ['read', 'face'], weightBytes: 2 ** 31, maxProvisioningRatio: (500 * secondsEach) / 3 },
    ]);
    expect(plan.throughputRps).toBeCloseTo(3 / secondsEach, 9);
    expect(plan.stages[1]).toMatchObject({ device: 'L4', virtual: 2, replicas: 3, standby: 2, batch: 4 });
    expect(plan.classes.L4).toEqual({ used: 3, standby: 1, count: 4 });
    expect(plan.placement.filter(({ stages }) => stages.length === 2)).toEqual(
      [
        { server: 'L4-0', gpu: 0 },
        { server: 'L4-0', gpu: 0 },
        { server: 'L4-1', gpu: 1 },
        { server: 'L4-0', gpu: 1, standby: true },
        { server: 'L4-0', gpu: 1, standby: true },
      ].map((seat) => ({ ...seat, class: 'L4', virtual: 2, stages: ['read', 'face'] })),
    );
  });

  it('writes a long row of like GPUs as one entry', () => {
    const asked = example();
    asked.spec.stages[3]!.replicas = 100_000;
    expect(planned(asked).placement.at(-1)).toEqual({
      server: 'T4-0',
      gpu: 0,
      count: 100_000,
      class: 'T4',
      virtual: 1,
      stages: ['merge'],
    });
  });

  it('takes the measured latency of a whole model before the sum of its blocks, and notes sums', () => {
    const asked = example();
    const { profile } = asked.files.profiles[0]!;
    profile.blocks.push({ cutBytes: 16 });
    profile.devices.L4!.blockLatencyUs['1'] = { '1': [700, 400], '4': [1500, 900] };
    expect(planned(asked).stages[0]?.latencyUsByBatch).toEqual([1100, null, null, 2400]);
    expect(planned(asked).notes).toEqual([
      'detect on L4: the latency is the sum of the blocks, as the whole model was not measured',
    ]);
    profile.devices.L4!.wholeLatencyUs = { '1': { '4': 2200 } };
    expect(planned(asked).stages[0]?.latencyUsByBatch).toEqual([1100, null, null, 2200]);
    expect(planned(asked).notes).toBeUndefined();
  });

  it('notes of which stages the rows of a batch may differ, or are trusted not to', () => {
    const asked = example();
    asked.files.profiles[0]!.profile.model.trustBatch = 'Foo "f" is not known';
    asked.files.profiles[1]!.profile.model.batchTolerance = 0.01;
    expect(planned(asked).notes).toEqual([
      'detect: its batches are trusted not to mix the rows of requests (trust batch), although Foo "f" is not known',
      expect.stringMatching(
        /^read: the rows of a batch influence one another; .* up to 0\.01 of the largest/,
      ),
    ]);
  });

  it('notes links without a rate, which count no time', () => {
    const asked = example();
    const { networkGbps: _, ...cluster } = asked.files.cluster;
    asked.files = { ...asked.files, cluster };
    const plan = planned(asked);
    expect(plan.longestPath.latencyUs).toBe(8800);
    expect(plan.notes).toEqual([
      'the cluster does not name the rate of every link, so transfers over those count no time',
    ]);
  });

  it('gives no cost where a class that is used has no price', () => {
    const asked = example();
    delete asked.files.cluster.devices.T4!.hourlyCost;
    expect(planned(asked).hourlyCost).toBeUndefined();
  });

  it('finds an SLO too short exactly below the longest path', () => {
    const { latencyUs } = planned(example()).longestPath;
    const at = (sloMs: number) => reasons(({ spec }) => Object.assign(spec, { sloMs }));
    expect(at(latencyUs / 1e3)).toEqual([]);
    expect(at(latencyUs / 1e3 - 0.001)).toMatchObject([
      { code: 'slo-too-short', stages: ['detect', 'face', 'merge'], latencyMs: latencyUs / 1e3 },
    ]);
  });

  it('finds a rate too high exactly above what the devices serve', () => {
    const { throughputRps } = planned(example());
    const at = (rps: number) => reasons(({ spec }) => Object.assign(spec, { rps }));
    expect(at(throughputRps)).toEqual([]);
    expect(at(throughputRps + 0.01)).toMatchObject([
      { code: 'rate-too-high', stages: ['face'], rps: throughputRps + 0.01, servedRps: throughputRps },
    ]);
  });

  it('gives a virtual GPU its share of the memory', () => {
    const at = (memoryGiB: number) =>
      reasons(({ spec, files }) => {
        spec.stages[1]!.virtual = 2;
        files.cluster.devices.L4!.memoryGiB = memoryGiB;
      });
    expect(at(2)).toEqual([]);
    expect(at(1.5)).toMatchObject([{ code: 'weights-exceed-memory', stages: ['read'], memoryGiB: 0.75 }]);
  });

  it('reports all that keeps it from being a plan, with figures', () => {
    const found = reasons(({ spec, files }) => {
      spec.stages[0]!.replicas = 2;
      spec.stages[1]!.standby = 1;
      files.cluster.devices.L4!.taken = 1;
      files.cluster.devices.T4!.memoryGiB = 0.5;
      spec.sloMs = 1;
      spec.rps = 1e4;
    });
    expect(found.map(({ code, text }) => `${code}: ${text}`)).toEqual([
      'too-few-gpus: 5 L4 are needed and 3 are free; they are for detect (2), read (1 and 1 on standby), face (1)',
      'weights-exceed-memory: the weights of merge take 1 GiB of the 0.5 GiB of T4',
      'slo-too-short: the longest path, detect -> face -> merge, takes 10.34 ms with full batches, and the SLO is 1 ms',
      'rate-too-high: 2 L4 can serve detect for at most 4000 requests/s, and the load has 10000; a plan keeps up with all requests, whatever share of them may be dropped',
      'rate-too-high: 1 L4 can serve read for at most 4000 requests/s, and the load has 10000; a plan keeps up with all requests, whatever share of them may be dropped',
      'rate-too-high: 1 L4 can serve face for at most 888.9 requests/s, and the load has 10000; a plan keeps up with all requests, whatever share of them may be dropped',
      'rate-too-high: 1 T4 can serve merge for at most 5000 requests/s, and the load has 10000; a plan keeps up with all requests, whatever share of them may be dropped',
    ]);
    expect(found[0]).toMatchObject({ available: { L4: 3 }, missing: { L4: 2 } });
    expect(found[1]).toMatchObject({ neededGiB: 1, memoryGiB: 0.5, class: 'T4' });
  });
});
