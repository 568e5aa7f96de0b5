import { lstat, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { loadArtifact, SchemaError } from '../../artifacts/index.js';
import { BUNDLE_MANIFEST, commandText, fault, InputError, MissingError } from '../../formats/index.js';
import { PLAN_KINDS, type PlanKind } from '../../plans/index.js';

/**
 * refuseNoBundle refuses a path that leads to no folder with a manifest, and says how a bundle is made of what is there.
 * @param task what cannot be done without a bundle
 * @throws MissingError where nothing is there, and InputError where it is a file or another folder
 */
export async function refuseNoBundle(path: string, task: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined)
    throw new MissingError(task, [fault('there is no such folder')], deployAdvice('plan.json'));
  if (!found.isDirectory()) {
    throw new InputError(
      task,
      [fault('it is a file, and a bundle is a folder')],
      found.isFile() ? await fileAdvice(path) : planAdvice(),
    );
  }
  if (await lstat(join(path, BUNDLE_MANIFEST)).catch(() => undefined)) return;
  const message = `it is a folder without a ${BUNDLE_MANIFEST}, and so no bundle`;
  throw new InputError(task, [fault(message)], await folderAdvice(path));
}

async function fileAdvice(path: string): Promise<string> {
  const kind = await kindAt(path);
  if (kind === undefined) return planAdvice();
  return kind === 'bundle'
    ? `It is the manifest of a bundle: give its folder ${dirname(path)}.`
    : deployAdvice(path);
}

/** kindAt gives the kind of a plan or a manifest, which may have faults. It is undefined for other files. */
async function kindAt(path: string): Promise<PlanKind | 'bundle' | undefined> {
  try {
    return (await loadArtifact(path, [...PLAN_KINDS, 'bundle'])).kind;
  } catch (error) {
    if (error instanceof SchemaError) return error.kind as PlanKind | 'bundle';
    if (error instanceof InputError) return undefined;
    throw error;
  }
}

function deployAdvice(plan: string): string {
  return `A bundle is made of a plan with: ${commandText(['deploy', plan, '-o', 'bundle'])}`;
}

function planAdvice(): string {
  const solve = commandText(['solve', 'spec.yaml', '-o', 'plan.json']);
  return `A plan is made of a spec with: ${solve}\n${deployAdvice('plan.json')}`;
}

/** folderAdvice names the plan of a folder where there is one. */
async function folderAdvice(folder: string): Promise<string> {
  const named = (await readdir(folder)).filter((name) => name.endsWith('plan.json')).sort();
  for (const name of named)
    if ((await kindAt(join(folder, name))) !== undefined) return deployAdvice(join(folder, name));
  return planAdvice();
}
