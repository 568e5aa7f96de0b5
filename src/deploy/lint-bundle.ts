import { join } from 'node:path';
import { partFault, readWhole } from '../artifacts/index.js';
import { type Bundle, fault, InputError, type LintReport, MissingError, sha256Of } from '../formats/index.js';
import type { StagePlan } from '../plans/index.js';
import { targetNamed } from './targets/targets.js';

/** No file of an engine that a person has edited is longer. */
const MOST_BYTES = 16 * 1024 * 1024;

/** LintedFolder is what the rules of its engine say of a bundle, and which of the engine's files were edited. */
export interface LintedFolder {
  readonly report: LintReport;
  readonly edited: readonly string[];
}

/**
 * lintEngineBundle looks at the engine's files of a bundle as they are now, by the rules of its target. A person may have
 * edited them.
 * @throws MissingError where one is missing; InputError where one is too large, or leads out of the folder
 */
export async function lintEngineBundle(
  folder: string,
  {
    plan,
    manifest: { value: manifest },
  }: { readonly plan: StagePlan; readonly manifest: { readonly value: Bundle } },
): Promise<LintedFolder> {
  const task = `check the files of ${folder}`;
  const texts = new Map<string, string>();
  const edited: string[] = [];
  for (const { path, sha256 } of manifest.files ?? []) {
    const wrong = await partFault(folder, path);
    if (wrong?.isMissing) throw new MissingError(task, [fault('is missing', path)], 'Deploy the plan again.');
    if (wrong !== undefined) throw new InputError(task, [fault(wrong.message, path)]);
    const bytes = await readWhole(join(folder, path), MOST_BYTES);
    if (sha256Of(bytes) !== sha256) edited.push(path);
    texts.set(path, bytes.toString('utf8'));
  }
  const { lint } = targetNamed(manifest.target, task);
  if (lint === undefined) throw new Error(`bundles for ${manifest.target} have no files of an engine`);
  return { report: lint({ plan, manifest, texts }), edited };
}
