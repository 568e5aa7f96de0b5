import { grownColumn } from '../collections/index.js';
import type { GearPlan } from '../formats/index.js';
import { applicationsOf, planTopologyOf } from '../plans/index.js';
import { streamOf, streamsOf } from '../random/index.js';
import type { FamilyRecords } from '../records/index.js';
import { type ChosenScheduler, makeCore, topologyRulesOf } from '../serving/index.js';
import { OutcomeCode, type SimulationObserver, simulate, simulatedEngine } from '../simulator/index.js';
import { certaintiesOf } from './family-records.js';
import { arrivalsOf } from './workload.js';

/** Multiples of it, less their whole parts, are spread evenly over 0 to 1. */
const GOLDEN_RATIO = (1 + Math.sqrt(5)) / 2;
/** There is room for this many requests at first. */
const FIRST_ROOM = 8_192;

/** GearLoad is a steady Poisson load, before which queues are filled at twice its rate and let settle. */
export interface GearLoad {
  readonly rps: number;
  readonly fillNs: number;
  readonly settleNs: number;
  readonly durationNs: number;
}

/** GearsRun is what became of the requests of a run that count, in the order of their ends. */
export interface GearsRun {
  /** Infinity where a request was not answered. */
  readonly latenciesNs: Float64Array;
  /** The gear that was active when each request came. */
  readonly gears: Int32Array;
  /** Every gear that was active at some time. */
  readonly inForce: readonly number[];
  /** The share of the time in which the busiest device was busy. */
  readonly busiest: number;
}

/** GearServing is by what a gear plan is served in a simulation, and what its models say of the samples that requests are. */
export interface GearServing {
  readonly scheduler: ChosenScheduler;
  /** The records of the plan's stages, in their order. */
  readonly family: FamilyRecords;
}

/**
 * simulatedGears gives a function that simulates a whole gear plan as it is served, with gears that switch, on a load under
 * a seed. Executions take what the plan says, and transfers the time of its cluster's links.
 */
export function simulatedGears(
  plan: GearPlan,
  { scheduler, family }: GearServing,
): (load: GearLoad, seed: number) => GearsRun {
  const topology = planTopologyOf(plan, { transfers: 'links', rules: topologyRulesOf(scheduler) });
  const applications = applicationsOf(plan);
  const verdictOf = certaintiesOf(family);
  return ({ rps, fillNs, settleNs, durationNs }, seed) => {
    const warmUp = { fillNs: [fillNs], settleNs };
    const workload = { kind: 'drawn' as const, process: 'poisson' as const, durationNs, rps: [rps], warmUp };
    // Runs of few requests begin at different samples, so that together they have all: some stretches have more work.
    const firstSample = Math.floor(family.samples * ((seed * GOLDEN_RATIO) % 1));
    const counted = new CountedRequests(topology.devices.length, { fromNs: fillNs + settleNs, durationNs });
    simulate({
      topology,
      verdict: (order, row, stage) => verdictOf(order + firstSample, row, stage),
      arrivals: arrivalsOf(workload, applications, seed),
      observers: [counted],
      engine: simulatedEngine(scheduler, streamOf(seed, 'engine')),
      makeCore: (decisions) => makeCore(scheduler, topology, { decisions, streams: streamsOf(seed, 'core') }),
    });
    return counted.run();
  };
}

/** CountedRequests counts the requests that come after a warm-up, and the time of devices until the last of them comes. */
class CountedRequests implements SimulationObserver {
  private latenciesNs = new Float64Array(FIRST_ROOM);
  private gears = new Int32Array(FIRST_ROOM);
  private count = 0;
  private readonly inForce = new Set([0]);
  /** The gear of each open request. */
  private readonly gearOf: number[] = [];
  private readonly busyNs: Float64Array;
  private gear = 0;

  constructor(
    devices: number,
    private readonly time: { readonly fromNs: number; readonly durationNs: number },
  ) {
    this.busyNs = new Float64Array(devices);
  }

  shifted(_atNs: number, gear: number): void {
    this.gear = gear;
    this.inForce.add(gear);
  }

  arrived(_atNs: number, _model: number, request: number): void {
    this.gearOf[request] = this.gear;
  }

  ended(atNs: number, _model: number, request: number, arrivedNs: number, outcome: OutcomeCode): void {
    if (arrivedNs < this.time.fromNs) return;
    if (this.count === this.gears.length) this.grow();
    const isAnswered = outcome === OutcomeCode.inTime || outcome === OutcomeCode.late;
    this.latenciesNs[this.count] = isAnswered ? atNs - arrivedNs : Number.POSITIVE_INFINITY;
    this.gears[this.count++] = this.gearOf[request] as number;
  }

  private grow(): void {
    this.latenciesNs = grownColumn(this.latenciesNs, 2 * this.count);
    this.gears = grownColumn(this.gears, 2 * this.count);
  }

  executed(
    _batch: number,
    _pool: number,
    device: number,
    _size: number,
    _handedNs: number,
    startNs: number,
    endNs: number,
  ): void {
    const { fromNs, durationNs } = this.time;
    const withinNs = Math.min(endNs, fromNs + durationNs) - Math.max(startNs, fromNs);
    if (withinNs > 0) this.busyNs[device]! += withinNs;
  }

  run(): GearsRun {
    return {
      latenciesNs: this.latenciesNs.subarray(0, this.count),
      gears: this.gears.subarray(0, this.count),
      inForce: [...this.inForce].sort((a, b) => a - b),
      busiest: this.busyNs.reduce((most, ns) => Math.max(most, ns), 0) / this.time.durationNs,
    };
  }
}
