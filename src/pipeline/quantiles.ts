import { pushAll } from '../collections/index.js';
import {
  type DeviceProfile,
  type Fault,
  fault,
  type LatencyQuantile,
  listed,
  type PipelineSpec,
  wholeLatencyUs,
} from '../formats/index.js';
import { measuredBatches } from './latencies.js';
import type { PipelineFiles, StageProfile } from './problem.js';

/** ClassSize is a device class and a virtual size on which a stage may run. */
interface ClassSize {
  readonly device: string;
  readonly virtual: number;
}

/** latencyQuantileOf says which quantile of its latencies a stage is planned with. */
export function latencyQuantileOf({ latencyQuantile, stages }: PipelineSpec, i: number): LatencyQuantile {
  return stages[i]?.latencyQuantile ?? latencyQuantile ?? 'p50';
}

/**
 * atQuantiles gives the files of a spec with the quantile that each stage is planned with, and the fault of every stage
 * whose profile lacks some of it. Such a stage keeps its medians.
 * @param classesOf lists what may serve a stage
 */
export function atQuantiles(
  spec: PipelineSpec,
  files: PipelineFiles,
  classesOf: (stage: number) => readonly ClassSize[],
): { readonly files: PipelineFiles; readonly faults: readonly Fault[] } {
  const faults: Fault[] = [];
  const profiles = files.profiles.map((file, i) => {
    if (latencyQuantileOf(spec, i) === 'p50') return file;
    const told = quantileFaults(spec, file, { stage: i, classes: classesOf(i) });
    pushAll(faults, told);
    return told.length > 0 ? file : { ...file, quantile: 'p95' as const };
  });
  return { files: { ...files, profiles }, faults };
}

function quantileFaults(
  spec: PipelineSpec,
  { profile, path }: StageProfile,
  { stage, classes }: { readonly stage: number; readonly classes: readonly ClassSize[] },
): Fault[] {
  const { latencyQuantile, batch } = spec.stages[stage] ?? {};
  const at = latencyQuantile === undefined ? '/latencyQuantile' : `/stages/${stage}/latencyQuantile`;
  const { length } = profile.blocks;
  if (length > 1)
    return [
      fault(
        `is p95, and ${path} has ${length} blocks, whose 95th percentiles do not add up; measure the model in one block, or plan with p50`,
        at,
      ),
    ];
  return classes.flatMap(({ device: name, virtual }) => {
    const device = Object.hasOwn(profile.devices, name)
      ? (profile.devices[name] as DeviceProfile)
      : undefined;
    if (device === undefined) return [];
    const lacking = measuredBatches({ device, virtual }).filter(
      (size) =>
        (batch === undefined || size <= batch) &&
        wholeLatencyUs(device, { virtual, batch: size, quantile: 'p95' }) === undefined,
    );
    if (lacking.length === 0) return [];
    const said = `is p95, and ${path} has no 95th percentile on ${name} at batch ${listed(lacking)}`;
    return [fault(`${said}; measure them, or plan with p50`, at)];
  });
}
