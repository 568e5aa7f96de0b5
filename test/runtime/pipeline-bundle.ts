import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { saveArtifact, sha256OfFile } from '../../src/artifacts/index.js';
import { type Bundle, type PipelinePlan, sha256Of, type TensorSpec } from '../../src/formats/index.js';
import { servedPipelineOf } from '../../src/plans/index.js';

/** Files gives the bytes of each stage's ONNX file. */
export type Files = (stage: string) => Uint8Array;

/** A bundle that is only opened needs no models. */
const NO_MODEL: Files = (stage) => new TextEncoder().encode(stage);

/**
 * writePipelineBundle writes the bundle of a pipeline plan to a fresh folder.
 * @param change changes the manifest before it is written
 */
export async function writePipelineBundle(
  plan: PipelinePlan,
  { files = NO_MODEL, change }: { files?: Files; change?: (manifest: Bundle) => void } = {},
): Promise<{ folder: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'inferplan-pipeline-bundle-'));
  await mkdir(join(folder, 'models'));
  await saveArtifact<'pipeline-plan'>(join(folder, 'plan.json'), plan);
  const stages = plan.stages.map(({ name, inputs = [], outputs = [] }) => {
    const sha256 = sha256Of(files(name));
    return { name, file: `models/${name}.onnx`, sha256, inputs, outputs };
  });
  for (const { name, file } of stages) await writeFile(join(folder, file), files(name));
  const { inputs, outputs } = servedPipelineOf(plan);
  const served: TensorSpec[] = outputs.map(({ spec }) => spec);
  const manifest: Bundle = {
    kind: 'bundle',
    version: '1.1',
    target: 'local',
    plan: { path: 'plan.json', sha256: await sha256OfFile(join(folder, 'plan.json')) },
    models: (plan.applications ?? [plan]).map(({ name }) => ({ name, inputs: [...inputs], outputs: served })),
    partitions: [],
    stages,
    devices: { cpu: { provider: 'cpu', threads: 1 } },
  };
  change?.(manifest);
  await saveArtifact<'bundle'>(join(folder, 'manifest.json'), manifest);
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
