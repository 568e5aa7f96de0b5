import { itemAt } from '../collections/index.js';
import {
  classGbps,
  type DeviceProfile,
  measurementNotes,
  type PipelineSpec,
  servingNotes,
} from '../formats/index.js';
import { type DeviceSets, setsOf } from './device-sets.js';
import { classFigures, isSummed } from './latencies.js';
import type { PipelineFiles } from './problem.js';

/** profileNotes reports what is to be known of the figures that a plan uses. The spec has no faults. */
export function profileNotes(
  { stages }: PipelineSpec,
  { cluster, profiles }: PipelineFiles,
  { sets }: Pick<DeviceSets, 'sets'>,
): string[] {
  const told = stages.flatMap(({ name, batch = 1 }, i) => {
    const { profile, quantile } = itemAt(profiles, i);
    const own = setsOf(sets, i).filter(({ device }) => profile.devices[device] !== undefined);
    if (own.length === 0) return [];
    return [
      ...servingNotes(name, profile.model),
      ...own
        .filter(({ device, virtual }) => isSummed(profile.devices[device] as DeviceProfile, virtual, batch))
        .map(
          ({ device }) =>
            `${name} on ${device}: the latency is the sum of the blocks, as the whole model was not measured`,
        ),
      ...measurementNotes(
        name,
        profile,
        own.map(({ device, virtual }) => classFigures(profile, { device, virtual, quantile, batch })),
      ),
      ...(profile.model.inputs === undefined || profile.model.outputs === undefined
        ? [`${name}: the profile does not list its inputs and outputs, so they were not checked`]
        : []),
    ];
  });
  // Stages that share a profile have some notes in common.
  const notes = [...new Set(told)];
  const linked = sets.every(({ device }) => classGbps(cluster, device) !== undefined);
  const sends = stages.length > 1;
  return linked || !sends
    ? notes
    : [...notes, 'the cluster does not name the rate of every link, so transfers over those count no time'];
}
