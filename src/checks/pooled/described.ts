import {
  type Fault,
  fault,
  fieldChanges,
  type PlannedModel,
  type PlannedPartition,
  type Profile,
} from '../../formats/index.js';
import { rowBytes } from '../stages/index.js';

/** describedFaults finds where a model says something else of itself than its profile: blocks, boundary, marks and tensors. */
export function describedFaults(
  planned: PlannedModel,
  { model, blocks, boundary }: Profile,
  at: string,
): Fault[] {
  const sizes = model.inputs?.map(rowBytes);
  const isKnown = sizes?.every((bytes) => bytes !== undefined) ?? false;
  const is = {
    blocks: planned.blocks,
    boundary: planned.boundary,
    inputs: planned.inputs,
    outputs: planned.outputs,
    batchTolerance: planned.batchTolerance,
    trustBatch: planned.trustBatch,
    unservedOutputs: planned.unservedOutputs,
    inputBytes: planned.inputBytes,
  };
  const should: typeof is = {
    blocks: blocks.length,
    boundary,
    inputs: model.inputs,
    outputs: model.outputs,
    batchTolerance: model.batchTolerance,
    trustBatch: model.trustBatch,
    unservedOutputs: model.unservedOutputs,
    inputBytes: isKnown ? sizes?.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0) : undefined,
  };
  return differing(is, should, at);
}

/** crossingFaults finds other tensors behind a partition than its profile has there. */
export function crossingFaults(
  { blocks, tensors }: PlannedPartition,
  profile: Profile,
  { isLast, at }: { readonly isLast: boolean; readonly at: string },
): Fault[] {
  const should = isLast || blocks === undefined ? undefined : profile.blocks[blocks[1] - 1]?.tensors;
  return differing({ tensors }, { tensors: should }, at);
}

function differing(is: object, should: object, at: string): Fault[] {
  return fieldChanges(is, should).map(({ path, before = 'absent', after = 'absent' }) =>
    fault(`is ${before}; the profile has ${after}`, `${at}${path}`),
  );
}
