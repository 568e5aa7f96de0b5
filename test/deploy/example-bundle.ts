import { readFile } from 'node:fs/promises';
import type { Bundle, GearPlan, PipelinePlan, PooledPlan, TensorSpec } from '../../src/formats/index.js';
import type { StagePlan } from '../../src/plans/index.js';

export const EXAMPLES = ['pooled', 'pipeline', 'cascade'] as const;

/** ExampleBundle is the plan of an example with the manifest that its bundle would have, had its models files. */
export interface ExampleBundle {
  readonly plan: StagePlan;
  readonly manifest: Bundle;
}

const SHA256 = '0'.repeat(64);

/** tensor is a tensor of four numbers a row. */
export function tensor(name: string, width = 4): TensorSpec {
  return { name, dtype: 'float32', shape: [1, width], batchAxis: 0 };
}

/** exampleBundle reads the plan of an example. Models whose tensors its profiles do not tell get some. */
export async function exampleBundle(example: (typeof EXAMPLES)[number]): Promise<ExampleBundle> {
  const path = new URL(`../../examples/${example}/expected-plan.json`, import.meta.url);
  const plan = JSON.parse(await readFile(path, 'utf8')) as StagePlan;
  const filled = 'stages' in plan ? filledStages(plan) : filledModels(plan);
  const manifest = 'stages' in filled ? stagedManifest(filled) : pooledManifest(filled);
  return { plan: filled, manifest };
}

function filledStages<P extends PipelinePlan | GearPlan>(plan: P): P {
  return {
    ...plan,
    stages: plan.stages.map((stage) => ({
      ...stage,
      inputs: stage.inputs ?? [{ ...tensor('image'), from: ['request.image'] }],
      outputs: stage.outputs ?? [tensor('scores')],
      ...(plan.kind === 'gear-plan' ? { output: 'scores' } : {}),
    })),
  };
}

function filledModels(plan: PooledPlan): PooledPlan {
  return {
    ...plan,
    models: plan.models.map((model) => ({
      ...model,
      inputs: [tensor('image')],
      outputs: [tensor('scores')],
    })),
  };
}

function stagedManifest(plan: PipelinePlan | GearPlan): Bundle {
  const stages = plan.stages.map(({ name, inputs = [], outputs = [] }) => ({
    name,
    file: `models/${name}.onnx`,
    sha256: SHA256,
    inputs,
    outputs,
  }));
  return { ...head(plan), models: [{ name: plan.name, inputs: [], outputs: [] }], partitions: [], stages };
}

function pooledManifest(plan: PooledPlan): Bundle {
  const partitions = plan.models.flatMap(({ name, blocks, pipelines }, model) => {
    const ranges = new Map(
      pipelines.flatMap(({ partitions }) =>
        partitions.map(({ blocks: [from, to] = [0, blocks] }) => [`${from}-${to}`, [from, to]] as const),
      ),
    );
    return [...ranges].map(([range, [from, to]]) => ({
      file: `models/${name}/${range}.onnx`,
      sha256: SHA256,
      model,
      from: from as number,
      to: to as number,
      inputs: [tensor(from === 0 ? 'image' : `at${from}`)],
      outputs: [tensor(to === blocks ? 'scores' : `at${to}`)],
    }));
  });
  const models = plan.models.map(({ name, inputs = [], outputs = [] }) => ({ name, inputs, outputs }));
  return { ...head(plan), models, partitions };
}

function head({ placement }: StagePlan): Pick<Bundle, 'kind' | 'version' | 'target' | 'plan' | 'devices'> {
  const classes = [...new Set(placement.map((placed) => placed.class))].sort();
  return {
    kind: 'bundle',
    version: '1.0',
    target: 'local',
    plan: { path: 'plan.json', sha256: SHA256 },
    devices: Object.fromEntries(classes.map((name) => [name, { provider: 'cuda' }])),
  };
}
