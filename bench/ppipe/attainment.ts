import { readFileSync } from 'node:fs';
import type { PooledPlan } from '../../src/formats/index.js';
import { topologyOf } from '../../src/plans/index.js';
import { streamOf } from '../../src/random/index.js';
import {
  busyUntilTables,
  type Decisions,
  PUBLISHED_POLICY,
  PUBLISHED_REACTIVE_POLICY,
  REACTIVE_POLICY,
  ReservationCore,
  type ReservationPolicy,
  type ServingCore,
  StageLocalCore,
  type StageLocalPolicy,
  type Topology,
} from '../../src/serving/index.js';
import { OutcomeCode, type SimulationObserver, simulate } from '../../src/simulator/index.js';
import { type Arrivals, DrawnArrivals, steadyLoad } from '../../src/workload/index.js';
import type { Instance } from './instances.js';
import { type ProfileOf, type PublishedPlan, publishedPlan, publishedRps } from './plans.js';

const NS_PER_US = 1e3;
const NS_PER_S = 1e9;
/** Requests that arrive earlier are not counted. */
const COUNTED_FROM_NS = 1e6;

export type Scheduler = 'reservation' | 'reactive';

/** Rules are those of the published simulator in every respect, or our defaults. */
export type Rules = 'published' | 'own';

/** Setting is a published plan of one model under a scheduler. */
export interface Setting {
  instance: Instance;
  model: number;
  plan: PublishedPlan;
  scheduler: Scheduler;
  rules: Rules;
}

export interface RunOptions {
  runs: number;
  durationS: number;
  seed: number;
  /** Changes to our defaults, for our own rules. */
  policy?: { reservation?: Partial<ReservationPolicy>; reactive?: Partial<StageLocalPolicy> };
}

/** Attained holds means over runs, as shares of the requests that were counted. */
export interface Attained {
  offeredRps: number;
  attainment: number;
  dropped: number;
  late: number;
  requests: number;
}

/** PublishedCell is a cell of attainment.csv. */
export interface PublishedCell extends Attained {
  instance: string;
  model: number;
  plan: PublishedPlan;
  scheduler: Scheduler;
  loadFactor: number;
  runs: number;
  sd: number;
}

export function readAttainment(folder: URL): PublishedCell[] {
  const [head = '', ...lines] = readFileSync(new URL('simulation/attainment.csv', folder), 'utf8')
    .trim()
    .split('\n');
  const names = head.split(',');
  return lines.map((line) => {
    const cells = new Map(line.split(',').map((cell, i) => [names[i], cell]));
    const figure = (name: string) => Number(cells.get(name));
    return {
      instance: cells.get('instance') as string,
      model: figure('model_index'),
      plan: cells.get('plan') as PublishedPlan,
      scheduler: cells.get('scheduler') as Scheduler,
      loadFactor: figure('load_factor'),
      offeredRps: figure('offered_rps'),
      runs: figure('repetitions'),
      attainment: figure('attainment'),
      sd: figure('attainment_sd'),
      dropped: figure('drop_fraction'),
      late: figure('late_fraction'),
      requests: 0,
    };
  });
}

/** Attainment is a setting made ready to be simulated at many loads. */
export class Attainment {
  private readonly topology: Topology;
  private readonly referenceRps: number;

  /** @throws Error where the plan was not published */
  constructor(
    private readonly setting: Setting,
    profileOf: ProfileOf,
    private readonly options: RunOptions,
  ) {
    const { instance, model, plan, rules } = setting;
    const artifact = publishedPlan(instance, plan, { profileOf, only: model });
    if (artifact === undefined) throw new Error(`${instance.id} has no plan ${plan}`);
    this.topology = topologyOf(artifact as PooledPlan, { rules });
    this.referenceRps = publishedRps(instance, 'reference')?.[model] as number;
  }

  /**
   * offeredRps gives the rate of a load factor, relative to the reference plan's throughput whichever plan is
   * simulated.
   */
  offeredRps(loadFactor: number): number {
    return Math.floor(loadFactor * Math.floor(this.referenceRps) + 1e-9);
  }

  at(offeredRps: number): Attained {
    const { runs } = this.options;
    const sum: Attained = { offeredRps, attainment: 0, dropped: 0, late: 0, requests: 0 };
    for (let run = 0; run < runs; run++) {
      const counts = this.run(offeredRps, run);
      const requests = counts.reduce((all, n) => all + n, 0);
      sum.requests += requests;
      sum.attainment += counts[OutcomeCode.inTime] / requests / runs;
      sum.late += counts[OutcomeCode.late] / requests / runs;
      sum.dropped += counts[OutcomeCode.dropped] / requests / runs;
    }
    return sum;
  }

  private run(rps: number, run: number): [number, number, number, number] {
    const counts: [number, number, number, number] = [0, 0, 0, 0];
    const observer: SimulationObserver = {
      ended: (_at, _model, _request, arrivedAtNs, outcome) => {
        if (arrivedAtNs >= COUNTED_FROM_NS) counts[outcome] += 1;
      },
    };
    const arrivals = this.arrivals(rps, run);
    const makeCore = (decisions: Decisions) => this.core(decisions);
    simulate({ topology: this.topology, makeCore, arrivals, observers: [observer] });
    return counts;
  }

  /** arrivals draws the same numbers for every plan, scheduler and rule. */
  private arrivals(rps: number, run: number): Arrivals {
    const { instance, model, rules } = this.setting;
    const { durationS, seed } = this.options;
    const stream = streamOf(seed, `arrivals/${instance.id}/${model}/${run}`);
    if (rules === 'published') return publishedArrivals(rps, durationS, stream);
    return new DrawnArrivals({ process: 'poisson', load: steadyLoad(rps, durationS), stream });
  }

  private core(decisions: Decisions): ServingCore {
    const { topology, setting, options } = this;
    const published = setting.rules === 'published';
    if (setting.scheduler === 'reservation')
      return new ReservationCore(
        topology,
        decisions,
        published ? { ...PUBLISHED_POLICY, makeTables: busyUntilTables } : options.policy?.reservation,
      );
    const policy = published
      ? PUBLISHED_REACTIVE_POLICY
      : { ...REACTIVE_POLICY, ...options.policy?.reactive };
    return new StageLocalCore(topology, decisions, policy);
  }
}

/** publishedArrivals puts the first request at 0, and then truncates gaps to whole microseconds. */
function publishedArrivals(rps: number, durationS: number, stream: { exponential(): number }): Arrivals {
  const arrivals = {
    atNs: -1,
    model: 0,
    next: () => {
      const gapUs = arrivals.atNs < 0 ? 0 : Math.floor((1e6 / rps) * stream.exponential());
      arrivals.atNs = Math.max(0, arrivals.atNs) + gapUs * NS_PER_US;
      return arrivals.atNs < durationS * NS_PER_S;
    },
  };
  return arrivals;
}

/** The share of requests in time at which a load counts as attained. */
const ATTAINED = 0.99;
const STEPS_PER_UNIT = 100;

/**
 * largestLoad finds the largest load factor, in steps of 0.01 up to `most`, at which 99 % are in time. It
 * bisects, which assumes that attainment falls as the load grows.
 * @returns 0 where there is none
 */
export function largestLoad(attainment: Attainment, most: number): number {
  let reached = 0;
  let missed = Math.round(most * STEPS_PER_UNIT) + 1;
  while (missed - reached > 1) {
    const tried =
      reached === 0 && missed > STEPS_PER_UNIT ? Math.floor(0.9 * STEPS_PER_UNIT) : (reached + missed) >> 1;
    const { attainment: share } = attainment.at(attainment.offeredRps(tried / STEPS_PER_UNIT));
    if (share >= ATTAINED) reached = tried;
    else missed = tried;
  }
  return reached / STEPS_PER_UNIT;
}
