import { describe, expect, it } from 'vitest';
import { promiseFaults } from '../../../src/checks/index.js';
import type { PooledPlan } from '../../../src/formats/index.js';

const SEEDS = [201, 202, 203, 204, 205, 206, 207, 208];

type Promised = Pick<PooledPlan, 'models' | 'hold' | 'objective'>;

/** Two models of weights 1 and 2, of which 90 and 180 requests/s are held. */
function promised(kind: 'throughput' | 'cost' = 'throughput'): Promised {
  const model = (name: string, weight: number) => ({
    name,
    weight,
    sloMs: 100,
    sloMarginMs: 0,
    blocks: 2,
    pipelines: [],
    throughputRps: 100 * weight,
    heldRps: 90 * weight,
    ...(kind === 'cost' ? { rps: 90 * weight } : {}),
  });
  const held = (name: string) => ({
    name,
    attainment: 0.99,
    sloMargin: 0.2,
    batchFormation: 'none' as const,
    headroom: 1,
    simulated: { mean: 0.995, low: 0.991, high: 0.999, least: 0.99, most: 1 },
  });
  return {
    models: [model('a', 1), model('b', 2)],
    objective: { kind, value: kind === 'cost' ? 12 : 100, bound: 100, gap: 0 },
    hold: {
      value: kind === 'cost' ? 12 : 90,
      bound: kind === 'cost' ? 11 : 95,
      trials: 3,
      // The slower model gets 20,000 requests in 200 s.
      runs: {
        seeds: [...SEEDS],
        arrivals: 'poisson',
        durationS: 200,
        confidence: 0.95,
        warmUp: { fillSlos: 1, settleSlos: 10 },
      },
      models: [held('a'), held('b')],
    },
  };
}

function told(change: (plan: Promised) => void, kind?: 'throughput' | 'cost'): string[] {
  const plan = promised(kind);
  change(plan);
  return promiseFaults(plan as PooledPlan).map(({ path, message }) => `${path} ${message}`);
}

describe('promiseFaults()', () => {
  it('finds nothing in promises that agree with themselves, nor where nothing is promised', () => {
    expect(told(() => {})).toEqual([]);
    expect(told(() => {}, 'cost')).toEqual([]);
    expect(
      told((plan) => {
        delete plan.hold;
        for (const model of plan.models) delete model.heldRps;
      }),
    ).toEqual([]);
  });

  it('finds rates that are promised without saying how, and promises without a rate', () => {
    expect(told((plan) => delete plan.hold)).toHaveLength(2);
    expect(told((plan) => delete plan.models[1]!.heldRps)).toEqual([
      '/models/1/heldRps is missing: the plan holds its other rates',
      '/hold/value is 90; the rates that are held give 0',
    ]);
  });

  it('finds rates that the value does not follow from, or that were not asked for', () => {
    expect(told((plan) => Object.assign(plan.models[0]!, { heldRps: 80 }))).toEqual([
      '/hold/value is 90; the rates that are held give 80',
    ]);
    expect(told((plan) => Object.assign(plan.models[0]!, { heldRps: 95 }))).toEqual([]);
    expect(told((plan) => Object.assign(plan.models[0]!, { heldRps: 80 }), 'cost')).toEqual([
      '/models/0/heldRps is 80; the rate that was asked for is 90',
    ]);
    expect(told((plan) => Object.assign(plan.hold!, { value: 11.5 }), 'cost')).toEqual([
      '/hold/value is 11.5; the rates that are held give 12',
    ]);
  });

  it('finds rates of which the pools cannot serve the promised share for long', () => {
    const most = 100 / 0.99;
    for (const kind of ['throughput', 'cost'] as const) {
      const edit = (heldRps: number) => (plan: Promised) =>
        Object.assign(plan.models[0]!, { heldRps, ...(kind === 'cost' ? { rps: heldRps } : {}) });
      expect(told(edit(most), kind)).toEqual([]);
      expect(told(edit(1.001 * most), kind)).toHaveLength(1);
      expect(told(edit(180), kind)).toEqual([
        '/models/0/heldRps is 180, of which the planned 100 requests/s cannot hold 0.99',
      ]);
    }
  });

  it('finds bounds that are beaten, on either side', () => {
    expect(told((plan) => Object.assign(plan.hold!, { bound: 89 }))).toEqual([
      '/hold/bound is 89, which the value 90 beats',
    ]);
    expect(told((plan) => Object.assign(plan.hold!, { bound: 13 }), 'cost')).toEqual([
      '/hold/bound is 13, which the value 12 beats',
    ]);
  });

  it('finds runs of another length, warm-up, confidence or seeds than those that confirm promises', () => {
    const runs = (change: object) => (plan: Promised) => Object.assign(plan.hold!.runs, change);
    expect(told(runs({ durationS: 199 }))).toEqual([
      '/hold/runs/durationS is 199; the planned rates and SLOs give 200',
    ]);
    expect(told(runs({ warmUp: undefined }))).toEqual([
      '/hold/runs/warmUp is missing: these runs began idle, which promises too much; solve the spec again',
    ]);
    expect(told(runs({ warmUp: { fillSlos: 2, settleSlos: 5 } }))).toEqual([
      '/hold/runs/warmUp/fillSlos is 2; promises are confirmed with 1',
      '/hold/runs/warmUp/settleSlos is 5; promises are confirmed with 10',
    ]);
    expect(told(runs({ confidence: 0.9 }))).toEqual([
      '/hold/runs/confidence is 0.9; promises are confirmed with 0.95',
    ]);
    const right = 'promises are confirmed by 201, 202, 203, 204, 205, 206, 207, 208';
    expect(told(runs({ seeds: SEEDS.slice(1) }))).toEqual([
      `/hold/runs/seeds are 202, 203, 204, 205, 206, 207, 208; ${right}`,
    ]);
    expect(told(runs({ seeds: [] }))).toEqual([`/hold/runs/seeds are ; ${right}`]);
    // Plans that are judged after others have seeds of their own.
    expect(told(runs({ seeds: SEEDS.map((seed) => seed + 3000) }))).toEqual([]);
    expect(told(runs({ seeds: SEEDS.map((seed) => seed + 3001) }))).toHaveLength(1);
  });

  it('finds batches that are larger than the largest that was planned', () => {
    const partition = (batch: number) =>
      ({ batch }) as PooledPlan['models'][0]['pipelines'][0]['partitions'][0];
    const edit = (mostBatch: number) => (plan: Promised) => {
      const one = { throughputRps: 100, batch: 2, latencyUs: 1, partitions: [partition(2), partition(4)] };
      plan.models[0]!.pipelines = [one];
      Object.assign(plan.hold!.models[0]!, { mostBatch });
    };
    expect(told(edit(4))).toEqual([]);
    expect(told(edit(3))).toEqual(['/hold/models/0/mostBatch is 3; its pipelines have batches of 4']);
  });

  it('finds attainments below their shares or out of order, and models of other names', () => {
    const simulated = (change: object) => (plan: Promised) =>
      Object.assign(plan.hold!.models[1]!.simulated!, change);
    for (const change of [{ low: 0.98 }, { low: 0.997 }, { high: 0.994 }, { high: 1.2 }])
      expect(told(simulated(change)), JSON.stringify(change)).toEqual([
        expect.stringMatching(/^\/hold\/models\/1\/simulated has .* and at least 0.99 are promised$/),
      ]);
    expect(told((plan) => Object.assign(plan.hold!.models[0]!, { name: 'c' }))).toEqual([
      '/hold/models has c, b; the plan has a, b',
    ]);
  });
});
