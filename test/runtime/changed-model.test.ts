import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { sha256Of } from '../../src/formats/index.js';
import type { RunningServer, ServeEvent } from '../../src/runtime/index.js';
import { inWholeRun } from '../cases.js';
import { inputOf, serveBundle, twoPartitions, WIDTH } from './tiny-bundle.js';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function served() {
  const events: ServeEvent[] = [];
  const { server, folder, close } = await serveBundle(twoPartitions(2, 5000), {
    onLog: (event) => events.push(event),
  });
  closers.push(close);
  return { server, folder, events };
}

function until(isSo: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (!isSo()) return;
      clearInterval(timer);
      resolve();
    }, 10);
  });
}

const isReady = async (server: RunningServer, path = '/v2/health/ready'): Promise<boolean> =>
  (await fetch(server.url + path)).status === 200;

const infer = ({ url }: RunningServer): Promise<Response> =>
  fetch(`${url}/v2/models/tiny/infer`, {
    method: 'POST',
    body: JSON.stringify({
      inputs: [{ name: 'x', shape: [1, WIDTH], datatype: 'FP32', data: [...inputOf(1).data] }],
    }),
  });

it('A model that is replaced while it is served is not loaded by a restarted executor, which names file and digests', async () => {
  const { server, folder, events } = await served();
  const file = join(folder, 'partitions/1-2.onnx');
  const deployed = await readFile(file);
  // Another model of the same tensors, whose weights differ in one bit.
  const other = Uint8Array.from(deployed);
  const at = deployed.indexOf(Buffer.from('w1')) + 60;
  other[at] = other[at]! ^ 1;
  await writeFile(`${file}.new`, other);
  await rename(`${file}.new`, file);
  expect((await infer(server)).status).toBe(200);

  process.kill(server.executorPids()[1]!, 'SIGKILL');
  await until(() => events.some(({ kind }) => kind === 'notStarted'));
  const told = events.find((event) => event.kind === 'notStarted');
  expect(told?.why).toContain(
    `${file} is not the file that was deployed: its sha256 is ${sha256Of(other)}, the manifest says ${sha256Of(deployed)}`,
  );
  expect(await isReady(server)).toBe(false);
  expect(await isReady(server, '/v2/models/tiny/ready')).toBe(false);
  expect(await server.metricsText()).toMatch(/inferplan_device_up\{device="[^"]*"\} 0/);

  await writeFile(file, deployed);
  await until(() => events.filter(({ kind }) => kind === 'deviceUp').length === 3);
  expect(await isReady(server)).toBe(true);
  expect((await infer(server)).status).toBe(200);
});

inWholeRun('A model that is gone when its executor is restarted is reported as missing', async () => {
  const { server, folder, events } = await served();
  const file = join(folder, 'partitions/0-1.onnx');
  await rename(file, `${file}.away`);
  process.kill(server.executorPids()[0]!, 'SIGKILL');
  await until(() => events.some(({ kind }) => kind === 'notStarted'));
  expect(events.find((event) => event.kind === 'notStarted')?.why).toContain(`${file} is missing`);
  expect(await isReady(server)).toBe(false);
});

inWholeRun('A model that is written to in place after it was loaded keeps its answers', async () => {
  const { server, folder } = await served();
  const before = await (await infer(server)).text();
  const file = join(folder, 'partitions/1-2.onnx');
  await writeFile(file, new Uint8Array((await readFile(file)).length));
  expect(await (await infer(server)).text()).toBe(before);
});
