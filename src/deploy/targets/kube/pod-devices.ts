import type { RuleFinding } from '../../lint/lint.js';
import type { Place } from '../../lint/yaml-file.js';
import { labelValue } from './names.js';
import { CLASS_LABEL, LEVEL_LABEL, levelName } from './nodes.js';
import { asMap, inObject, type KubePods, objectAt } from './objects.js';
import { GPU_SHARE, WHOLE_GPU } from './pods.js';

/** PlannedDevice is what the plan gives a pod: whole GPUs, or a share of one, or else processor cores. */
export interface PlannedDevice {
  /** Where the plan has it. */
  readonly at: string;
  readonly deviceClass: string;
  readonly gpus: number;
  readonly isShare: boolean;
  /** Into how many parts its GPUs are divided. */
  readonly virtual: number;
}

/** podDeviceFaults finds where the first container of pods asks the device plugin for other GPUs than the plan gives it. */
export function* podDeviceFaults(
  pods: KubePods,
  { at: place, gpus, isShare }: PlannedDevice,
): Generator<RuleFinding> {
  const at: Place = [...pods.at, 'containers', 0, 'resources', 'limits'];
  const limits = asMap(objectAt(pods.owner.value, at));
  if (Number(limits[WHOLE_GPU] ?? 0) !== gpus)
    yield inObject(
      pods.owner,
      [...at, WHOLE_GPU],
      `is ${limits[WHOLE_GPU] ?? 'absent'}, and the plan has ${gpus} GPUs at ${place}`,
    );
  const shares = isShare ? 1 : 0;
  if (Number(limits[GPU_SHARE] ?? 0) !== shares)
    yield inObject(
      pods.owner,
      [...at, GPU_SHARE],
      `is ${limits[GPU_SHARE] ?? 'absent'}, and the plan has ${shares} shares of GPUs at ${place}`,
    );
}

/** podNodeFaults finds pods that choose nodes of another class than the plan has for them, or divided otherwise. */
export function* podNodeFaults(
  pods: KubePods,
  { at: place, deviceClass, isShare, virtual }: PlannedDevice,
): Generator<RuleFinding> {
  const at: Place = [...pods.at, 'nodeSelector'];
  const { [CLASS_LABEL]: chosen, [LEVEL_LABEL]: level } = asMap(pods.spec.nodeSelector);
  if (chosen !== labelValue(deviceClass))
    yield inObject(
      pods.owner,
      [...at, CLASS_LABEL],
      `is ${chosen ?? 'absent'}, and ${place} is of ${deviceClass}: the pod may come to nodes that have no such device`,
    );
  if (isShare && level !== levelName(virtual))
    yield inObject(
      pods.owner,
      [...at, LEVEL_LABEL],
      `is ${level ?? 'absent'}, and the GPU of ${place} is divided in ${virtual}: it must be ${levelName(virtual)}`,
    );
}
