import type { PipelinePlan, PipelineSpec } from '../../../src/formats/index.js';
import type { Refutation } from '../refuter.js';

/** countRefutations counts what a plan uses by its placement, and compares it with the spec and with what the plan says. */
export function countRefutations(spec: PipelineSpec, plan: PipelinePlan): Refutation[] {
  const { devices } = spec.cluster as Exclude<PipelineSpec['cluster'], string>;
  const seats = plan.placement.map(({ server, gpu }) => `${server}/${gpu}`);
  const held = (name: string) => plan.placement.filter(({ stages }) => stages.includes(name)).length;
  const found: string[] = new Set(seats).size === seats.length ? [] : ['a GPU is used twice'];
  for (const [name, { count = Number.POSITIVE_INFINITY }] of Object.entries(devices)) {
    const used = plan.placement.filter((place) => place.class === name).length;
    if (used > count) found.push(`${used} of ${count} ${name} are used`);
    if (used !== (plan.classes[name]?.used ?? 0)) found.push(`${used} ${name} are used, not as told`);
  }
  for (const { name, replicas, batch } of spec.stages) {
    const stage = plan.stages.find((one) => one.name === name);
    if (stage === undefined || held(name) !== stage.replicas) found.push(`${name} has ${held(name)} devices`);
    if (replicas !== undefined && stage?.replicas !== replicas)
      found.push(`${name} has not ${replicas} replicas`);
    if (batch !== undefined && stage?.batch !== batch) found.push(`${name} has not batch ${batch}`);
  }
  const { value = 0, bound = 0 } = plan.objective ?? {};
  if (bound > value * (1 + 1e-9)) found.push(`its bound ${bound} is above its cost ${value}`);
  return found.map((one) => ({
    claim: 'the plan has the devices that it says, and the cluster has them',
    found: one,
  }));
}
