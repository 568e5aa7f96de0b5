/**
 * This benchmark serves a small model whose requests are large, and shows what their bodies cost the server:
 *
 *     node dist/bench/bodies.js [--pixels 320] [--requests 400] [--parallel 4] [--repeats 3] [--json file]
 *
 * A request holds a float32 image of 3 × pixels × pixels in binary: 1.2 MB at 320. The client is a process of its own
 * and keeps `--parallel` requests under way. For each request it prints the CPU time of the server's process and the
 * share of it that is garbage collection, and the CPU time of the executor.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PerformanceObserver } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import { GraphBuilder } from '../examples/models/graph.js';
import { deployPlan, profileModelFile } from '../src/api/index.js';
import { type RunningServer, startServer } from '../src/runtime/index.js';
import { solveSpec } from '../src/specs/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const USAGE =
  'node dist/bench/bodies.js [--pixels 320] [--requests 400] [--parallel 4] [--repeats 3] [--json file]';

/** A tick of /proc's CPU times is this many µs on every Linux that Node runs on. */
const TICK_US = 10_000;

interface Order {
  readonly url: string;
  readonly pixels: number;
  readonly requests: number;
  readonly parallel: number;
}

interface Figures {
  readonly serverCpuUs: number;
  readonly gcUs: number;
  readonly collections: number;
  readonly executorCpuUs: number;
  readonly elapsedUs: number;
}

if (process.send === undefined) await bench();
else process.once('message', (order: Order) => void client(order));

async function bench(): Promise<void> {
  const { values } = benchArguments(USAGE, {
    pixels: { type: 'string', default: '320' },
    requests: { type: 'string', default: '400' },
    parallel: { type: 'string', default: '4' },
    repeats: { type: 'string', default: '3' },
    json: { type: 'string' },
  });
  const number = (name: 'pixels' | 'requests' | 'parallel' | 'repeats') =>
    benchNumber(USAGE, `--${name}`, values[name]);
  const folder = await mkdtemp(join(tmpdir(), 'inferplan-bodies-'));
  const rows: Figures[] = [];
  try {
    const server = await startServer(await bundleIn(folder, number('pixels')), { port: 0 });
    try {
      const order = { url: server.url, pixels: number('pixels'), parallel: number('parallel') };
      await measured(server, { ...order, requests: 40 });
      for (let i = 0; i < number('repeats'); i++)
        rows.push(await measured(server, { ...order, requests: number('requests') }));
    } finally {
      await server.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  if (values.json !== '-') process.stdout.write(tableOf(rows));
  const { json, ...options } = values;
  const figure = (name: keyof Figures) => (all: readonly Figures[]) => all.map((row) => row[name]);
  saveResult(json, {
    bench: 'bodies',
    options,
    measures: measuresOf([rows], () => `${values.pixels} pixels`, {
      'server CPU µs/request': figure('serverCpuUs'),
      'garbage collection µs/request': figure('gcUs'),
      'executor CPU µs/request': figure('executorCpuUs'),
      'elapsed µs/request': figure('elapsedUs'),
    }),
    rows,
  });
}

/** bundleIn makes the model, its profile, its plan and its bundle. */
async function bundleIn(folder: string, pixels: number): Promise<string> {
  const at = (name: string) => join(folder, name);
  await writeFile(at('image.onnx'), modelOf(pixels));
  const limits = { warmup: 1, minRuns: 2, minMs: 1, maxMs: 100 };
  await profileModelFile(at('image.onnx'), {
    devices: ['cpu:1'],
    batch: [1, 2],
    virtual: [1],
    blocks: '1',
    boundary: 'exact',
    ...limits,
    output: at('profile.json'),
  });
  const spec = {
    kind: 'pooled',
    cluster: { devices: { 'cpu-1': { count: 1 } }, networkGbps: 10 },
    models: [{ profile: 'profile.json', sloMs: 5000 }],
  };
  const { devices } = JSON.parse(readFileSync(at('profile.json'), 'utf8')) as { devices: object };
  spec.cluster.devices = Object.fromEntries(
    Object.keys(devices).map((name) => [name, { count: 1 }]),
  ) as never;
  await writeFile(at('spec.yaml'), JSON.stringify(spec));
  await solveSpec(at('spec.yaml'), { output: at('plan.json') });
  await deployPlan(at('plan.json'), { output: at('bundle') });
  return at('bundle');
}

/** modelOf makes a model of two convolutions that halve and quarter the image, and a small answer. */
function modelOf(pixels: number): Uint8Array {
  const graph = new GraphBuilder('image', 0);
  const x = graph.input('x', 'float32', ['N', 3, pixels, pixels]);
  const conv = (name: string, of: string, [to, from, size]: readonly [number, number, number]) =>
    graph.node('Conv', [of, graph.weight(`${name}.w`, [to, from, size, size], { reach: 0.3 })], {
      name,
      attributes: { kernel_shape: [size, size], strides: [size, size] },
    });
  const halved = graph.node('Relu', [conv('a', x, [8, 3, 2])], { name: 'relu' });
  const small = conv('b', halved, [16, 8, 4]);
  graph.node('GlobalAveragePool', [small], { name: 'pool', output: 'y' });
  graph.output('y', ['N', 16, 1, 1]);
  return graph.bytes();
}

async function measured(server: RunningServer, order: Order): Promise<Figures> {
  const child = fork(fileURLToPath(import.meta.url));
  const collections: number[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) collections.push(1000 * duration);
  });
  observer.observe({ entryTypes: ['gc'] });
  try {
    const executorBefore = executorCpuUs(server);
    const before = process.cpuUsage();
    const startedAt = performance.now();
    child.send(order);
    const failed = await failedRequests(child);
    const elapsedUs = 1000 * (performance.now() - startedAt);
    const cpu = process.cpuUsage(before);
    const executor = executorCpuUs(server) - executorBefore;
    if (failed > 0) throw new Error(`${failed} of ${order.requests} requests were not answered`);
    await new Promise((done) => setTimeout(done, 50));
    return {
      serverCpuUs: (cpu.user + cpu.system) / order.requests,
      gcUs: collections.reduce((sum, us) => sum + us, 0) / order.requests,
      collections: collections.length,
      executorCpuUs: executor / order.requests,
      elapsedUs: elapsedUs / order.requests,
    };
  } finally {
    observer.disconnect();
    child.kill();
  }
}

/** failedRequests waits until the client tells how many of its requests failed. */
async function failedRequests(child: ChildProcess): Promise<number> {
  const ended = once(child, 'exit').then(() => {
    throw new Error('the client ended without a figure');
  });
  const [failed] = (await Promise.race([once(child, 'message'), ended])) as [number];
  return failed;
}

/** executorCpuUs gives the CPU time of all executors so far, from Linux's /proc; 0 elsewhere. */
function executorCpuUs(server: RunningServer): number {
  if (process.platform !== 'linux') return 0;
  return server.executorPids().reduce((sum, pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return sum + TICK_US * (Number(fields[11]) + Number(fields[12]));
  }, 0);
}

/** client is the child process. It sends the same image again and again, and tells how many requests failed. */
async function client({ url, pixels, requests, parallel }: Order): Promise<void> {
  const image = new Float32Array(3 * pixels * pixels).fill(0.5);
  const input = { name: 'x', shape: [1, 3, pixels, pixels], datatype: 'FP32' };
  const json = JSON.stringify({
    inputs: [{ ...input, parameters: { binary_data_size: image.byteLength } }],
    parameters: { binary_data_output: true },
  });
  const head = Buffer.from(json);
  const body = Buffer.concat([head, new Uint8Array(image.buffer)]);
  const headers = { 'inference-header-content-length': String(head.length) };
  const pool = new Pool(url, { connections: parallel });
  let left = requests;
  let failed = 0;
  const send = async () => {
    while (left-- > 0) {
      const answer = await pool.request({ path: '/v2/models/image/infer', method: 'POST', headers, body });
      await answer.body.dump();
      if (answer.statusCode !== 200) failed += 1;
    }
  };
  await Promise.all(Array.from({ length: parallel }, send));
  await pool.close();
  process.send?.(failed);
  process.disconnect();
}

function tableOf(rows: readonly Figures[]): string {
  const columns: [string, (row: Figures) => string][] = [
    ['server CPU µs/request', (row) => row.serverCpuUs.toFixed(0)],
    ['of it garbage collection', (row) => row.gcUs.toFixed(0)],
    ['collections', (row) => String(row.collections)],
    ['executor CPU µs/request', (row) => row.executorCpuUs.toFixed(0)],
    ['elapsed µs/request', (row) => row.elapsedUs.toFixed(0)],
  ];
  return tableText([
    columns.map(([name]) => name),
    ...rows.map((row) => columns.map(([, cell]) => cell(row))),
  ]);
}
