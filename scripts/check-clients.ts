/**
 * This script lets a client of others, tritonclient, ask a server of ours for what it asks of Triton (`clients.py`). It
 * keeps the client in a virtual environment of Python under `node_modules/.cache`, for which pip needs its registry
 * once. Where Python or the registry is not there, it says so and ends with 0: nothing was checked.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { writeMaterial } from '../bench/fuzz/material.js';
import { startServer } from '../src/runtime/index.js';

const CLIENT = 'tritonclient[http]==2.73.0';
const project = resolve(import.meta.dirname, '../..');
const environment = join(project, 'node_modules/.cache/tritonclient-2.73.0');
const python = join(environment, 'bin/python');

/** lacking says why the client is not here; it is undefined where it is, or could be installed. */
function lacking(): string | undefined {
  const run = (command: string, args: readonly string[]) => spawnSync(command, args, { encoding: 'utf8' });
  if (existsSync(python) && run(python, ['-c', 'import tritonclient.http']).status === 0) return undefined;
  const made = run('python3', ['-m', 'venv', environment]);
  if (made.status !== 0) return `no environment of Python can be made: ${made.error?.message ?? made.stderr}`;
  const installed = run(python, ['-m', 'pip', 'install', '--quiet', CLIENT]);
  return installed.status === 0 ? undefined : `${CLIENT} cannot be installed: ${installed.stderr}`;
}

/** ask runs the client on a server of two small models, and gives its exit status. */
async function ask(folder: string): Promise<number> {
  const { files } = await writeMaterial(join(folder, 'material'));
  const bundle = join(folder, 'material', files.bundle);
  const server = await startServer(bundle, { port: 0, sloMs: 60_000, policy: ['formation=eager'] });
  try {
    const args = [join(project, 'scripts/clients.py'), `127.0.0.1:${server.address.port}`];
    return await new Promise((ended) => {
      spawn(python, args, { stdio: 'inherit' }).once('close', (code) => ended(code ?? 1));
    });
  } finally {
    await server.close();
  }
}

const why = lacking();
if (why === undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'inferplan-clients-'));
  try {
    process.exitCode = await ask(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
} else process.stdout.write(`no client was tried: ${why.trim()}\n`);
