import { type PipelinePlan, ToldFaults } from '../../artifacts/index.js';
import type { Sample } from '../../inferline/index.js';
import type { PipelinePlanBody } from '../../plans/index.js';
import { pipelineTopologyOf } from '../../plans/index.js';
import { type ChosenScheduler, chosenScheduler, makeCore, type Topology } from '../../serving/index.js';
import { simulate } from '../../simulator/index.js';
import { arrivalsAt } from '../../workload/index.js';

/**
 * LinkedSample serves samples by a plan in the simulator, with the links of its servers, under the scheduler that the
 * Estimator stands for. It gives what `plan simulate` gives of the same requests.
 */
export class LinkedSample {
  private readonly topology: Topology;
  private readonly scheduler: ChosenScheduler;
  /** For each pool, the place of its stage in the spec. */
  private readonly stageOf: readonly number[];

  /** @param names the stages in the order of the spec, in which samples have their verdicts */
  constructor(plan: PipelinePlanBody, names: readonly string[]) {
    const told = new ToldFaults();
    const scheduler = chosenScheduler({ scheduler: 'inferline' }, told);
    if (scheduler === undefined) throw told.error('simulate a sample');
    this.scheduler = scheduler;
    this.topology = pipelineTopologyOf({ ...plan, serving: { scheduler: 'inferline' } } as PipelinePlan);
    this.stageOf = plan.stages.map(({ name }) => names.indexOf(name));
  }

  /** latenciesNs gives the latency of each request of a sample, in the order of arrival. */
  latenciesNs({ atNs, verdicts }: Sample): Float64Array {
    const { topology, scheduler, stageOf } = this;
    const latencyNs = new Float64Array(atNs.length);
    const orders = new Map<number, number>();
    let arrived = 0;
    simulate({
      topology,
      arrivals: arrivalsAt(atNs),
      makeCore: (decisions) => makeCore(scheduler, topology, decisions),
      verdict: (order, _row, pool) => verdicts[stageOf[pool] as number]?.[order] ?? 0,
      observers: [
        {
          arrived: (_atNs, _model, request) => {
            orders.set(request, arrived++);
          },
          ended: (endNs, _model, request, arrivedAtNs) => {
            latencyNs[orders.get(request) as number] = endNs - arrivedAtNs;
          },
        },
      ],
    });
    return latencyNs;
  }
}
