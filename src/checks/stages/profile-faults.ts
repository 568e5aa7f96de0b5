import { itemAt, smallestOf } from '../../collections/index.js';
import {
  type DeviceProfile,
  type Fault,
  fault,
  fieldChanges,
  type GearPlan,
  type Loaded,
  type PipelinePlan,
  type PlannedStage,
  type Profile,
} from '../../formats/index.js';
import { faultOf } from '../figures.js';

/** ProfiledStage is what a stage of any plan of whole models has of its profile. */
type ProfiledStage = Pick<
  PlannedStage,
  | 'model'
  | 'device'
  | 'virtual'
  | 'batch'
  | 'latencyUsByBatch'
  | 'latencyQuantile'
  | 'batchTolerance'
  | 'trustBatch'
  | 'unservedOutputs'
  | 'weightBytes'
  | 'inputs'
  | 'outputs'
  | 'others'
>;

/** Profiled is a plan of whole models. */
type Profiled = Pick<PipelinePlan | GearPlan, 'classes'> & { readonly stages: readonly ProfiledStage[] };

/**
 * stageProfileFaults finds where a plan of whole models contradicts the profiles it was made from, which come in the order of
 * its stages: in names, latencies, weights, tensors, marks, and in which classes are emulated. Where profiles are missing it
 * says nothing.
 */
export function stageProfileFaults(
  { stages, classes }: Profiled,
  profiles: readonly Loaded<'profile'>[],
): Fault[] {
  if (profiles.length !== stages.length) return [];
  const emulated = new Set(
    stages.flatMap(({ device, others = [] }, i) =>
      [device, ...others.map((other) => other.device)].filter(
        (name) => profileOf(profiles, i).devices[name]?.emulated,
      ),
    ),
  );
  return [
    ...stages.flatMap((stage, i) => stageFaults(stage, itemAt(profiles, i), `/stages/${i}`)),
    ...Object.entries(classes).flatMap(([name, use]) =>
      faultOf(
        use.emulated || !emulated.has(name),
        'is not said to be emulated; its profiles are',
        `/classes/${name}`,
      ),
    ),
  ];
}

function profileOf(profiles: readonly Loaded<'profile'>[], i: number): Profile {
  return itemAt(profiles, i).value;
}

function stageFaults(stage: ProfiledStage, { value, path }: Loaded<'profile'>, at: string): Fault[] {
  const { model, blocks, devices } = value;
  const weights = blocks.flatMap(({ weightBytes }) => weightBytes ?? []);
  const is = {
    model: stage.model,
    batchTolerance: stage.batchTolerance,
    trustBatch: stage.trustBatch,
    unservedOutputs: stage.unservedOutputs,
    weightBytes: stage.weightBytes,
    outputs: stage.outputs,
    inputs: stage.inputs?.map(({ from: _, ...tensor }) => tensor),
    latencyUsByBatch: stage.latencyUsByBatch,
    others: stage.others?.map(({ latencyUsByBatch }) => ({ latencyUsByBatch })),
  };
  const latencies = ({ device, virtual }: Pick<ProfiledStage, 'device' | 'virtual'>) =>
    latenciesOf(devices[device], { virtual, batch: stage.batch, isP95: stage.latencyQuantile === 'p95' });
  const should: typeof is = {
    model: model.name,
    batchTolerance: model.batchTolerance,
    trustBatch: model.trustBatch,
    unservedOutputs: model.unservedOutputs,
    outputs: model.outputs,
    weightBytes:
      weights.length === blocks.length ? weights.reduce((sum, bytes) => sum + bytes, 0) : undefined,
    inputs: model.inputs as typeof is.inputs,
    latencyUsByBatch: latencies(stage),
    others: stage.others?.map((other) => ({ latencyUsByBatch: latencies(other) })),
  };
  return fieldChanges(is, should).map(({ path: field, before = 'absent', after = 'absent' }) =>
    fault(`is ${before}; its profile ${path} gives ${after}`, `${at}${field}`),
  );
}

interface AskedLatencies {
  readonly virtual: number;
  readonly batch: number;
  readonly isP95: boolean;
}

/** latenciesOf gives the latencies at batch 1 … batch; the last is that of the next batch which was measured. */
function latenciesOf(
  device: DeviceProfile | undefined,
  { virtual, batch, isP95 }: AskedLatencies,
): (number | null)[] {
  const blocks = device?.blockLatencyUs[virtual] ?? {};
  const at = (size: number): number | null => {
    if (isP95) {
      const row = device?.blockLatencyP95Us?.[virtual]?.[size] ?? [];
      return row.length === 1 ? (row[0] ?? null) : null;
    }
    const row = blocks[size] ?? [null];
    const sum = row.some((us) => us === null)
      ? null
      : row.reduce<number>((all, us) => all + (us as number), 0);
    return device?.wholeLatencyUs?.[virtual]?.[size] ?? sum;
  };
  const measured = Object.keys(blocks)
    .map(Number)
    .filter((size) => (at(size) ?? 0) > 0);
  const larger = measured.filter((size) => size >= batch);
  const full = larger.length === 0 ? batch : smallestOf(larger);
  return Array.from({ length: batch }, (_, i) => at(i + 1 === batch ? full : i + 1));
}
