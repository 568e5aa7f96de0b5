import { type Fault, gpuNumber, InputError, type PooledPlan } from '../../formats/index.js';

/**
 * checkPlacement checks that a plan's placement, partitions and names agree, as `topologyOf` needs them to. It takes
 * time by the entries of the placement, not by their counts. It does not check the number of virtual GPUs.
 * @throws InputError with every contradiction in the plan
 */
export function checkPlacement(plan: PooledPlan): void {
  const faults = contradictions(plan);
  if (faults.length > 0) throw new InputError('use the plan', faults, 'Solve it again, or mend the edit.');
}

/**
 * contradictions finds the faults that the schema cannot: every model must have a name of its own, by which
 * requests and options find it, and every pool must be placed as often as planned, on its class, and must have
 * a latency for its batch.
 */
function contradictions(plan: PooledPlan): Fault[] {
  const faults: Fault[] = [];
  const placed = new Map<string, number>();
  if (plan.placement.length === 0)
    faults.push({ path: '/placement', message: 'is empty: the plan serves nothing' });
  const names = plan.models.map(({ name }) => name);
  names.forEach((name, m) => {
    if (names.indexOf(name) !== m)
      faults.push({ path: `/models/${m}/name`, message: `${name} is the name of another model too` });
  });
  plan.placement.forEach((place, i) => {
    const part = plan.models[place.model]?.pipelines[place.pipeline]?.partitions[place.partition];
    const path = `/placement/${i}`;
    if (part === undefined) {
      const at = `model ${place.model}, pipeline ${place.pipeline}, partition ${place.partition}`;
      faults.push({ path, message: `names ${at}, which the plan does not have` });
      return;
    }
    if (place.count !== undefined && Number.isNaN(gpuNumber(place, 1)))
      faults.push({
        path,
        message: `counts GPUs from ${place.server} on, which is no ${place.class}-<number>`,
      });
    const key = `${place.model}/${place.pipeline}/${place.partition}`;
    placed.set(key, (placed.get(key) ?? 0) + (place.count ?? 1));
    if (place.class !== part.device || place.virtual !== part.virtual) {
      const is = `${place.class} in ${place.virtual}`;
      faults.push({
        path,
        message: `is ${is}; its partition is planned for ${part.device} in ${part.virtual}`,
      });
    }
  });
  plan.models.forEach((model, m) => {
    model.pipelines.forEach((pipeline, p) => {
      pipeline.partitions.forEach((part, k) => {
        const path = `/models/${m}/pipelines/${p}/partitions/${k}`;
        const count = placed.get(`${m}/${p}/${k}`) ?? 0;
        if (count !== part.virtualGpus) {
          faults.push({ path, message: `has ${part.virtualGpus} virtual GPUs, but ${count} are placed` });
        }
        if (typeof part.latencyUsByBatch[part.batch - 1] !== 'number') {
          faults.push({
            path: `${path}/latencyUsByBatch`,
            message: `has no latency at its batch ${part.batch}`,
          });
        }
      });
    });
  });
  return faults;
}
