import type { PooledPlan } from '../../formats/index.js';
import type { BundledTensors, Wiring } from '../wiring.js';

/**
 * pooledWiring joins the partitions of a pooled plan's models: tensors have the names of the model's graph.
 * @param files what the file of each partition takes and gives, in the order of the pools
 */
export function pooledWiring({ models }: PooledPlan, files: BundledTensors): Wiring {
  const owners = models.flatMap((model) =>
    model.pipelines.flatMap(({ partitions }) => partitions.map(() => model)),
  );
  return {
    applications: models.map(({ inputs = [], outputs = [] }) => ({
      inputs: inputs.map((spec) => ({ spec, key: spec.name })),
      outputs: outputs.map((spec) => ({ spec, key: spec.name })),
      mayLackOutputs: false,
    })),
    parts: files.map(({ inputs, outputs }, pool) => {
      const ofModel = new Set(owners[pool]?.inputs?.map(({ name }) => name));
      return {
        inputs: inputs.map((spec) => ({ spec, from: [spec.name], isInner: !ofModel.has(spec.name) })),
        outputs: outputs.map((spec) => ({ spec, key: spec.name })),
      };
    }),
  };
}
