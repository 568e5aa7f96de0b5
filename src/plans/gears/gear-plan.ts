import {
  gearPlanFaults,
  gearPromiseFaults,
  gearRecordFaults,
  recountFaults,
  stageProfileFaults,
} from '../../checks/index.js';
import { counted } from '../../formats/index.js';
import type { KnownSamples, StagePlanOf } from '../plan-of.js';
import { servingFaults } from '../plan-scheduler.js';
import { stageModels, stageParts } from '../stages/index.js';
import { diffGears, gearFieldChanges } from './diff.js';
import { servedCascadeOf } from './served-cascade.js';
import { gearTopologyOf } from './topology.js';
import { gearWiring } from './wiring.js';

/** GEAR_PLAN says what a gear plan is: one application, whose parts are the models of its cascades. */
export const GEAR_PLAN: StagePlanOf<'gear-plan'> = {
  applications: ({ name, sloMs, maxRps }) => [{ name, sloMs, throughputRps: maxRps, weight: 1 }],
  topology: gearTopologyOf,
  contradictions: (plan) => {
    const faults = [...servingFaults(plan), ...gearPlanFaults(plan), ...gearPromiseFaults(plan)];
    return faults.length > 0 ? faults : recountFaults(plan);
  },
  isReadDespiteFaults: false,
  isOfUsedDevices: false,
  profileFaults: stageProfileFaults,
  recordFaults: gearRecordFaults,
  parts: stageParts,
  profiled: stageModels,
  profiledWhat: 'stages',
  load: () => undefined,
  withSlos: (plan, changed) => ({ ...plan, sloMs: changed(plan.sloMs) }),
  // The records hold what its models say of samples; the plan does not hold them.
  world: (cascade) => ({ cascade }),
  served: (plan) => [{ name: plan.name, ...servedCascadeOf(plan) }],
  wiring: gearWiring,
  unlikeSent: (_, { samples }) => unlikeSamples(samples),
  uses: ({ classes }) => classes,
  title: ({ stages }) => `gear plan of ${stages.map(({ name }) => name).join(', ')}`,
  models: ({ stages }) => stages,
  diff: (before, after) => ({ told: diffGears(before, after), fields: gearFieldChanges(before, after) }),
};

/** unlikeSamples says that the accuracy of some samples is compared with that of others, as far as that is known. */
function unlikeSamples({ sent, recorded = 0, areGiven }: KnownSamples): string[] {
  if (sent === undefined)
    return [
      'the simulation answers by the records of the plan; the load sent other samples, or did not say which',
    ];
  if (areGiven && sent === recorded) return [];
  const records = `the records of ${counted(recorded, 'sample')}${areGiven ? '' : ' that the plan was made from'}`;
  const compared = `the simulated accuracy and answers are those by ${records}, and the live ones those of the ${counted(sent, 'labelled sample')} that the load sent`;
  return [
    sent === recorded
      ? `${compared}: a difference says something of the server only where these are the same samples, in the same order`
      : `${compared}: these are other samples, so that a part of the difference is theirs; give the records of the samples that were sent`,
  ];
}
