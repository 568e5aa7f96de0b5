import { itemAt } from '../../collections/index.js';
import { type ServedStages, stageWiring } from '../../plans/index.js';
import { forkOf } from './fork.js';
import type { StageTensors } from './pool-work.js';

/** stageTensors gives, for each stage, what its model is fed and gives, and what that says of where a row goes on. */
export function stageTensors(plan: ServedStages): StageTensors[] {
  return stageWiring(plan).map(({ inputs, outputs }, i) => {
    const fork = forkOf(itemAt(plan.stages, i), plan.exclusive ?? []);
    return { inputs, outputs, ...(fork === undefined ? {} : { fork }) };
  });
}
