import { type PipelinePlan, ToldFaults } from '../../artifacts/index.js';
import type { ServedOverLinks } from '../../inferline/index.js';
import { pipelineTopologyOf } from '../../plans/index.js';
import { streamsOf } from '../../random/index.js';
import { chosenScheduler, makeCore } from '../../serving/index.js';
import { simulate } from '../../simulator/index.js';
import { arrivalsAt } from '../../workload/index.js';

const SEED = 1;

/**
 * linkedSample serves samples by a plan in the simulator, with the links of its servers, under the scheduler that the
 * Estimator stands for. It gives what `plan simulate` gives of the same requests: the latency of each, in the order of
 * arrival.
 */
export const linkedSample: ServedOverLinks = (plan, names) => {
  const told = new ToldFaults();
  const scheduler = chosenScheduler({ scheduler: 'inferline' }, told);
  if (scheduler === undefined) throw told.error('simulate a sample');
  const topology = pipelineTopologyOf({ ...plan, serving: { scheduler: 'inferline' } } as PipelinePlan);
  // For each pool, the place of its stage in the spec.
  const stageOf = plan.stages.map(({ name }) => names.indexOf(name));
  return ({ atNs, verdicts }) => {
    const latencyNs = new Float64Array(atNs.length);
    const orders = new Map<number, number>();
    let arrived = 0;
    simulate({
      topology,
      arrivals: arrivalsAt(atNs),
      makeCore: (decisions) => makeCore(scheduler, topology, { decisions, streams: streamsOf(SEED, 'core') }),
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
  };
};
