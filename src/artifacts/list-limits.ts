import { type ArtifactKind, type Fault, fault } from '../formats/index.js';

/**
 * A plan names its spec and its cluster, a trace or records, and a profile for each of its models, of which a pooled one has the
 * most. Each is looked for, and its digest compared.
 */
const MOST_PLAN_INPUTS = 1024;

/** LIST_LIMITS are the most entries of lists that something is made of for each entry, by kind and key, as schemas have them. */
export const LIST_LIMITS: Readonly<Partial<Record<ArtifactKind, Readonly<Record<string, number>>>>> = {
  // Every model has tables by class and batch, and each is looked at beside the others.
  pooled: { models: 1000 },
  // Schedulers look at all stages for a request, and every estimate counts the sample for each application and objective.
  pipeline: { stages: 64, applications: 16, objectives: 16 },
  // Sets of models are numbered by their bits, and tables have an entry for each.
  cascade: { models: 8 },
  // A device is in the pool of each component, and a history has an entry for each that follows it.
  workflow: { components: 256, workflows: 64 },
  // Schedulers look at all tasks of a request that are known.
  run: { tasks: 4096 },
  'pooled-plan': { inputs: MOST_PLAN_INPUTS },
  'pipeline-plan': { inputs: MOST_PLAN_INPUTS },
  'gear-plan': { inputs: MOST_PLAN_INPUTS },
  'workflow-plan': { inputs: MOST_PLAN_INPUTS, components: 256, workflows: 64 },
};

/** listLimitFaults refuses lists of a file that are longer than its kind takes, whatever their entries are. */
export function listLimitFaults(kind: ArtifactKind, value: object): Fault[] {
  return Object.entries(LIST_LIMITS[kind] ?? {}).flatMap(([key, most]) => {
    const list = (value as Readonly<Record<string, unknown>>)[key];
    if (!Array.isArray(list) || list.length <= most) return [];
    return [fault(`has ${list.length} ${key}; at most ${most} are taken (docs/limits.md)`, `/${key}`)];
  });
}
