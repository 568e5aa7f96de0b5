import { dirname } from 'node:path';
import {
  ARTIFACT_KINDS,
  counted,
  InputError,
  type Loaded,
  listed,
  loadArtifact,
  MissingError,
  manifestIn,
  type PolicyFile,
  readWhole,
  type ServingMarks,
  servingNotes,
  unservedOutputNote,
  type Validation,
} from '../artifacts/index.js';
import type { PlanKind } from '../plans/index.js';
import { confirmBundledPlan, confirmPlan, describedSpec } from '../specs/index.js';

/** Validated is the result of checking one file. */
export type Validated = Validation['files'][number];

/**
 * validateFiles checks that each file is valid for its kind, and that it fits together with the files it names: a spec
 * with its cluster and profiles, a plan with the spec and profiles it was made from, a bundle (or its folder) with its
 * files' digests, and an ONNX model with its external data.
 * @returns one result for each path, in their order: a file that is refused or missing is a result, not an exception
 */
export async function validateFiles(paths: readonly string[]): Promise<Validated[]> {
  return Promise.all(paths.map(validateFile));
}

async function validateFile(path: string): Promise<Validated> {
  try {
    return { path, ok: true, what: await describeFile(path) };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return {
      path,
      ok: false,
      missing: error instanceof MissingError,
      message: error.message,
      faults: error.faults.map(({ path, message: told }) => ({ path, message: told })),
    };
  }
}

/** describeFile says in a line what a file holds. A bundle is named by its folder or its manifest. */
async function describeFile(named: string): Promise<string> {
  const path = await manifestIn(named);
  if (path.endsWith('.onnx')) return describeOnnx(path);
  const loaded = await loadArtifact(path, ARTIFACT_KINDS);
  switch (loaded.kind) {
    case 'profile': {
      const { model, blocks, devices } = loaded.value;
      const head = `profile of ${model.name}: ${blocks.length} blocks on ${Object.keys(devices).join(', ')}`;
      return [head, ...tolerances([model])].join('; ');
    }
    case 'cluster':
      return `cluster of ${Object.keys(loaded.value.devices).join(', ')}`;
    case 'pooled':
    case 'pipeline':
    case 'cascade':
      return describedSpec(loaded as Loaded<typeof loaded.kind>);
    case 'policy':
      return describePolicy(loaded.value);
    case 'pooled-plan':
    case 'pipeline-plan':
    case 'gear-plan':
      return describePlan(loaded as Loaded<PlanKind>);
    case 'bundle':
      return describeBundle(loaded as Loaded<'bundle'>);
    case 'simulation-report': {
      const { overall, models, seed } = loaded.value;
      return `simulation report of ${models.map(({ name }) => name).join(', ')}: ${overall.arrived} requests, seed ${seed}`;
    }
    case 'simulation-sweep':
      return `simulation sweep of ${loaded.value.models.map(({ name }) => name).join(', ')}: ${loaded.value.points.length} load factors`;
    case 'scheduler-comparison': {
      const { rows, runs, seed } = loaded.value;
      const names = rows.map(({ scheduler }) => scheduler);
      return `comparison of the schedulers ${listed(names)}: ${counted(runs, 'run')} each, seed ${seed}`;
    }
    case 'comparison':
      return `comparison of ${loaded.value.cases} cases`;
    case 'load-report':
      return `load report of ${loaded.value.url}: ${loaded.value.sent} requests, seed ${loaded.value.seed}`;
    case 'verification':
      return `verification of ${loaded.value.requests} requests`;
    case 'trace-description':
      return `description of ${loaded.value.traces.map(({ name }) => name).join(', ')}`;
    case 'plan-diff':
      return `changes of a plan of ${loaded.value.models.map(({ name }) => name).join(', ')}`;
    case 'no-plan':
      return `answer without a plan: ${loaded.value.status}`;
    case 'error':
      return `error of a command: ${loaded.value.error.code}`;
    case 'devices':
    case 'validation':
    case 'partition-report':
    case 'pipeline-profile':
    case 'plan-set':
    case 'server':
      return `answer of a command: ${loaded.kind}`;
  }
}

async function describeOnnx(path: string): Promise<string> {
  // Only models need these rooms, and most files are none.
  const [{ readModel }, { externalFaults }] = await Promise.all([
    import('../onnx/index.js'),
    import('../profiler/index.js'),
  ]);
  const bytes = await readWhole(path);
  const model = readModel(bytes, { name: path });
  const faults = await externalFaults(model, path);
  if (faults.length > 0) throw new InputError(`read the external data of ${path}`, faults);
  const head = `ONNX model of ${model.graph.nodes.length} nodes, opset ${model.opsets.get('') ?? '—'}`;
  const unserved = model.graph.outputs.filter(({ type }) => type !== undefined && type.kind !== 'tensor');
  return [head, ...unserved.map(({ name }) => unservedOutputNote(name))].join('; ');
}

/** What is told of a plan that was confirmed. */
const CONFIRMED = {
  recomputed: 'recomputed from its spec and profiles',
  evaluated:
    'its search was interrupted and cannot be repeated; its figures follow from its gears and placement',
  unnamed: 'it names no spec, so its figures were not recomputed',
} as const;

function describePolicy({ $schema: _, kind: __, version: ___, scheduler, ...choices }: PolicyFile): string {
  const names = Object.keys(choices);
  return `policy of ${scheduler ?? "the plan's scheduler"}: ${names.length === 0 ? 'no choices' : names.join(', ')}`;
}

async function describePlan({ value: plan, path }: Loaded<PlanKind>): Promise<string> {
  const { planOf } = await import('../plans/index.js');
  const own = planOf(plan);
  const confirmed = CONFIRMED[await confirmPlan(plan, { path })];
  return [own.title(plan), confirmed, ...tolerances(own.models(plan))].join('; ');
}

/** tolerances says of which models the rows of a batch may differ, and by how much, or are trusted not to. */
function tolerances(models: readonly (ServingMarks & { readonly name: string })[]): string[] {
  return models.flatMap((model) => servingNotes(model.name, model));
}

/** describeBundle checks a bundle as the server does, up to the start of its executors. */
async function describeBundle({ value: bundle, path }: Loaded<'bundle'>): Promise<string> {
  // Only bundles need the server's room.
  const { openBundle } = await import('../runtime/index.js');
  const opened = await openBundle(dirname(path), { verb: 'validate' });
  await confirmBundledPlan(opened);
  const { models, partitions, stages } = bundle;
  const parts = stages === undefined ? `${partitions.length} partitions` : `${stages.length} stages`;
  const head = `bundle of ${models.map(({ name }) => name).join(', ')}: ${parts}`;
  const { planOf } = await import('../plans/index.js');
  const { plan } = opened;
  return [head, ...tolerances(planOf(plan).models(plan))].join('; ');
}
