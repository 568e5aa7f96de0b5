/**
 * This benchmark sends requests that try to cost a server more than their bytes are worth, and shows what each costs:
 *
 *     node dist/bench/costs.js [--megabytes 30] [--only part of a name] [--json file]
 *
 * For each shape of request a server is started anew. The table has the bytes of the body and of the answer, the
 * status, how much the server's memory grew at most, and the longest time in which it did not answer
 * `/v2/health/ready`, which another process asks every 5 ms: by the clock, and less what the two waited for a core that
 * other processes had. It ends with status 1 where a limit does not hold: 16 times a body of JSON, 3 times one in
 * binary (and what a server takes for its first requests), 250 ms, an answer of 500, or none. It needs Linux.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { GraphBuilder } from '../examples/models/graph.js';
import { deployPlan, profileModelFile } from '../src/api/index.js';
import { startServer } from '../src/runtime/index.js';
import { solveSpec } from '../src/specs/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { type CostShape, costShapes, ROW_MODELS } from './costs/shapes.js';
import { measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const USAGE = 'node dist/bench/costs.js [--megabytes 30] [--only part of a name] [--json file]';
const MIB = 2 ** 20;
/** The most memory for each byte of a body, beside what a server takes for its first requests and keeps for later bodies. */
const MOST_FOR_A_BYTE = { json: 16, binary: 3, texts: 16 } as const;
const FIRST_BYTES = 48 * MIB;
const MOST_SILENCE_MS = 250;
const ASK_MS = 5;
/** The answers of clients that do not read are counted against this sum. */
const ANSWERS_BYTES = 64 * MIB;

interface Row {
  readonly shape: string;
  readonly bodyBytes: number;
  readonly inflatedBytes: number;
  readonly answerBytes: number;
  readonly statuses: string;
  readonly addedBytes: number;
  readonly silenceMs: number;
  /** The longest silence less the time in which the server's thread, or the one that asks, waited for a core. */
  readonly ownSilenceMs: number;
  readonly faults: readonly string[];
}

type Order = { readonly folder: string } | { readonly port: number; readonly pid: number };
type Silence = Pick<Row, 'silenceMs' | 'ownSilenceMs'>;

if (process.send === undefined) await bench();
else process.once('message', (order: Order) => void ('folder' in order ? serve(order.folder) : ask(order)));

async function bench(): Promise<void> {
  const { values } = benchArguments(USAGE, {
    megabytes: { type: 'string', default: '30' },
    only: { type: 'string' },
    json: { type: 'string' },
  });
  const bytes = 1e6 * benchNumber(USAGE, '--megabytes', values.megabytes);
  const folder = await mkdtemp(join(tmpdir(), 'inferplan-costs-'));
  const rows: Row[] = [];
  try {
    // A machine of two cores serves two models.
    const bundles = {
      numbers: await bundleIn(join(folder, 'numbers'), ['wide', 'long']),
      strings: await bundleIn(join(folder, 'strings'), ['texts', 'text']),
    };
    for (const shape of costShapes(bytes)) {
      if (values.only !== undefined && !shape.name.includes(values.only)) continue;
      const row = await costOf(shape.path.includes('/text') ? bundles.strings : bundles.numbers, shape);
      rows.push(row);
      process.stderr.write(`${cellsOf(row).join(' | ')} ${row.faults.join('; ')}\n`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  if (values.json !== '-')
    process.stdout.write(
      tableText([
        [
          'request',
          'body KB',
          'answer KB',
          'status',
          'memory added MiB',
          'times the body',
          'longest silence ms',
        ],
        ...rows.map(cellsOf),
      ]),
    );
  for (const { shape, faults } of rows)
    for (const fault of faults) process.stderr.write(`DOES NOT HOLD: ${shape}: ${fault}\n`);
  if (rows.some(({ faults }) => faults.length > 0)) process.exitCode = 1;
  const { json, ...options } = values;
  saveResult(json, {
    bench: 'costs',
    options,
    measures: measuresOf(rows, ({ shape }) => shape, {
      'memory added MiB': ({ addedBytes }) => addedBytes / MIB,
      'longest silence ms': ({ silenceMs }) => silenceMs,
      'own silence ms': ({ ownSilenceMs }) => ownSilenceMs,
      'answer bytes': ({ answerBytes }) => answerBytes,
    }),
    rows,
  });
}

function cellsOf(row: Row): string[] {
  const kb = (bytes: number) => (bytes / 1000).toFixed(1);
  return [
    row.shape,
    row.inflatedBytes === row.bodyBytes
      ? kb(row.bodyBytes)
      : `${kb(row.bodyBytes)} (${kb(row.inflatedBytes)})`,
    kb(row.answerBytes),
    row.statuses,
    (row.addedBytes / MIB).toFixed(0),
    (row.addedBytes / row.inflatedBytes).toFixed(1),
    row.silenceMs.toFixed(0),
    row.ownSilenceMs.toFixed(0),
  ];
}

/** bundleIn makes a bundle of models whose rows are long. */
async function bundleIn(folder: string, models: readonly (keyof typeof ROW_MODELS)[]): Promise<string> {
  await mkdir(folder);
  const at = (name: string) => join(folder, name);
  const limits = { warmup: 1, minRuns: 2, minMs: 1, maxMs: 100 };
  for (const name of models) {
    const { dtype, elements } = ROW_MODELS[name];
    const graph = new GraphBuilder(name, 0);
    const x = graph.input('x', dtype, ['N', elements]);
    if (dtype === 'int64') graph.node('Cast', [x], { name: 'cast', output: 'y', attributes: { to: 1 } });
    else graph.node(dtype === 'string' ? 'Identity' : 'Relu', [x], { name: 'last', output: 'y' });
    graph.output('y', ['N', elements], dtype === 'string' ? 'string' : 'float32');
    await writeFile(at(`${name}.onnx`), graph.bytes());
    await profileModelFile(at(`${name}.onnx`), {
      devices: ['cpu:1'],
      batch: [1],
      virtual: [1],
      blocks: '1',
      boundary: 'exact',
      ...limits,
      output: at(`${name}.profile.json`),
    });
  }
  const { devices } = JSON.parse(readFileSync(at(`${models[0]}.profile.json`), 'utf8')) as {
    devices: object;
  };
  const spec = {
    kind: 'pooled',
    cluster: {
      devices: Object.fromEntries(Object.keys(devices).map((name) => [name, { count: 2 }])),
      networkGbps: 100,
    },
    models: models.map((name) => ({ profile: `${name}.profile.json`, sloMs: 60_000 })),
  };
  await writeFile(at('spec.yaml'), JSON.stringify(spec));
  await solveSpec(at('spec.yaml'), { output: at('plan.json') });
  await deployPlan(at('plan.json'), { output: at('bundle') });
  return at('bundle');
}

async function costOf(folder: string, shape: CostShape): Promise<Row> {
  const server = fork(fileURLToPath(import.meta.url));
  server.send({ folder });
  const [port] = (await once(server, 'message')) as [number];
  const asker = fork(fileURLToPath(import.meta.url));
  asker.send({ port, pid: server.pid });
  await once(asker, 'message');
  try {
    const pid = server.pid as number;
    await sleep(300);
    const before = memoryOf(pid, 'VmRSS');
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
    const answers = await Promise.all(Array.from({ length: shape.clients ?? 1 }, () => sent(port, shape)));
    await sleep(200);
    const addedBytes = Math.max(0, memoryOf(pid, 'VmHWM') - before);
    const silence = await silenceOf(asker);
    const row = {
      shape: shape.name,
      bodyBytes: shape.body.length * answers.length,
      inflatedBytes: shape.inflatedBytes * answers.length,
      answerBytes: answers.reduce((sum, { bytes }) => sum + bytes, 0),
      statuses: [...new Set(answers.map(({ status }) => status))].sort().join(', '),
      addedBytes,
      ...silence,
    };
    return { ...row, faults: faultsOf(row, shape) };
  } finally {
    asker.kill();
    server.kill('SIGKILL');
    await once(server, 'exit');
  }
}

function faultsOf({ addedBytes, ownSilenceMs, statuses }: Omit<Row, 'faults'>, shape: CostShape): string[] {
  const { kind, inflatedBytes, clients = 1 } = shape;
  const most = FIRST_BYTES + MOST_FOR_A_BYTE[kind] * inflatedBytes * clients;
  return [
    ...(addedBytes > most ? [`it takes ${addedBytes} bytes of memory, more than ${most}`] : []),
    ...(ownSilenceMs > MOST_SILENCE_MS ? [`health is silent for ${ownSilenceMs.toFixed(0)} ms`] : []),
    ...(/403|500|none/.test(statuses) && shape.isUnread !== true ? [`it is answered with ${statuses}`] : []),
  ];
}

function memoryOf(pid: number, name: 'VmRSS' | 'VmHWM'): number {
  const line = new RegExp(`${name}:\\s*(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return 1024 * Number(line?.[1]);
}

/** sent sends a request, and reads its answer to the end unless it is not to be read. */
async function sent(port: number, shape: CostShape): Promise<{ status: string; bytes: number }> {
  const { path, headers, body, chunkBytes, isUnread } = shape;
  const socket = connect(port, '127.0.0.1');
  let status = 'none';
  let bytes = 0;
  const ended = new Promise<void>((done) => socket.on('close', () => done()).on('error', () => done()));
  socket.on('data', (chunk: Buffer) => {
    if (bytes === 0) status = /^HTTP\/1\.1 (\d+)/.exec(chunk.toString('latin1'))?.[1] ?? 'none';
    bytes += chunk.length;
  });
  if (isUnread) socket.pause();
  const framing =
    chunkBytes === undefined ? { 'content-length': body.length } : { 'transfer-encoding': 'chunked' };
  const lines = Object.entries({ host: 'localhost', connection: 'close', ...framing, ...headers });
  socket.write(
    `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
  );
  if (chunkBytes === undefined) socket.write(body);
  else await inChunks(socket, body, chunkBytes);
  if (isUnread) await sleep(5000);
  else await ended;
  if (isUnread) socket.destroy();
  return { status: isUnread ? 'unread' : status, bytes };
}

/** inChunks sends a body in chunks, many of them at once. */
async function inChunks(socket: Socket, body: Buffer, size: number): Promise<void> {
  let pieces: Buffer[] = [];
  for (let from = 0; from < body.length; from += size) {
    const part = body.subarray(from, from + size);
    pieces.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
    if (pieces.length < 3000) continue;
    if (!socket.write(Buffer.concat(pieces))) await once(socket, 'drain');
    pieces = [];
  }
  socket.write(Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]));
}

async function silenceOf(asker: ChildProcess): Promise<Silence> {
  asker.send('silence');
  const [silence] = (await once(asker, 'message')) as [Silence];
  return silence;
}

/** serve is the process of the server. */
async function serve(folder: string): Promise<void> {
  const server = await startServer(folder, {
    port: 0,
    maxAnswersBytes: ANSWERS_BYTES,
    requestTimeoutMs: 20_000,
  });
  process.send?.(server.address.port);
}

/** ask is the process that asks for health again and again on one connection, and tells the longest time without an answer. */
async function ask({ port, pid }: { readonly port: number; readonly pid: number }): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.setNoDelay(true);
  let longest: Silence = { silenceMs: 0, ownSilenceMs: 0 };
  const now = () => ({ atMs: performance.now(), waitedMs: waitedMs(pid) + waitedMs(process.pid) });
  let asked = now();
  const heard = () => {
    const { atMs, waitedMs } = now();
    const silenceMs = atMs - asked.atMs;
    const ownSilenceMs = Math.max(0, silenceMs - (waitedMs - asked.waitedMs));
    longest = {
      silenceMs: Math.max(longest.silenceMs, silenceMs),
      ownSilenceMs: Math.max(longest.ownSilenceMs, ownSilenceMs),
    };
  };
  const request = () => {
    asked = now();
    socket.write('GET /v2/health/ready HTTP/1.1\r\nhost: localhost\r\n\r\n');
  };
  let isAnswered = false;
  socket.on('data', () => {
    heard();
    isAnswered = true;
    setTimeout(() => {
      isAnswered = false;
      request();
    }, ASK_MS);
  });
  request();
  await sleep(200);
  longest = { silenceMs: 0, ownSilenceMs: 0 };
  process.on('message', () => {
    if (!isAnswered) heard();
    process.send?.(longest);
  });
  process.send?.('asks');
}

/** waitedMs gives how long the main thread of a process has waited for a core so far. */
function waitedMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
}
