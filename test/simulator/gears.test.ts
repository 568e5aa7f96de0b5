import { describe, expect, it } from 'vitest';
import type { GearPlan } from '../../src/formats/index.js';
import { planTopologyOf } from '../../src/plans/index.js';
import { type Stream, streamOf } from '../../src/random/index.js';
import {
  DEFAULT_POLICY,
  FIFO_POLICY,
  GEAR_POLICY,
  INFERLINE_POLICY,
  REACTIVE_POLICY,
  StageLocalCore,
  type StageLocalPolicy,
} from '../../src/serving/index.js';
import {
  OutcomeCode,
  type SimulationObserver,
  type SimulationView,
  simulate,
} from '../../src/simulator/index.js';
import { cases, inWholeRun, seeds, whole } from '../cases.js';
import { type GivenGears, gearPlan } from '../gear-plans.js';
import {
  type PlainBatch,
  PlainGears,
  type PlainLoad,
  type PlainRequest,
  type PlainShift,
} from './plain-gears.js';

const SAMPLES = 61;
const REQUESTS = 100;

interface GearCase {
  readonly plan: GearPlan;
  readonly load: PlainLoad;
}

/** A plan and a load for it, as chance has them. In whole milliseconds, many events are at one instant. */
function randomCase(seed: number): GearCase {
  const stream = streamOf(seed, 'gears');
  const { integer, uniform } = stream;
  const unitUs = uniform() < 0.3 ? 1000 : 1;
  const us = (most: number) => unitUs * (1 + integer(Math.ceil(most / unitUs)));
  const count = 1 + integer(4);
  const held = randomHeld(stream, count);
  const latencyUs = Array.from({ length: count }, (_, model) => {
    const first = us(8000 * (model + 1));
    return Array.from({ length: 1 + integer(5) }, (_, b) => first + b * us(3000));
  });
  let toRps = 0;
  const gears = Array.from({ length: 1 + integer(4) }, () => {
    toRps += 5 + integer(80);
    return { toRps, timeoutMs: us(40_000) / 1000, steps: randomSteps(stream, held, count) };
  });
  const plan = gearPlan({
    latencyUs,
    held,
    gears,
    alpha: [0, 0.5, 8, 60][integer(4)] as number,
    intervalMs: [100, 100, 37.5, 250][integer(4)] as number,
    ...(uniform() < 0.3 ? { accuracy: 0.5 } : {}),
  });
  const certainties = latencyUs.map(() => Float64Array.from({ length: SAMPLES }, () => integer(11) / 10));
  const certainty = (request: number, stage: number) =>
    (certainties[stage] as Float64Array)[request % SAMPLES] as number;
  const arrivalsNs = randomArrivals(stream, toRps, unitUs);
  if (uniform() < 0.7) return { plan, load: { arrivalsNs, certainty, transfers: 'none' } };
  return { plan: linked(plan, stream), load: { arrivalsNs, certainty } };
}

/** Devices that hold models, each of which some device holds. */
function randomHeld({ integer }: Stream, count: number): number[][] {
  const sets = Array.from({ length: 1 + integer(4) }, () => new Set([integer(count), integer(count)]));
  for (let model = 0; model < count; model++)
    if (!sets.some((set) => set.has(model))) sets[integer(sets.length)]?.add(model);
  return sets.map((set) => [...set].sort((a, b) => a - b));
}

/** Shares are halves or absent, so that several devices are equally far behind, and some have no share. */
function randomSteps(
  { integer, uniform }: Stream,
  held: readonly (readonly number[])[],
  count: number,
): GivenGears['gears'][number]['steps'] {
  const chosen = Array.from({ length: count }, (_, model) => model).filter(() => uniform() < 0.6);
  const models = chosen.length === 0 ? [integer(count)] : chosen;
  return models.map((model, i) => ({
    model,
    minQueue: 1 + integer(5),
    ...(i < models.length - 1 ? { threshold: (1 + integer(10)) / 10 } : {}),
    shares: uniform() < 0.3 ? [] : held.filter((on) => on.includes(model)).map(() => integer(3) / 2),
  }));
}

/** Arrivals in bursts and lulls, some of which are seconds long. */
function randomArrivals(
  { integer, uniform, exponential }: Stream,
  maxRps: number,
  unitUs: number,
): Float64Array {
  const unitNs = 1000 * unitUs;
  let atNs = 0;
  let gapNs = 0;
  return Float64Array.from({ length: REQUESTS }, (_, i) => {
    if (i % 25 === 0) gapNs = 1e9 / (maxRps * (0.05 + 1.5 * uniform()));
    if (uniform() < 0.02) atNs += integer(3e9);
    atNs = unitNs * Math.round((atNs + gapNs * exponential()) / unitNs);
    return atNs;
  });
}

/** linked gives devices servers, some of which two devices share, and links between them. */
function linked(plan: GearPlan, { integer }: Stream): GearPlan {
  const perServer = 1 + integer(2);
  return {
    ...plan,
    cluster: { devices: { V100: { count: plan.placement.length, perServer } }, networkGbps: 10 },
    stages: plan.stages.map((stage) => ({ ...stage, transferBytes: integer(5e6) })),
    placement: plan.placement.map((place, i) => ({
      ...place,
      server: `V100-${Math.floor(i / perServer)}`,
      gpu: i % perServer,
    })),
  };
}

/** ServedByCore gathers what the core that serves gears does in virtual time. */
class ServedByCore {
  readonly requests: PlainRequest[] = [];
  readonly batches: PlainBatch[] = [];
  readonly shifts: PlainShift[] = [];
  /** The number of requests before each open one, by its number. */
  private readonly order: number[] = [];
  private readonly stageOf: number[] = [];
  private view: SimulationView | undefined;
  private arrived = 0;
  private next = -1;

  constructor({ plan, load }: GearCase, policy: StageLocalPolicy = GEAR_POLICY) {
    const topology = planTopologyOf(plan, { transfers: load.transfers ?? 'links' });
    const at = () => load.arrivalsNs[this.next] as number;
    simulate({
      topology,
      arrivals: {
        model: 0,
        get atNs() {
          return at();
        },
        next: () => ++this.next < load.arrivalsNs.length,
      },
      observers: [this.observer()],
      makeCore: (decisions) => new StageLocalCore(topology, decisions, policy),
      verdict: (request, _row, stage) => load.certainty(request, stage),
    });
  }

  private observer(): SimulationObserver {
    return {
      begun: (view) => {
        this.view = view;
      },
      arrived: (_atNs, _model, request) => {
        this.order[request] = this.arrived++;
      },
      shifted: (atNs, gear) => this.shifts.push({ atNs, gear }),
      executed: (batch, stage, device, size, _handedNs, startNs, endNs) => {
        const { core, requestOf } = this.view as SimulationView;
        const requests = Array.from({ length: size }, (_, i) => requestOf(core.batchTask(batch, i)));
        for (const request of requests) this.stageOf[request] = stage;
        const ordered = requests.map((request) => this.order[request] as number);
        this.batches.push({ stage, device, startNs, endNs, requests: ordered });
      },
      ended: (atNs, _model, request, _arrivedNs, outcome) => {
        expect([OutcomeCode.inTime, OutcomeCode.late]).toContain(outcome);
        const stage = this.stageOf[request] as number;
        this.requests[this.order[request] as number] = { endedNs: atNs, stage };
      },
    };
  }
}

/** inOrder lists batches by when they began, and those of one instant by device. */
function inOrder(batches: readonly PlainBatch[]): PlainBatch[] {
  return [...batches].sort((a, b) => a.startNs - b.startNs || a.device - b.device);
}

/** settled leaves out the gears that gave way at the instant at which they came into force. */
function settled(shifts: readonly PlainShift[], untilNs: number): PlainShift[] {
  const lasting = shifts.filter(({ atNs }, i) => atNs <= untilNs && shifts[i + 1]?.atNs !== atNs);
  return lasting.filter(({ gear }, i) => gear !== (lasting[i - 1]?.gear ?? 0));
}

describe('A gear plan', () => {
  inWholeRun('is served as its rules say, batch by batch and request by request', () => {
    let shifts = 0;
    let escalated = 0;
    for (const seed of seeds(whole(80, 250), 4000)) {
      const random = randomCase(seed);
      const plain = new PlainGears(random.plan, random.load).run();
      const core = new ServedByCore(random);
      const endNs = Math.max(...plain.requests.map(({ endedNs }) => endedNs));
      expect(settled(core.shifts, endNs), `seed ${seed}`).toEqual(settled(plain.shifts, endNs));
      expect(inOrder(core.batches), `seed ${seed}`).toEqual(inOrder(plain.batches));
      expect(core.requests, `seed ${seed}`).toEqual(plain.requests);
      shifts += plain.shifts.length;
      escalated += plain.batches.reduce((sum, { requests }) => sum + requests.length, -REQUESTS);
    }
    expect(shifts).toBeGreaterThan(cases(whole(100, 500), 8000));
    expect(escalated).toBeGreaterThan(cases(whole(100, 500), 8000));
  });

  inWholeRun(
    'is served by the same gears and models where batches are handed ahead, whatever forms them',
    () => {
      const policies = [GEAR_POLICY, FIFO_POLICY, INFERLINE_POLICY, REACTIVE_POLICY, DEFAULT_POLICY];
      for (const seed of seeds(whole(6, 20), 400)) {
        const { plan, load } = randomCase(seed);
        // Without alpha, gears follow the arrivals alone, and so does the way of each request.
        const random = { plan: { ...plan, switching: { ...plan.switching, alpha: 0 } }, load };
        const { requests } = new PlainGears(random.plan, random.load).run();
        for (const policy of policies) {
          const core = new ServedByCore(random, {
            ...policy,
            placement: 'earliest-free',
            drop: { kind: 'never' },
          });
          const stages = core.requests.map(({ stage }) => stage);
          expect(stages, `seed ${seed}`).toEqual(requests.map(({ stage }) => stage));
        }
      }
    },
  );

  it('keeps the gear of a burst while its tasks wait, also where batches are handed ahead', () => {
    const plan = gearPlan({
      latencyUs: [[1000, 1000, 1000, 1000, 1000, 1000]],
      held: [[0]],
      intervalMs: 100,
      alpha: 8,
      gears: [
        { toRps: 15, steps: [{ model: 0 }] },
        { toRps: 1000, timeoutMs: 250, steps: [{ model: 0, minQueue: 6 }] },
      ],
    });
    const arrivalsNs = Float64Array.from([0, 1, 2, 3, 400], (ms) => ms * 1e6);
    const load = { arrivalsNs, certainty: () => 1 };
    for (const placement of ['on-arrival', 'earliest-free'] as const) {
      const { batches, shifts } = new ServedByCore({ plan, load }, { ...GEAR_POLICY, placement });
      // The second request brings on the gear of bursts, whose timeout it waits out with those behind it. The interval
      // in which they are served is the last of that gear.
      expect(batches.map(({ startNs, requests }) => [startNs / 1e6, requests])).toEqual([
        [0, [0]],
        [251, [1, 2, 3]],
        [400, [4]],
      ]);
      expect(shifts.map(({ atNs, gear }) => [atNs / 1e6, gear])).toEqual([
        [1, 1],
        [300, 0],
      ]);
    }
  });
});
