import { type Bundle, type Fault, type GearPlan, InputError, type PipelinePlan } from '../formats/index.js';
import {
  type PlanFile,
  type PlanKind,
  planOf,
  type StagePlan,
  unservedCascadeFaults,
  unservedFaults,
} from '../plans/index.js';
import { refuseLayers, writePartitions } from './partitions.js';
import type { ProgramToWrite } from './program-files.js';
import { writeStages } from './stages.js';
import { programsOfWorkflows, refuseWorkflows, writeWorkflows } from './workflows.js';
import type { ModelsToWrite, WrittenParts } from './written-parts.js';

/** PartsOf says how the models of plans of one kind get into a bundle, whatever its target. */
interface PartsOf<K extends PlanKind> {
  /**
   * refuse refuses a plan that no bundle can be made of.
   * @throws InputError with every fault
   */
  refuse(plan: PlanFile<K>, path: string): void;
  /**
   * write writes the plan's ONNX files into a bundle's folder.
   * @throws InputError where plan, profiles and models do not fit together
   */
  write(folder: string, plan: PlanFile<K>, models: ModelsToWrite): Promise<WrittenParts>;
  /** `programs` lists the programs that it names, by their paths from the plan; absent where plans of the kind name none. */
  readonly programs?: (plan: PlanFile<K>) => readonly ProgramToWrite[];
}

const PARTS: { readonly [K in PlanKind]: PartsOf<K> } = {
  'pooled-plan': {
    refuse: refuseLayers,
    write: (folder, plan, models) => writePartitions(folder, { ...models, plan }),
  },
  'pipeline-plan': { refuse: (plan, path) => refuseFaults(unservedFaults(plan), path), write: writeStaged },
  'gear-plan': {
    refuse: (plan, path) => refuseFaults(unservedCascadeFaults(plan), path),
    write: writeStaged,
  },
  'workflow-plan': { refuse: refuseWorkflows, write: writeWorkflows, programs: programsOfWorkflows },
};

/**
 * partsOf gives how the models of a plan's kind get into a bundle. As with `planOf`, the cast is where the compiler cannot
 * see that a plan and its entry are of one kind.
 */
export function partsOf<K extends PlanKind>({ kind }: { readonly kind: K } & PlanFile<K>): PartsOf<K> {
  return PARTS[kind] as PartsOf<K>;
}

async function writeStaged(
  folder: string,
  plan: PipelinePlan | GearPlan,
  models: ModelsToWrite,
): Promise<WrittenParts> {
  const { stages, sizes } = await writeStages(folder, { ...models, stages: plan.stages });
  return { models: servedModels(plan), partitions: [], stages, sizes };
}

/** servedModels gives what clients send and get. */
function servedModels(plan: StagePlan): Bundle['models'] {
  return planOf(plan)
    .served(plan)
    .map(({ name, inputs = [], outputs = [] }) => ({ name, inputs: [...inputs], outputs: [...outputs] }));
}

/** refuseFaults refuses a plan whose stages cannot be run as models. */
function refuseFaults(faults: readonly Fault[], path: string): void {
  if (faults.length > 0) throw new InputError(`deploy ${path}`, faults, 'Mend the spec, and solve it again.');
}
