import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** PROJECT is the folder of the project. */
export const PROJECT = resolve(import.meta.dirname, '../../..');

/** A package of Python's registry that a check needs. */
interface Needed {
  /** The package as pip installs it, with its version. */
  readonly requirement: string;
  /** Further packages that are installed with it. */
  readonly besides?: readonly string[];
  /** A module that can be imported once it is there. */
  readonly module: string;
  /** The program of Python; `python3` where absent. */
  readonly python?: string;
}

/**
 * environmentWith gives the folder of a virtual environment of Python that has a package, or says why there is none. It is
 * kept under `node_modules/.cache`, so that pip needs its registry once.
 */
export function environmentWith({
  requirement,
  besides = [],
  module,
  python: program = 'python3',
}: Needed): { readonly folder: string } | { readonly lacking: string } {
  const folder = join(PROJECT, 'node_modules/.cache', requirement.replace(/[^\w.-]+/g, '-'));
  const python = join(folder, 'bin/python');
  const run = (command: string, args: readonly string[]) => spawnSync(command, args, { encoding: 'utf8' });
  if (existsSync(python) && run(python, ['-c', `import ${module}`]).status === 0) return { folder };
  const made = run(program, ['-m', 'venv', folder]);
  if (made.status !== 0)
    return {
      lacking: `no environment of Python can be made: ${(made.error?.message ?? made.stderr).trim()}`,
    };
  const installed = run(python, ['-m', 'pip', 'install', '--quiet', requirement, ...besides]);
  if (installed.status === 0) return { folder };
  return { lacking: `${requirement} cannot be installed: ${installed.stderr.trim()}` };
}
