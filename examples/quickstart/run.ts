/**
 * This program runs the whole chain on this machine, in about a minute: an ONNX model → profile → partition →
 * plan → bundle → served requests. Every step is the command that a person would type, and is shown before it
 * runs. All files stay in `quickstart-out/`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({
  options: {
    out: { type: 'string', default: 'quickstart-out' },
    seconds: { type: 'string', default: '10' },
    image: { type: 'string', default: '112' },
  },
});

const project = resolve(import.meta.dirname, '../../..');
const folder = resolve(options.out);
const at = (file: string): string => join(relative(process.cwd(), folder) || '.', file);
const planProgram = join(project, 'dist/bundle/cli/main.js');
const buildProgram = join(project, 'dist/examples/models/build.js');

/**
 * The SLO is this many times the fastest latency of one request: twice what `plan init` proposes, because the server
 * and the client share the cores of the devices here, and a wait for a core lasts as long as a short run.
 */
const SLO_OVER_FASTEST = 10;

/**
 * Both devices are emulated, so that together they compute for two thirds of one core's time at most. The rest is for
 * the server and the client: two threads that compute all the time on two cores, which are often the halves of one,
 * would each be half as fast as when they were profiled alone.
 */
const SLOWDOWNS = { fast: 2, slow: 6 };

async function main(): Promise<void> {
  const startedAt = performance.now();
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });

  const { image } = options;
  say(`1. A model: a ResNet-18 with seeded weights, ${image} × ${image} images`);
  await run(
    buildProgram,
    ['resnet18', '--image', image, '--out', at('')],
    'node dist/examples/models/build.js',
  );

  say('2. What it costs on two emulated devices: a CPU thread slowed down two times, and one six times');
  await run(planProgram, [
    ...['profile', at('resnet18.onnx')],
    ...['--device', `fast=cpu:1,slowdown=${SLOWDOWNS.fast}`],
    ...['--device', `slow=cpu:1,slowdown=${SLOWDOWNS.slow}`],
    ...[
      '--batch',
      '1,2,4',
      '--blocks',
      '6',
      '--min-ms',
      '60',
      '--max-ms',
      '600',
      '-o',
      at('resnet18.profile.json'),
    ],
  ]);

  say('3. Another way to cut it, from the same measurements: as few bytes as possible across the cuts');
  const cut = ['--profile', at('resnet18.profile.json'), '--blocks', '6', '--method', 'min-transfer'];
  await run(planProgram, ['partition', at('resnet18.onnx'), ...cut]);

  say('4. A plan for one device of each class: the one that holds most with 99 % in time');
  const sloMs = await deriveSloMs();
  await writeFile(join(folder, 'spec.yaml'), spec(sloMs));
  process.stdout.write(`${indent(spec(sloMs))}\n`);
  await run(planProgram, ['solve', at('spec.yaml'), '--hold', '0.99', '-o', at('plan.json')]);

  say('5. A bundle of that plan');
  await run(planProgram, ['deploy', at('plan.json'), '-o', at('bundle')]);

  say(`6. Serve it, and load it for ${options.seconds} s at half its planned rate`);
  const { planned, held } = await promisedRps();
  const report = await serveAndLoad(planned / 2);

  say('7. The simulation of the same arrivals, beside what the server did');
  await run(planProgram, [
    ...['verify', at('load.json'), '--plan', at('plan.json'), '-o', at('verification.json')],
  ]);
  const predicted = await predictedAttainment();

  say('What you have');
  summary({ sloMs, planned, held, report, predicted, seconds: (performance.now() - startedAt) / 1000 });
}

/**
 * spec describes a small local cluster of both classes. Tensors pass through this machine's memory, so 10
 * Gbps is a cautious figure.
 */
function spec(sloMs: number): string {
  return [
    'kind: pooled',
    'cluster:',
    '  devices:',
    '    fast: { count: 1 }',
    '    slow: { count: 1 }',
    '  networkGbps: 10',
    'models:',
    `  - { profile: resnet18.profile.json, sloMs: ${sloMs} }`,
    '',
  ].join('\n');
}

async function deriveSloMs(): Promise<number> {
  const profile = await readJson<{
    devices: Record<string, { wholeLatencyUs: Record<string, Record<string, number>> }>;
  }>('resnet18.profile.json');
  const alone = Object.values(profile.devices).map(
    (device) => device.wholeLatencyUs['1']?.['1'] ?? Number.POSITIVE_INFINITY,
  );
  return Math.ceil((SLO_OVER_FASTEST * Math.min(...alone)) / 100) / 10;
}

async function promisedRps(): Promise<{ planned: number; held: number }> {
  const plan = await readJson<{ models: { throughputRps: number; heldRps: number }[] }>('plan.json');
  const [model] = plan.models;
  return { planned: model?.throughputRps ?? 0, held: model?.heldRps ?? 0 };
}

async function predictedAttainment(): Promise<number> {
  const { figures } = await readJson<{ figures: { name: string; simulated?: number }[] }>(
    'verification.json',
  );
  return figures.find(({ name }) => name === 'attainment')?.simulated ?? 0;
}

async function readJson<T>(file: string): Promise<T> {
  return JSON.parse(await readFile(join(folder, file), 'utf8')) as T;
}

interface LoadFigures {
  attainment: number;
  throughputRps: number;
  latencyMs: { p50: number; p99: number };
}

async function serveAndLoad(rps: number): Promise<LoadFigures> {
  echo('plan', ['serve', at('bundle'), '--port', '0', '&']);
  const server = spawn(process.execPath, [planProgram, 'serve', join(folder, 'bundle'), '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const url = await readyUrl(server);
    await run(planProgram, [
      ...['load', url, '--rps', rps.toFixed(1), '--duration', `${options.seconds}s`, '-o', at('load.json')],
    ]);
    return await readJson<LoadFigures>('load.json');
  } finally {
    await stop(server);
  }
}

function readyUrl(server: ChildProcess): Promise<string> {
  return new Promise((found, failed) => {
    server.once('exit', (code) => failed(new Error(`plan serve ended with ${code}`)));
    createInterface({ input: server.stdout! }).on('line', (line) => {
      process.stdout.write(`  ${line}\n`);
      const url = /^ready: (\S+)/.exec(line)?.[1];
      if (url) found(url);
    });
  });
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return;
  const ended = new Promise((resolved) => server.once('exit', resolved));
  server.kill('SIGINT');
  await ended;
}

interface Summary {
  readonly sloMs: number;
  readonly planned: number;
  /** The rate that the plan holds in simulation. */
  readonly held: number;
  readonly report: LoadFigures;
  /** The attainment that the simulation gives. */
  readonly predicted: number;
  readonly seconds: number;
}

function summary({ sloMs, planned, held, report, predicted, seconds }: Summary): void {
  const lines = [
    ['model', at('resnet18.onnx')],
    ['profile', at('resnet18.profile.json')],
    ['spec', `${at('spec.yaml')}   SLO ${sloMs} ms = ${SLO_OVER_FASTEST} × the fastest latency`],
    [
      'plan',
      `${at('plan.json')}   ${planned.toFixed(1)} requests/s planned, ${held.toFixed(1)} held with 99 % in time`,
    ],
    ['bundle', at('bundle')],
    [
      'served',
      `${share(report.attainment)} within the SLO at half the planned rate; the simulation says ${share(predicted)}`,
    ],
    [
      'report',
      `${at('load.json')}   p50 ${report.latencyMs.p50.toFixed(1)} ms, p99 ${report.latencyMs.p99.toFixed(1)} ms`,
    ],
    ['took', `${seconds.toFixed(0)} s`],
  ];
  for (const [name, value] of lines) process.stdout.write(`  ${name!.padEnd(8)} ${value}\n`);
}

function share(value: number): string {
  return `${(value * 100).toFixed(1)} %`;
}

/**
 * run runs one of the project's programs and shows the command and its output. It ends this process when the program
 * fails.
 */
async function run(program: string, args: string[], name = 'plan'): Promise<void> {
  echo(name, args);
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  createInterface({ input: child.stdout! }).on('line', (line) => process.stdout.write(`  ${line}\n`));
  const code = await new Promise<number | null>((resolved) => child.once('close', resolved));
  if (code !== 0) process.exit(code ?? 1);
}

function echo(name: string, args: readonly string[]): void {
  process.stdout.write(`\n  $ ${[name, ...args].join(' ')}\n`);
}

function say(text: string): void {
  process.stdout.write(`\n${text}\n`);
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}

await main();
