/**
 * This script lets a client of others, tritonclient, ask a server of ours for what it asks of Triton (`clients.py`). It
 * keeps the client in a virtual environment of Python under `node_modules/.cache`, for which pip needs its registry
 * once. Where Python or the registry is not there, it says so and ends with 0: nothing was checked.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeMaterial } from '../bench/fuzz/material.js';
import { startServer } from '../src/runtime/index.js';
import { environmentWith, PROJECT } from './python/environment.js';

const environment = environmentWith({
  requirement: 'tritonclient[http]==2.73.0',
  module: 'tritonclient.http',
});

/** ask runs the client on a server of two small models, and gives its exit status. */
async function ask(python: string, folder: string): Promise<number> {
  const { files } = await writeMaterial(join(folder, 'material'));
  const bundle = join(folder, 'material', files.bundle);
  const server = await startServer(bundle, { port: 0, sloMs: 60_000, policy: ['formation=eager'] });
  try {
    const args = [join(PROJECT, 'scripts/python/clients.py'), `127.0.0.1:${server.address.port}`];
    return await new Promise((ended) => {
      spawn(python, args, { stdio: 'inherit' }).once('close', (code) => ended(code ?? 1));
    });
  } finally {
    await server.close();
  }
}

if ('lacking' in environment) process.stdout.write(`no client was tried: ${environment.lacking}\n`);
else {
  const folder = mkdtempSync(join(tmpdir(), 'inferplan-clients-'));
  try {
    process.exitCode = await ask(join(environment.folder, 'bin/python'), folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
