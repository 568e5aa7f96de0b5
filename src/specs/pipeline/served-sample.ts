import { type PipelinePlan, ToldFaults } from '../../formats/index.js';
import { type Misses, SAMPLE_SEED, type ServedBySimulator } from '../../inferline/index.js';
import { pipelineTopologyOf, plannedScheduler } from '../../plans/index.js';
import { streamOf, streamsOf } from '../../random/index.js';
import { makeCore } from '../../serving/index.js';
import {
  OutcomeCode,
  type SimulationObserver,
  type SimulationView,
  simulate,
  simulatedEngine,
} from '../../simulator/index.js';
import { type Arrivals, arrivalsAt } from '../../workload/index.js';

/**
 * servedSample serves samples by a plan in the simulator, with the links of its servers, under a scheduler and without a
 * tuner. It gives what `plan simulate` gives of the same requests: the latency of each, in the order of arrival.
 */
export const servedSample: ServedBySimulator = (plan, names, serving) => {
  const told = new ToldFaults();
  const { kind, sloMs, applications: weighed } = plan;
  const asked = { options: {}, leastSloNs: 1e6 * sloMs, kind, applications: weighed };
  const scheduler = plannedScheduler(serving, asked, told);
  if (scheduler === undefined || told.count > 0) throw told.error('simulate a sample');
  const topology = pipelineTopologyOf({ ...plan, serving } as PipelinePlan);
  const weights = weighed?.map(({ weight = 1 }) => weight);
  // For each pool, the place of its stage in the spec.
  const stageOf = plan.stages.map(({ name }) => names.indexOf(name));
  return ({ atNs, verdicts, applications }, draw, misses) => {
    const latencyNs = new Float64Array(atNs.length);
    const orders = new Map<number, number>();
    const seed = SAMPLE_SEED + draw;
    let arrived = 0;
    simulate({
      topology,
      arrivals: applications === undefined ? arrivalsAt(atNs) : arrivalsOfEach(atNs, applications),
      makeCore: (decisions) => makeCore(scheduler, topology, { decisions, streams: streamsOf(seed, 'core') }),
      verdict: (order, _row, pool) => verdicts[stageOf[pool] as number]?.[order] ?? 0,
      engine: simulatedEngine(scheduler, streamOf(seed, 'engine')),
      ...(weights === undefined ? {} : { weight: (_order, model) => weights[model] as number }),
      observers: [
        ...(misses === undefined ? [] : [new MissCounter(misses, stageOf)]),
        {
          arrived: (_atNs, _model, request) => {
            orders.set(request, arrived++);
          },
          ended: (endNs, _model, request, arrivedAtNs, outcome) => {
            const isAnswered = outcome === OutcomeCode.inTime || outcome === OutcomeCode.late;
            latencyNs[orders.get(request) as number] = isAnswered
              ? endNs - arrivedAtNs
              : Number.POSITIVE_INFINITY;
          },
        },
      ],
    });
    return latencyNs;
  };
};

/** MissCounter counts by stage the requests that are dropped, or late by the first execution that ended after their deadline. */
class MissCounter implements SimulationObserver {
  private view: SimulationView | undefined;
  /** By request, while it is open: its deadline, and the pool that made it late, −1 for none. */
  private readonly open = new Map<number, { readonly deadlineNs: number; late: number }>();

  /** @param stageOf the place of each pool in `misses`, whose last place is the entry */
  constructor(
    private readonly misses: Misses,
    private readonly stageOf: readonly number[],
  ) {}

  begun(view: SimulationView): void {
    this.view = view;
  }

  arrived(atNs: number, model: number, request: number): void {
    const { sloNs } = (this.view as SimulationView).topology.models[model] as { readonly sloNs: number };
    this.open.set(request, { deadlineNs: atNs + sloNs, late: -1 });
  }

  executed(...[batch, pool, , , , , endNs]: Parameters<NonNullable<SimulationObserver['executed']>>): void {
    const view = this.view as SimulationView;
    for (let i = 0; i < view.core.batchSize(batch); i++) {
      const one = this.open.get(view.requestOf(view.core.batchTask(batch, i)));
      if (one !== undefined && one.late < 0 && endNs > one.deadlineNs) one.late = pool;
    }
  }

  ended(...[, , request, , outcome, , pool]: Parameters<NonNullable<SimulationObserver['ended']>>): void {
    const late = this.open.get(request)?.late ?? -1;
    this.open.delete(request);
    if (outcome === OutcomeCode.inTime) return;
    const at = outcome === OutcomeCode.late ? late : pool;
    this.misses[this.stageOf[at] ?? this.misses.length - 1]! += 1;
  }
}

/** arrivalsOfEach makes the arrivals of requests of several applications. */
function arrivalsOfEach(atNs: Float64Array, applications: Uint8Array): Arrivals {
  let next = -1;
  return {
    next: () => ++next < atNs.length,
    get atNs() {
      return atNs[next] as number;
    },
    get model() {
      return applications[next] as number;
    },
  };
}
