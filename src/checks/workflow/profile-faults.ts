import { itemAt, smallestOf } from '../../collections/index.js';
import {
  type ComponentOnClass,
  type Fault,
  fault,
  fieldChanges,
  type Loaded,
  type PlannedComponent,
  type Profile,
  type WorkflowPlan,
} from '../../formats/index.js';

/**
 * workflowProfileFaults finds where a plan contradicts the profiles of its components, which come in their order: in
 * names, weights, tensors, marks and latencies. Where profiles are missing it says nothing.
 */
export function workflowProfileFaults(
  { components }: Pick<WorkflowPlan, 'components'>,
  profiles: readonly Loaded<'profile'>[],
): Fault[] {
  if (profiles.length !== components.length) return [];
  return components.flatMap((component, c) => oneFaults(component, itemAt(profiles, c), `/components/${c}`));
}

function oneFaults(component: PlannedComponent, { value, path }: Loaded<'profile'>, at: string): Fault[] {
  const { name: _, memoryBytes: __, classes, ...told } = component;
  const { model, blocks } = value;
  const weights = blocks.flatMap(({ weightBytes }) => weightBytes ?? []);
  const is = { ...told, classes: classes.map(({ latencyUsByBatch }) => ({ latencyUsByBatch })) };
  const should = {
    model: model.name,
    inputs: model.inputs,
    outputs: model.outputs,
    batchTolerance: model.batchTolerance,
    trustBatch: model.trustBatch,
    unservedOutputs: model.unservedOutputs,
    weightBytes:
      weights.length === blocks.length ? weights.reduce((sum, bytes) => sum + bytes, 0) : undefined,
    classes: classes.map((onClass) => ({ latencyUsByBatch: latenciesOf(value, onClass) })),
  };
  return fieldChanges(is, should).map(({ path: field, before = 'absent', after = 'absent' }) =>
    fault(`is ${before}; its profile ${path} gives ${after}`, `${at}${field}`),
  );
}

/** latenciesOf gives the latencies at batch 1 … batch of the whole model; the last is that of the next batch which was measured. */
function latenciesOf({ devices }: Profile, { device, batch }: ComponentOnClass): (number | null)[] {
  const found = devices[device];
  const blocks = found?.blockLatencyUs[1] ?? {};
  const at = (size: number): number | null => {
    const row = blocks[size] ?? [null];
    const sum = row.reduce<number | null>((all, us) => (all === null || us === null ? null : all + us), 0);
    return found?.wholeLatencyUs?.[1]?.[size] ?? sum;
  };
  const larger = Object.keys(blocks)
    .map(Number)
    .filter((size) => size >= batch && at(size) !== null);
  const full = larger.length === 0 ? batch : smallestOf(larger);
  return Array.from({ length: batch }, (_, i) => at(i + 1 === batch ? full : i + 1));
}
