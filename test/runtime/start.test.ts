import { readdirSync, readFileSync } from 'node:fs';
import { readFile, rm, truncate, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { sha256OfFile } from '../../src/artifacts/index.js';
import { type Bundle, InputError, MissingError } from '../../src/formats/index.js';
import { startServer } from '../../src/runtime/index.js';
import { inWholeRun } from '../cases.js';
import { twoPartitions, writeBundle } from './tiny-bundle.js';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function bundle(shape = twoPartitions()): Promise<string> {
  const { folder, remove } = await writeBundle(shape);
  closers.push(remove);
  return folder;
}

const failure = async (folder: string, options = {}): Promise<InputError> => {
  const outcome = await startServer(folder, { port: 0, ...options }).then(
    (server) => server.close().then(() => undefined),
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(InputError);
  return outcome as InputError;
};

/** edit changes the text of the manifest or the plan and corrects the digests. */
async function edit(folder: string, file: 'manifest.json' | 'plan.json', change: (text: string) => string) {
  const before = await sha256OfFile(join(folder, 'plan.json'));
  await writeFile(join(folder, file), change(await readFile(join(folder, file), 'utf8')));
  const after = await sha256OfFile(join(folder, 'plan.json'));
  const manifest = join(folder, 'manifest.json');
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replace(before, after));
}

describe('startServer() refuses', () => {
  it('a folder without a bundle', async () => {
    const missing = await failure('nowhere');
    expect(missing).toBeInstanceOf(MissingError);
    expect(missing.message).toContain(
      'Cannot serve nowhere: there is no such folder\nA bundle is made of a plan with: plan deploy',
    );
  });

  it('a file, such as a plan or the manifest itself, and says what is taken', async () => {
    const folder = await bundle();
    const deploy = 'A bundle is made of a plan with: plan deploy';
    await writeFile(join(folder, 'spec.yaml'), 'kind: pooled');
    for (const [file, advice] of [
      ['plan.json', `${deploy} ${join(folder, 'plan.json')} -o bundle`],
      ['manifest.json', `It is the manifest of a bundle: give its folder ${folder}.`],
      [
        'spec.yaml',
        `A plan is made of a spec with: plan solve spec.yaml -o plan.json\n${deploy} plan.json -o bundle`,
      ],
    ]) {
      const { message } = await failure(join(folder, file as string));
      expect(message).toBe(
        `Cannot serve ${join(folder, file as string)}: it is a file, and a bundle is a folder\n${advice}`,
      );
    }
  });

  it('a folder without a manifest, and names the plan that lies in it', async () => {
    const folder = await bundle();
    await rm(join(folder, 'manifest.json'));
    expect((await failure(folder)).message).toBe(
      `Cannot serve ${folder}: it is a folder without a manifest.json, and so no bundle\nA bundle is made of a plan with: plan deploy ${join(folder, 'plan.json')} -o bundle`,
    );
    await writeFile(join(folder, 'plan.json'), '{"kind":"pooled-plan"}');
    expect((await failure(folder)).message).toContain(`plan deploy ${join(folder, 'plan.json')} -o bundle`);
    await writeFile(join(folder, 'plan.json'), '{}');
    expect((await failure(folder)).message).toContain(
      'A plan is made of a spec with: plan solve spec.yaml -o plan.json',
    );
  });

  it('a bundle of another target, and says how one for this server is made', async () => {
    const folder = await bundle();
    await edit(folder, 'manifest.json', (text) => text.replace('"local"', '"triton"'));
    expect((await failure(folder)).message).toBe(
      `Cannot serve ${folder}: /target: is "triton", which Triton runs, and not this server
Make a bundle for this server from its plan, as with plan deploy plan.json --target local -o bundle, or run this one with what it was made for.`,
    );
  });

  it('every missing, edited or truncated file, by name and all at once', async () => {
    const folder = await bundle();
    await rm(join(folder, 'plan.json'));
    await truncate(join(folder, 'partitions/0-1.onnx'), 100);
    await writeFile(join(folder, 'partitions/1-2.onnx'), 'x', { flag: 'a' });
    const { faults } = await failure(folder);
    expect(faults.map(({ path }) => path)).toEqual([
      'plan.json',
      'partitions/0-1.onnx',
      'partitions/1-2.onnx',
    ]);
    expect(faults.map(({ message }) => /is missing|not the file that was deployed/.test(message))).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('a plan that contradicts itself, and parts that do not fit together', async () => {
    const folder = await bundle();
    await edit(folder, 'plan.json', (text) => text.replace('"virtualGpus": 1', '"virtualGpus": 2'));
    expect((await failure(folder)).message).toContain('has 2 virtual GPUs, but 1 are placed');
    const other = await bundle();
    await edit(other, 'manifest.json', (text) =>
      text.replaceAll('"name": "h"', '"name": "g"').replace('"name": "g"', '"name": "h"'),
    );
    expect((await failure(other)).message).toContain('partition 1 needs g, which nothing before it gives');
  });

  it('a model that the plan does not serve, and one that the bundle lacks', async () => {
    const folder = await bundle();
    await edit(folder, 'manifest.json', (text) => {
      const manifest = JSON.parse(text) as Bundle;
      manifest.models.push({ ...manifest.models[0]!, name: 'other' });
      return JSON.stringify(manifest);
    });
    expect((await failure(folder)).message).toContain('/models/1/name: is "other", which the plan does not');
    const renamed = await bundle();
    await edit(renamed, 'manifest.json', (text) => text.replace('"name": "tiny"', '"name": "other"'));
    expect((await failure(renamed)).message).toContain('has no model "tiny", which the plan serves');
  });

  inWholeRun('a file whose outputs differ from the manifest', async () => {
    const folder = await bundle();
    await edit(folder, 'manifest.json', (text) => text.replaceAll('"name": "early"', '"name": "earlier"'));
    expect((await failure(folder)).message).toMatch(/earlier/);
  });

  it('more CPU threads than the host has', async () => {
    const shape = twoPartitions();
    shape.devices.cpu!.threads = 4096;
    const { message } = await failure(await bundle(shape));
    expect(message).toMatch(/need 8192 CPU threads at once/);
  });

  it('a port in use, before it loads anything, and says what to do', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    closers.push(() => new Promise((done) => taken.close(done)));
    const { port } = taken.address() as AddressInfo;
    const { message } = await failure(await bundle(), { port });
    expect(message).toContain(`Cannot listen on 127.0.0.1:${port}: the port is in use`);
    expect(message).toContain('`port`');
    const metrics = await failure(await bundle(), { port: 0, metricsPort: port });
    expect(metrics.message).toContain(`Cannot listen on 127.0.0.1:${port}: the port is in use`);
    expect(metrics.message).toContain('`metricsPort`');
  });
});

describe('startServer() that is aborted', () => {
  it('ends an executor that warms its model, rather than wait for it', async () => {
    const shape = twoPartitions();
    // Its first run takes minutes, as an emulated device is held back by a multiple of what a run took.
    shape.devices.cpu!.slowdown = 1e8;
    const folder = await bundle(shape);
    const controller = new AbortController();
    const children = () =>
      readdirSync('/proc').filter((pid) => {
        try {
          return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] === `${process.pid}`;
        } catch {
          return false;
        }
      });
    const before = children();
    setTimeout(() => controller.abort(), 1000);
    await expect(startServer(folder, { port: 0, signal: controller.signal })).rejects.toThrow(
      controller.signal.reason as Error,
    );
    if (process.platform === 'linux') expect(children().filter((pid) => !before.includes(pid))).toEqual([]);
  });
});
