/**
 * This script runs bundles of `plan deploy --target triton` on a real Triton: the one that nvidia-pytriton carries, which
 * starts without a GPU and has Python models only. So the ONNX models have stand-ins in Python of the same names and tensors.
 * Triton must take every config.pbtxt and option of the start script, and answer as the models do that the plan leads to. Where
 * it cannot be installed, the script says so, and that is no failure.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { deployPlan, loadServer, verifyLoad } from '../src/api/index.js';
import { streamOf } from '../src/random/index.js';
import { environmentWith } from './python/environment.js';
import {
  branchingPipeline,
  givenPooled,
  straightPipeline,
  twoGears,
  twoPipelines,
} from './triton/made-plans.js';
import { startTriton, type TritonServer, withStandIns } from './triton/server.js';

/** Debian's, whose headers fit the stub of Triton's Python backend; the one of pyenv does not start it. */
const PYTHON = ['/usr/bin/python3', 'python3'].find((path) => existsSync(path)) ?? 'python3';
const SLO_MS = 20_000;
const REQUESTS = 12;
const PIXELS = 16;
const TOLERANCE = 1e-4;
const FIRST_PORT = 18_200;
const UNAVAILABLE = 503;

type Values = Record<string, ArrayLike<number>>;
type Run = (model: string, image: Float32Array) => Promise<Float32Array>;

/** Case is a plan, with what it is to answer to an image. */
interface Case {
  readonly plan: (folder: string) => Promise<string>;
  readonly model: string;
  readonly servers: readonly string[];
  readonly expected: (image: Float32Array, run: Run, bundle: string) => Promise<Values>;
  /** Whether it is loaded too, and compared with its simulation. */
  readonly verifies?: true;
  /** The model in whose queue nobody may wait, so that some requests are dropped. */
  readonly drops?: string;
}

const CASES: Readonly<Record<string, Case>> = {
  'two pipelines of a model on two servers': {
    plan: (folder) => givenPooled(folder, { on: 'cpu', pipelines: twoPipelines('cpu'), sloMs: SLO_MS }),
    model: 'eye',
    servers: ['cpu_0', 'cpu_1'],
    expected: async (image, run) => ({ logits: await run('eye', image) }),
  },
  'an ensemble that forks': {
    plan: (folder) => straightPipeline(folder, 'cpu', { sloMs: SLO_MS }),
    model: 'looks',
    servers: ['cpu_0'],
    expected: async (image, run) => {
      const mask = await run('clean', image);
      return { 'left.logits': await run('left', mask), 'right.logits': await run('right', mask) };
    },
  },
  'a pipeline of branches': {
    plan: (folder) => branchingPipeline(folder, 'cpu', SLO_MS),
    model: 'looks',
    servers: ['cpu_0'],
    verifies: true,
    expected: async (image, run) => {
      const [first, second] = (await run('detect', image)) as unknown as [number, number];
      const side = first >= -1 ? 'left' : 'right';
      const counted: Values = second >= 0 ? { 'count.logits': await run('count', image) } : {};
      return { [`${side}.logits`]: await run(side, image), ...counted };
    },
  },
  'a pipeline whose first model drops what waits': {
    plan: (folder) => straightPipeline(folder, 'cpu', { sloMs: SLO_MS }),
    model: 'looks',
    servers: ['cpu_0'],
    drops: 'clean',
    expected: async () => ({}),
  },
  'branches of which one drops what waits': {
    plan: (folder) => branchingPipeline(folder, 'cpu', SLO_MS),
    model: 'looks',
    servers: ['cpu_0'],
    drops: 'left',
    expected: async () => ({}),
  },
  'a cascade': {
    plan: (folder) => twoGears(folder, 'cpu', SLO_MS),
    model: 'looks',
    servers: ['cpu_0'],
    expected: cascaded,
  },
};

interface GearsFile {
  gears: { steps: { stage: string; below?: number }[] }[];
}

async function cascaded(image: Float32Array, run: Run, bundle: string): Promise<Values> {
  const at = join(bundle, 'model_repository/looks');
  const { gears } = JSON.parse(readFileSync(join(at, '1/routes.json'), 'utf8')) as GearsFile;
  const gear = /"gear" value \{ string_value: "(\d+)"/.exec(
    readFileSync(join(at, 'config.pbtxt'), 'utf8'),
  )?.[1];
  let logits = new Float32Array();
  for (const { stage, below = Number.NEGATIVE_INFINITY } of gears[Number(gear)]?.steps ?? []) {
    logits = new Float32Array(await run(stage, image));
    const powers = Array.from(logits, (value) => Math.exp(value - Math.max(...logits)));
    const sum = powers.reduce((all, power) => all + power, 0);
    const [first, second] = powers.map((power) => power / sum).sort((a, b) => b - a) as [number, number];
    if (first - second >= below) break;
  }
  return { logits };
}

function runner(folder: string): Run {
  const sessions = new Map<string, Promise<InferenceSession>>();
  return async (model, image) => {
    const made =
      sessions.get(model) ?? InferenceSession.create(join(folder, `${model}.onnx`), { intraOpNumThreads: 1 });
    sessions.set(model, made);
    const session = await made;
    const feeds = { image: new Tensor('float32', image, [1, 3, PIXELS, PIXELS]) };
    return (await session.run(feeds))[session.outputNames[0] as string]?.data as Float32Array;
  };
}

interface Answer {
  readonly status: number;
  readonly outputs: Values;
  readonly error?: string;
}

async function infer(
  { url }: TritonServer,
  model: string,
  image: Float32Array,
  timeoutUs?: number,
): Promise<Answer> {
  const inputs = [
    { name: 'image', shape: [1, 3, PIXELS, PIXELS], datatype: 'FP32', data: Array.from(image) },
  ];
  const parameters = timeoutUs === undefined ? {} : { parameters: { timeout: timeoutUs } };
  const answer = await fetch(`${url}/v2/models/${model}/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs, ...parameters }),
  });
  const { outputs = [], error } = (await answer.json()) as {
    outputs?: { name: string; data: number[] }[];
    error?: string;
  };
  const values = Object.fromEntries(outputs.map(({ name, data }) => [name, data]));
  return { status: answer.status, outputs: values, ...(error === undefined ? {} : { error }) };
}

function isNear(given: ArrayLike<number> | undefined, wanted: ArrayLike<number>): boolean {
  return (
    given?.length === wanted.length &&
    Array.from(wanted).every((value, i) => Math.abs(value - (given[i] as number)) <= TOLERANCE)
  );
}

/** faultOf says how an answer differs from what the models give. */
function faultOf({ status, outputs, error }: Answer, wanted: Values): string | undefined {
  if (status !== 200) return `${status}: ${error}`;
  const names = [Object.keys(outputs), Object.keys(wanted)].map((all) => all.sort().join(', '));
  if (names[0] !== names[1]) return `it has the outputs ${names[0]}, and ${names[1]} are right`;
  const wrong = Object.keys(wanted).find((name) => !isNear(outputs[name], wanted[name] as ArrayLike<number>));
  return wrong === undefined ? undefined : `${wrong} is ${outputs[wrong]}, and ${wanted[wrong]} is right`;
}

/** dropping lets nobody wait in the queue of a model. */
function dropping(bundle: string, model: string): void {
  const file = join(bundle, 'model_repository', model, 'config.pbtxt');
  const text = readFileSync(file, 'utf8').replace(
    /default_timeout_microseconds: \d+/,
    'default_timeout_microseconds: 1',
  );
  writeFileSync(file, text);
}

/** dropFaults finds answers that are neither right nor told as a drop; one at least is to be a drop. */
function dropFaults(answers: readonly Answer[]): string[] {
  const others = answers.filter(({ status }) => status !== 200 && status !== UNAVAILABLE);
  const dropped = answers.filter(({ status }) => status === UNAVAILABLE).length;
  return [
    ...others.map(({ status, error }) => `a drop is told as ${status}: ${error}`),
    ...(dropped === 0 ? ['no request was dropped'] : []),
  ];
}

/** verified loads a server as its README says, and compares the load with the simulation of its plan. */
async function verified(
  { url }: TritonServer,
  { folder, bundle, model }: { folder: string; bundle: string; model: string },
): Promise<string[]> {
  const output = join(folder, 'load.json');
  const load = await loadServer(url, { model, rps: 8, durationS: 4, arrivals: 'poisson', output });
  const { requests } = await verifyLoad(output, { plan: bundle });
  const failures =
    load.failed > 0 ? [`${load.failed} requests failed: ${JSON.stringify(load.failures)}`] : [];
  return requests === load.sent && load.sent > 0
    ? failures
    : [...failures, `${requests} of ${load.sent} requests were compared`];
}

/** tried sends images to each server of a case, all at the same time, and gives what was wrong. */
async function tried(
  environment: string,
  one: Case,
  port: number,
): Promise<{ sent: number; faults: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'inferplan-triton-'));
  const bundle = join(folder, 'bundle');
  const faults: string[] = [];
  try {
    await deployPlan(await one.plan(folder), { output: bundle, target: 'triton' });
    withStandIns(bundle);
    if (one.drops !== undefined) dropping(bundle, one.drops);
    const run = runner(folder);
    const { uniform } = streamOf(3, 'images');
    const images = Array.from({ length: REQUESTS }, () =>
      Float32Array.from({ length: 3 * PIXELS ** 2 }, () => 2 * uniform() - 1),
    );
    for (const [i, server] of one.servers.entries()) {
      const work = join(folder, server);
      mkdirSync(work);
      const triton = await startTriton({ environment, folder: work }, { bundle, server, port: port + i });
      try {
        const answers = await Promise.all(images.map((image) => infer(triton, one.model, image)));
        if (one.drops !== undefined) {
          faults.push(...dropFaults(answers));
          continue;
        }
        for (const [k, image] of images.entries()) {
          const fault = faultOf(answers[k] as Answer, await one.expected(image, run, bundle));
          if (fault !== undefined) faults.push(`${server}: ${fault}`);
        }
        if (one.verifies) faults.push(...(await verified(triton, { folder, bundle, model: one.model })));
      } finally {
        await triton.stop();
      }
    }
    return { sent: one.servers.length * REQUESTS, faults };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const environment = environmentWith({
  requirement: 'nvidia-pytriton==0.7.0',
  module: 'pytriton, onnxruntime',
  besides: ['onnxruntime', 'numpy<2'],
  python: PYTHON,
});
if ('lacking' in environment) process.stdout.write(`Triton was not tried: ${environment.lacking}\n`);
else
  for (const [i, [name, one]] of Object.entries(CASES).entries()) {
    const { sent, faults } = await tried(environment.folder, one, FIRST_PORT + 10 * i);
    const said = `Triton answered ${sent - faults.length} of ${sent} requests to ${name} as it should`;
    process.stdout.write(`${said}${faults.length === 0 ? '' : `:\n  ${faults.join('\n  ')}`}\n`);
    if (faults.length > 0) process.exitCode = 1;
  }
