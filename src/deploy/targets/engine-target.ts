import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { artifactText, emittedHead, makeFolderWhole } from '../../artifacts/index.js';
import {
  BUNDLE_MANIFEST,
  type Bundle,
  type BundledDevice,
  type DeployTarget,
  type Fault,
  fault,
  InputError,
  LINT_REPORT,
  type LintFinding,
  type LintReport,
  measuredAs,
  option,
  sha256Of,
} from '../../formats/index.js';
import { isOfStages, type ServedPlan, type StagePlan } from '../../plans/index.js';
import { othersThanBundle } from '../bundle-folder.js';
import { type EngineGraph, engineGraphOf } from '../engine-graph.js';
import { BundleTexts, type LintRule, lintBundle } from '../lint/lint.js';
import { partsOf } from '../parts.js';
import { placeParts } from '../placed-parts.js';
import type { Deployment, TargetOf, WrittenBundle } from './target.js';

/** EngineBundle is what the files of an engine are made from. */
export interface EngineBundle {
  readonly plan: StagePlan;
  /** The digest of the plan's file. */
  readonly planSha256: string;
  readonly graph: EngineGraph;
}

/** Engine says how a plan is written for an engine of others. All of it is pure, so that the same plan gives the same bytes. */
export interface Engine<T extends DeployTarget> {
  readonly target: T;
  /** refuse finds what the engine cannot do of the plan, each with a target that can. */
  refuse(bundle: EngineBundle): Fault[];
  /** check refuses a deployment whose models the engine cannot run. @throws InputError with every fault */
  check?(deployment: Deployment): void;
  /** files gives the texts of the engine's files by their paths in the bundle, with a README. */
  files(bundle: EngineBundle): ReadonlyMap<string, string>;
  /** The rules that the files must keep. */
  readonly rules: readonly LintRule[];
  /** isProgram returns whether a file's mode is to let it be run. */
  readonly isProgram?: (path: string) => boolean;
  /** place says where the ONNX file of each stage goes in the bundle, where the engine looks for it in a place of its own. */
  readonly place?: (graph: EngineGraph) => readonly string[];
}

/**
 * engineTarget makes the target of an engine of others: the plan, its ONNX files, the engine's files, the report of their
 * lint, and the manifest. Where a file breaks a rule of the engine, nothing is written.
 */
export function engineTarget<T extends DeployTarget>(engine: Engine<T>): TargetOf<T> {
  return {
    lint: ({ plan, manifest, texts }) =>
      lintBundle(engine.target, engine.rules, {
        plan,
        graph: engineGraphOf(plan, manifest),
        files: new BundleTexts(texts),
      }),
    write: async (folder, deployment) => {
      let written: WrittenBundle<T> | undefined;
      await makeFolderWhole(folder, othersThanBundle, async (fresh) => {
        written = await fill(engine, fresh, deployment);
      });
      return written as WrittenBundle<T>;
    },
  };
}

async function fill<T extends DeployTarget>(
  engine: Engine<T>,
  folder: string,
  deployment: Deployment,
): Promise<WrittenBundle<T>> {
  const { planBytes, inputs, checks, signal } = deployment;
  const plan = planOfStages(engine.target, deployment.plan);
  engine.check?.(deployment);
  const devices = knownDevices(deployment);
  const written = await partsOf(plan).write(folder, plan, deployment);
  await writeFile(join(folder, 'plan.json'), planBytes);
  const planSha256 = sha256Of(planBytes);
  const graph = engineGraphOf(plan, { ...written, devices });
  const refused = engine.refuse({ plan, planSha256, graph });
  if (refused.length > 0) throw new InputError(`deploy the plan for ${engine.target}`, refused);
  const paths = engine.place?.(graph);
  const { sizes, ...parts } =
    paths === undefined ? written : await placeParts(folder, written, { plan, paths });
  const bundle = { plan, planSha256, graph: engineGraphOf(plan, { ...parts, devices }) };
  const texts = engine.files(bundle);
  const lint = lintBundle(engine.target, engine.rules, { ...bundle, files: new BundleTexts(texts) });
  refuseLinted(engine.target, lint);
  const all = new Map([...texts, [LINT_REPORT, artifactText<'lint-report'>(lint)]]);
  for (const [path, text] of all) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text, { mode: engine.isProgram?.(path) ? 0o755 : 0o644 });
  }
  const manifest: Bundle & { readonly target: T } = {
    ...emittedHead('bundle', inputs),
    ...checks,
    target: engine.target,
    plan: { path: 'plan.json', sha256: planSha256 },
    ...parts,
    devices,
    files: [...all].map(([path, text]) => ({ path, sha256: sha256Of(text) })),
  };
  await writeFile(join(folder, BUNDLE_MANIFEST), artifactText<'bundle'>(manifest));
  signal?.throwIfAborted();
  return { manifest, sizes, lint };
}

/**
 * planOfStages gives a plan that an engine of others can run. @throws InputError where it is of workflows, which only
 * our server runs
 */
function planOfStages(target: DeployTarget, plan: ServedPlan): StagePlan {
  if (isOfStages(plan)) return plan;
  throw new InputError(
    `deploy the plan for ${target}`,
    [fault('is a workflow plan, whose programs only this server runs')],
    `Deploy it with ${option('target')} local.`,
  );
}

/** refuseLinted refuses files that break a rule of the engine. @throws InputError with each place */
function refuseLinted(target: DeployTarget, { faults }: LintReport): void {
  if (faults.length > 0) throw new InputError(`deploy the plan for ${target}`, faults.map(lintFault));
}

/** lintFault reports a finding like any fault of a file. */
export function lintFault({ rule, file, line, path, message }: LintFinding): Fault {
  const place = line === undefined ? file : `${file}:${line}`;
  return fault(`${path === '' ? '' : `${path}: `}${message} (${rule})`, place);
}

/** knownDevices says how each class of the plan is run, as far as its profiles say. Imported ones do not. */
function knownDevices({ plan, models }: Deployment): Record<string, BundledDevice> {
  const classes = [...new Set(plan.placement.map((placed) => placed.class))].sort();
  return Object.fromEntries(
    classes.flatMap((name) => {
      const as = measuredAs(plan.cluster, name);
      const found = models.map(({ profile }) => profile.devices[as]).find((device) => device?.provider);
      if (found?.provider === undefined) return [];
      const { provider, threads, deviceId, slowdown } = found;
      const run: BundledDevice = {
        provider,
        ...(threads === undefined ? {} : { threads }),
        ...(deviceId === undefined ? {} : { deviceId }),
        ...(slowdown === undefined ? {} : { slowdown, emulated: true as const }),
      };
      return [[name, run]];
    }),
  );
}
