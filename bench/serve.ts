/**
 * This benchmark serves a bundle and drives it at half and at three times its planned rate:
 *
 *     node dist/bench/serve.js bundle/ [--model m] [--seconds 10] [--load 0.5,3] [--seed 0] [--json file]
 *
 * It prints attainment, latencies, drops, the core's time per request, and the server process's CPU time per
 * request. The server process holds HTTP, the core and stacking; executors and the client are other
 * processes.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadArtifact } from '../src/artifacts/index.js';
import { BUNDLE_MANIFEST } from '../src/formats/index.js';
import { driveLoad, type LoadReport } from '../src/loadgen/index.js';
import { type RunningServer, startServer } from '../src/runtime/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { inputsAt, measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

interface Row {
  load: number;
  report: LoadReport;
  decideUsPerRequest: number;
  serverCpuUsPerRequest: number;
}

interface Order {
  url: string;
  model: string;
  rps: number;
  durationS: number;
  seed: number;
}

const USAGE =
  'node dist/bench/serve.js <bundle folder> [--model m] [--seconds 10] [--load 0.5,3] [--seed 0] [--json file]';

if (process.send === undefined) await bench();
else process.once('message', (order: Order) => void client(order));

/** client is the child process. It drives the load, so that its CPU time does not count as the server's. */
async function client({ url, ...options }: Order): Promise<void> {
  process.send?.(await driveLoad(url, options));
  process.disconnect();
}

async function bench(): Promise<void> {
  const { values, positionals } = benchArguments(USAGE, {
    model: { type: 'string' },
    seconds: { type: 'string', default: '10' },
    load: { type: 'string', default: '0.5,3' },
    seed: { type: 'string', default: '0' },
    json: { type: 'string' },
  });
  const folder = positionals[0];
  if (folder === undefined) {
    process.stderr.write(`usage: ${USAGE}\n`);
    process.exitCode = 2;
    return;
  }
  const { value: manifest } = await loadArtifact(join(folder, BUNDLE_MANIFEST), ['bundle']);
  const { value: plan } = await loadArtifact(join(folder, manifest.plan.path), ['pooled-plan']);
  const model = plan.models.find(({ name }) => name === values.model) ?? plan.models[0]!;
  const server = await startServer(folder, { port: 0 });
  const rows: Row[] = [];
  for (const load of values.load.split(',').map((load) => benchNumber(USAGE, '--load', load))) {
    const rps = load * model.throughputRps;
    const order = {
      url: server.url,
      model: model.name,
      rps,
      durationS: benchNumber(USAGE, '--seconds', values.seconds),
      seed: benchNumber(USAGE, '--seed', values.seed),
    };
    rows.push({ load, ...(await measured(server, order)) });
  }
  await server.close();
  if (values.json !== '-') process.stdout.write(tableOf(rows, model.throughputRps));
  saveResult(values.json, {
    bench: 'serve',
    options: { model: model.name, seconds: values.seconds, load: values.load, seed: values.seed },
    inputs: inputsAt(join(folder, BUNDLE_MANIFEST), 'the bundle'),
    measures: measuresOf(rows, ({ load }) => `load ${load}`, {
      attainment: ({ report }) => report.attainment,
      'goodput requests/s': ({ report }) => report.goodputRps,
      'p50 ms': ({ report }) => report.latencyMs?.p50,
      'p99 ms': ({ report }) => report.latencyMs?.p99,
      'core µs/request': (row) => row.decideUsPerRequest,
      'server CPU µs/request': (row) => row.serverCpuUsPerRequest,
    }),
    rows,
  });
}

async function measured(server: RunningServer, order: Order): Promise<Omit<Row, 'load'>> {
  const child = fork(fileURLToPath(import.meta.url));
  const coreBefore = server.coreTime();
  const cpuBefore = process.cpuUsage();
  child.send(order);
  const [report] = (await once(child, 'message')) as [LoadReport];
  const cpu = process.cpuUsage(cpuBefore);
  const core = server.coreTime();
  const requests = core.requests - coreBefore.requests;
  return {
    report,
    decideUsPerRequest: (core.decideUs - coreBefore.decideUs) / requests,
    serverCpuUsPerRequest: (cpu.user + cpu.system) / requests,
  };
}

function tableOf(rows: Row[], plannedRps: number): string {
  const columns: [string, (row: Row) => string][] = [
    ['load', ({ load }) => load.toFixed(2)],
    ['rps', ({ report }) => report.rps.toFixed(1)],
    ['sent', ({ report }) => String(report.sent)],
    ['in time', ({ report }) => String(report.inTime)],
    ['late', ({ report }) => String(report.late)],
    ['dropped', ({ report }) => String(report.dropped)],
    ['failed', ({ report }) => String(report.failed)],
    ['attainment', ({ report }) => (report.attainment ?? 0).toFixed(4)],
    ['goodput rps', ({ report }) => report.goodputRps.toFixed(1)],
    ['p50 ms', ({ report }) => (report.latencyMs?.p50 ?? 0).toFixed(1)],
    ['p99 ms', ({ report }) => (report.latencyMs?.p99 ?? 0).toFixed(1)],
    ['send late p99 ms', ({ report }) => (report.sendLatenessMs?.p99 ?? 0).toFixed(2)],
    ['core µs/req', ({ decideUsPerRequest }) => decideUsPerRequest.toFixed(1)],
    ['server CPU µs/req', ({ serverCpuUsPerRequest }) => serverCpuUsPerRequest.toFixed(0)],
  ];
  const lines = [columns.map(([name]) => name), ...rows.map((row) => columns.map(([, cell]) => cell(row)))];
  return `planned ${plannedRps.toFixed(1)} requests per second\n${tableText(lines)}`;
}
