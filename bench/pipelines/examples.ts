import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { median } from 'simple-statistics';
import { stringify } from 'yaml';
import { type SimulateOptions, simulatePlan } from '../../src/api/index.js';
import { loadArtifact } from '../../src/artifacts/index.js';
import type {
  PipelineLoad,
  PipelineMethod,
  PipelinePlan,
  PipelineSpec,
  Profile,
} from '../../src/formats/index.js';
import { leastSloMs } from '../../src/pipeline/index.js';
import { solveSpec } from '../../src/specs/index.js';

const EXAMPLES = resolve(import.meta.dirname, '../../../examples/pipelines');

/** PIPELINES names the specs of `examples/pipelines` that are planned for a sample. */
export const PIPELINES = ['image-processing', 'video-monitoring', 'social-media', 'tf-cascade'];
/** PLANNED_RPS is the rate that the paper's experiments plan for (InferLine §7). */
export const PLANNED_RPS = 150;

/** UNSEEN_SEED is the first of the seeds that loads are served with; plans are made for draws with the seeds 1, 2, … */
export const UNSEEN_SEED = 1001;

/** AskedPlan says which pipeline is planned, and in what it differs from its example. */
export interface AskedPlan {
  readonly pipeline: string;
  readonly method: PipelineMethod;
  readonly sloMs?: number;
  readonly load: PipelineLoad;
  /** The device classes that the cluster has; all where absent. */
  readonly classes?: readonly string[] | undefined;
  /** All latencies of the profiles are multiplied by this before planning. */
  readonly scaled?: number;
  /** How often the load is drawn; as often as the planner does by itself where absent. */
  readonly draws?: number | undefined;
}

/** SolvedPlan is a plan and where it was written. */
export interface SolvedPlan {
  readonly path: string;
  readonly plan: PipelinePlan;
  /** The seconds of CPU that planning took. */
  readonly solveS: number;
}

/** Served says what became of a plan in one simulation. */
export interface Served {
  /** The share of requests that were not in time. */
  readonly missed: number;
  readonly perHour: number;
}

/** How many plans were written, which gives each a file of its own. */
let plans = 0;

/** gammaLoad is a load of gamma arrivals, as the examples have it. */
export function gammaLoad(rps: number, cv: number, seconds = 60): PipelineLoad {
  return { arrivals: 'gamma', rps, cv, duration: `${seconds}s` };
}

/** solveExample plans an example pipeline. It is undefined where there is no plan. */
export async function solveExample(
  { pipeline, method, sloMs, load, classes, scaled = 1, draws }: AskedPlan,
  folder: string,
): Promise<{ readonly solved?: SolvedPlan; readonly solveS: number }> {
  const { value } = await loadArtifact(join(EXAMPLES, `${pipeline}.yaml`), ['pipeline']);
  const stages: PipelineSpec['stages'] = [];
  for (const stage of value.stages)
    stages.push({ ...stage, profile: await profileAt(join(EXAMPLES, stage.profile), scaled, folder) });
  const spec: PipelineSpec = {
    ...value,
    cluster: await clusterOf(classes),
    stages,
    sloMs: sloMs ?? leastSloMs(value),
    load,
    planner: { method, ...(draws === undefined ? {} : { draws }) },
  };
  const specPath = join(folder, 'spec.yaml');
  const path = join(folder, `${plans++}.plan.json`);
  await writeFile(specPath, stringify(spec));
  const before = process.cpuUsage();
  const outcome = await solveSpec(specPath, { output: path });
  const { user, system } = process.cpuUsage(before);
  const solveS = (user + system) / 1e6;
  if (outcome.outcome !== 'pipeline-plan') return { solveS };
  return { solved: { path, plan: outcome.plan, solveS }, solveS };
}

async function clusterOf(classes: AskedPlan['classes']): Promise<PipelineSpec['cluster']> {
  const path = join(EXAMPLES, 'cluster.yaml');
  if (classes === undefined) return path;
  const { value } = await loadArtifact(path, ['cluster']);
  const devices = Object.entries(value.devices).filter(([name]) => classes.includes(name));
  const { $schema: _schema, ...cluster } = value;
  return { ...cluster, devices: Object.fromEntries(devices) };
}

/** profileAt gives the path of a profile, or of a copy of it with other latencies. */
async function profileAt(path: string, scaled: number, folder: string): Promise<string> {
  if (scaled === 1) return path;
  const { value } = await loadArtifact(path, ['profile']);
  const devices = structuredClone(value.devices) as Profile['devices'];
  for (const device of Object.values(devices))
    for (const batches of Object.values(device.blockLatencyUs))
      for (const [batch, latencies] of Object.entries(batches))
        batches[batch] = latencies.map((us) => (us === null ? us : us * scaled));
  const copy = join(folder, `${value.model.name}-${scaled}.profile.json`);
  await writeFile(copy, JSON.stringify({ ...value, devices }));
  return copy;
}

/** serveExample simulates a plan. */
export async function serveExample(path: string, options: SimulateOptions): Promise<Served> {
  const { report } = await simulatePlan(path, options);
  return { missed: 1 - (report.overall.attainment ?? 1), perHour: report.cost?.perHour ?? Number.NaN };
}

/** percentText writes a share as a percentage. */
export function percentText(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}

/** spreadText writes the median of some figures, with the least and the most in brackets where they differ. */
export function spreadText(values: readonly number[], text: (value: number) => string): string {
  const [least, middle, most] = [Math.min(...values), median([...values]), Math.max(...values)].map(text);
  return least === most ? `${middle}` : `${middle} (${least} – ${most})`;
}
