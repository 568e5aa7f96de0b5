/**
 * The package as its users get it: packed, and installed in an empty folder, in which its commands are run.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

export const project = resolve(import.meta.dirname, '../../..');
export const folder = realpathSync(mkdtempSync(join(tmpdir(), 'inferplan-package-')));
/** user is the folder of somebody who installs the package. */
export const user = join(folder, 'user');

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(command: string, args: readonly string[], cwd = user): Ended {
  const npmOwn = Object.entries(process.env).filter(
    ([name]) => !/^npm_(?!config_(registry|cache)$)/i.test(name),
  );
  return spawnSync(command, args, { cwd, encoding: 'utf8', env: Object.fromEntries(npmOwn) });
}

/** must runs a command and gives what it printed. @throws where it ends with another status than it should */
export function must(command: string, args: readonly string[], { cwd = user, status = 0 } = {}): Ended {
  const ended = run(command, args, cwd);
  if (ended.status !== status)
    throw new Error(
      `${[command, ...args].join(' ')} ended with ${ended.status} instead of ${status}\n${ended.stdout}${ended.stderr}`,
    );
  return ended;
}

/** npmInstall installs with npm. @throws where it warns of anything, such as an engine or a script */
export function npmInstall(args: readonly string[]): void {
  const { stdout, stderr } = must('npm', args);
  const warnings = `${stdout}${stderr}`.split('\n').filter((line) => /^npm (warn|error)\b/i.test(line));
  if (warnings.length > 0) throw new Error(`npm ${args.join(' ')} warns:\n${warnings.join('\n')}`);
}

export function plan(args: readonly string[], status = 0): Ended {
  return must(join(user, 'node_modules/.bin/plan'), args, { status });
}

/** served runs `plan serve` of a bundle while work is done with its URL. */
export async function served<T>(bundle: string, work: (url: string) => T | Promise<T>): Promise<T> {
  const program = join(user, 'node_modules/inferplan/dist/bundle/cli/main.js');
  const server = spawn(process.execPath, [program, 'serve', bundle, '--port', '0'], {
    cwd: user,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    return await work(await readyUrl(server));
  } finally {
    server.kill('SIGKILL');
  }
}

function readyUrl(server: ChildProcess): Promise<string> {
  return new Promise((found, failed) => {
    server.once('exit', (code) => failed(new Error(`plan serve ended with ${code}`)));
    createInterface({ input: server.stdout! }).on('line', (line) => {
      const url = /^ready: (\S+)/.exec(line)?.[1];
      if (url !== undefined) found(url);
    });
  });
}
