import { execFileSync } from 'node:child_process';
import {
  cpSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { BUNDLE_MANIFEST, InputError, sha256Of } from '../../../src/formats/index.js';
import { startServer } from '../../../src/runtime/index.js';
import type { Dice } from '../../seeded/dice.js';
import type { CaseResult } from '../../seeded/every-case.js';
import type { Material } from '../material.js';
import { jsonOf, mutateJson } from '../mutate-json.js';
import { mutateProtobuf } from '../mutate-protobuf.js';
import { mutateBytes } from '../mutate-text.js';
import { faultsOf, plan } from '../program.js';
import type { Subject } from '../subject.js';
import { Cost, changesOf, pictureOf } from '../watch.js';

/** The shares of bundles that are served for a moment: of the refused, and of the accepted, which start executors. */
const REFUSED_SHARE = 0.25;
const ACCEPTED_SHARE = 0.02;

interface Manifest {
  plan: { path: string; sha256: string };
  partitions: { file: string; sha256: string; data?: { path: string; sha256: string }[] }[];
}

/** bundles tries whole bundles with changed manifests, plans, files, links and contradictions. */
export async function bundles({ folder: material, files }: Material): Promise<Subject> {
  return {
    run: async (dice, folder) => {
      const bundle = join(folder, 'bundle');
      cpSync(join(material, files.bundle), bundle, { recursive: true });
      return oneBundle(dice, bundle);
    },
    close: async () => {},
  };
}

async function oneBundle(dice: Dice, bundle: string): Promise<CaseResult> {
  const told: string[] = [];
  for (let left = dice.small(4); left > 0; left--) told.push(change(dice, bundle));
  const before = pictureOf(dirname(bundle));
  const cost = new Cost();
  const validated = await plan(
    ['validate', 'bundle', ...(dice.chance(0.2) ? ['--json'] : [])],
    dirname(bundle),
  );
  const faults = faultsOf(validated, quotedFrom(bundle));
  const isTaken = validated.code === 0;
  faults.push(...cost.faults(200_000));
  if (dice.chance(isTaken ? ACCEPTED_SHARE : REFUSED_SHARE)) faults.push(...(await served(bundle, isTaken)));
  faults.push(...changesOf(before, pictureOf(dirname(bundle))));
  return { what: told.join('; '), outcome: isTaken ? 'accepted' : 'refused', faults };
}

/** served serves a bundle for a moment. It may be refused, and must be where `plan validate` refuses it. */
async function served(bundle: string, isTaken: boolean): Promise<string[]> {
  try {
    const server = await startServer(bundle, { port: 0 });
    await server.close();
    return isTaken ? [] : ['plan serve takes what plan validate refuses'];
  } catch (error) {
    return error instanceof InputError ? [] : [`serving threw ${(error as Error).stack}`];
  }
}

/** change changes one thing in a bundle that may have been changed before, and describes the change. */
function change(dice: Dice, bundle: string): string {
  try {
    return dice.pick([
      changeManifest,
      changeManifest,
      changePlan,
      changePlan,
      changeModel,
      changeFile,
      changeFile,
    ])(dice, bundle);
  } catch (error) {
    // A file that an earlier change has removed or turned into something else cannot be changed again.
    return `nothing (${(error as Error).message.split('\n')[0]})`;
  }
}

function changeManifest(dice: Dice, bundle: string): string {
  const path = join(bundle, BUNDLE_MANIFEST);
  if (dice.chance(0.1)) {
    const { value, what } = mutateBytes(dice, readPlain(path));
    writeFileSync(path, value);
    return `manifest: ${what}`;
  }
  const { value, what } = mutateJson(dice, JSON.parse(readPlain(path).toString()));
  writeFileSync(path, jsonOf(value));
  return `manifest: ${what}`;
}

/**
 * changePlan changes the plan, and usually the digests in the manifest too, so that the contradiction itself must be
 * found.
 */
function changePlan(dice: Dice, bundle: string): string {
  const path = join(bundle, 'plan.json');
  const { value, what } = mutateJson(dice, JSON.parse(readPlain(path).toString()));
  writeFileSync(path, jsonOf(value));
  if (dice.chance(0.8)) digestAgain(bundle);
  return `plan: ${what}`;
}

function changeModel(dice: Dice, bundle: string): string {
  const file = dice.pick(manifestOf(bundle).partitions).file;
  const path = join(bundle, file);
  const bytes = readPlain(path);
  const { value, what } = dice.chance(0.7) ? mutateProtobuf(dice, bytes) : mutateBytes(dice, bytes);
  writeFileSync(path, value);
  if (dice.chance(0.8)) digestAgain(bundle);
  return `${file}: ${what}`;
}

function changeFile(dice: Dice, bundle: string): string {
  const { plan: planned, partitions } = manifestOf(bundle);
  const file = dice.pick([BUNDLE_MANIFEST, planned.path, ...partitions.map((part) => part.file)]);
  const path = join(bundle, file);
  const other = join(bundle, dice.pick(partitions).file);
  const outside = join(dirname(bundle), 'outside');
  const changes: Record<string, () => void> = {
    removed: () => rmSync(path, { recursive: true }),
    'a folder': () => {
      rmSync(path);
      mkdirSync(path);
    },
    'a link to itself': () => {
      rmSync(path);
      symlinkSync(path, path);
    },
    'a link to another': () => {
      rmSync(path);
      symlinkSync(other, path);
    },
    'a link out of the bundle': () => {
      renameSync(path, outside);
      symlinkSync(outside, path);
    },
    'a link to a device': () => {
      rmSync(path);
      symlinkSync(dice.pick(['/dev/zero', '/dev/tty', '/proc/self/mem']), path);
    },
    'a hard link': () => {
      rmSync(path);
      linkSync(other, path);
    },
    'a pipe': () => {
      rmSync(path);
      execFileSync('mkfifo', [path]);
    },
    empty: () => truncateSync(path, 0),
    renamed: () => renameSync(path, `${path}.old`),
    'swapped with another': () => {
      renameSync(path, outside);
      renameSync(other, path);
      renameSync(outside, other);
    },
    'its folder a link': () => {
      const holder = join(bundle, 'models');
      renameSync(holder, outside);
      symlinkSync(outside, holder);
    },
    'of 16 MiB without data': () => truncateSync(path, 2 ** 24),
    'one more beside it': () => writeFileSync(`${path}.more`, 'more'),
  };
  const [what, make] = dice.pick(Object.entries(changes));
  make();
  return `${file}: ${what}`;
}

/** readPlain reads a file that may have become a pipe or a link to a device, neither of which ends. */
function readPlain(path: string): Buffer {
  if (!statSync(path).isFile()) throw new Error('it is no plain file any more');
  return readFileSync(path);
}

/** quotedFrom gives the texts of a bundle that a message may quote. */
function quotedFrom(bundle: string): string {
  const texts = [BUNDLE_MANIFEST, 'plan.json'].map((name) => {
    try {
      return readPlain(join(bundle, name)).toString();
    } catch {
      return '';
    }
  });
  return texts.join('');
}

function manifestOf(bundle: string): Manifest {
  return JSON.parse(readPlain(join(bundle, BUNDLE_MANIFEST)).toString());
}

/** digestAgain gives the manifest the digests of the present files. */
function digestAgain(bundle: string): void {
  const manifest = manifestOf(bundle);
  const digest = (file: { path: string; sha256: string }) => {
    const path = join(bundle, file.path);
    if (lstatSync(path).isFile() && statSync(path).size < 1e6) file.sha256 = sha256Of(readFileSync(path));
  };
  digest(manifest.plan);
  for (const part of manifest.partitions) {
    const own = { path: part.file, sha256: part.sha256 };
    digest(own);
    part.sha256 = own.sha256;
    for (const data of part.data ?? []) digest(data);
  }
  writeFileSync(join(bundle, BUNDLE_MANIFEST), JSON.stringify(manifest, undefined, 1));
}
