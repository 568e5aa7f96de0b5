import {
  type Fault,
  fault,
  hasOwnName,
  NS_PER_S,
  option,
  type PolicyScaling,
  stageName,
} from '../formats/index.js';
import type { ScalingRule } from './stage-local/index.js';
import type { Topology } from './topology.js';

/** scalingRule gives the schedule of a policy file as a core follows it, with pools by their index. */
export function scalingRule({ schedule }: PolicyScaling, topology: Topology): ScalingRule {
  const names = poolNames(topology);
  const changes = schedule.map(({ atS, pool, devices }) => ({
    atNs: Math.round(atS * NS_PER_S),
    pool: names.indexOf(pool),
    devices,
  }));
  return { kind: 'schedule', changes };
}

/**
 * scalingFaults finds what is wrong with the schedule of a policy for the pools of a plan: names that no pool has, and
 * more devices than there are.
 */
export function scalingFaults(
  { policy }: { readonly policy: { readonly scaling?: unknown } },
  topology: Topology,
): Fault[] {
  const scaling = policy.scaling as PolicyScaling | undefined;
  if (scaling === undefined) return [];
  const names = poolNames(topology);
  return scaling.schedule.flatMap(({ pool, devices }, i) => {
    const at = option('policy', `/scaling/schedule/${i}`);
    const found = names.indexOf(pool);
    if (found === -1) return [fault(`there is no ${pool}; there are ${names.join(', ')}`, `${at}/pool`)];
    const most = topology.devices.filter((device) => device.pool === found).length;
    if (devices <= most) return [];
    return [fault(`is ${devices}; ${pool} has ${most} that count for it`, `${at}/devices`)];
  });
}

/** poolNames gives the pools' names: the stage of a pipeline, or `<model>/pipeline<p>/partition<q>`. */
export function poolNames({ models, pools }: Pick<Topology, 'models' | 'pools'>): string[] {
  return pools.map(({ model, stage }) =>
    hasOwnName(stage) ? stageName(stage) : `${models[model]?.name}/${stageName(stage)}`,
  );
}
