import { GraphBuilder } from '../../examples/models/graph.js';
import { streamOf } from '../../src/random/index.js';

/** Interrupted is a command that works for longer than a second, and what it needs. */
export interface Interrupted {
  /** The files that it reads, made when its turn has come. */
  readonly files: () => Readonly<Record<string, string | Uint8Array>>;
  /** Commands of the program that make more of what it reads. */
  readonly before?: readonly string[];
  readonly command: string;
  /** A bundle that is served while the command works; `PORT` in the command is then the server's port. */
  readonly served?: string;
  /** What it ends with where it was only waiting to be stopped. */
  readonly stoppedCode?: number;
}

const lines = (count: number, of: (i: number) => string): string => {
  const pieces: string[] = [];
  for (let from = 0; from < count; from += 65_536) {
    const length = Math.min(65_536, count - from);
    pieces.push(`${Array.from({ length }, (_, i) => of(from + i)).join('\n')}\n`);
  }
  return pieces.join('');
};

const json = (value: unknown): string => JSON.stringify(value);

const BATCHES = [1, 2, 4, 8, 16];
const CLASSES = { fast: 1, middle: 2.2, slow: 3.7 };

/** profileOf is a profile of so many blocks, each of another size, on three classes. */
function profileOf(name: string, blocks: number, us = 900): string {
  const { uniform } = streamOf(39, name);
  const own = Array.from({ length: blocks }, () => (us * (0.3 + uniform())) / blocks);
  const latencies = (factor: number) =>
    Object.fromEntries(
      [1, 2].map((v) => [
        v,
        Object.fromEntries(BATCHES.map((batch) => [batch, own.map((one) => factor * v * one * (3 + batch))])),
      ]),
    );
  return json({
    kind: 'profile',
    version: '1.0',
    model: { name },
    blocks: own.map((_, i) => ({
      cutBytes: i === blocks - 1 ? 100 : 10_000 + 1000 * (i % 7),
      weightBytes: 1e6,
    })),
    devices: Object.fromEntries(
      Object.entries(CLASSES).map(([of, factor]) => [of, { blockLatencyUs: latencies(factor) }]),
    ),
  });
}

const cluster = (count: number): string =>
  json({
    kind: 'cluster',
    networkGbps: 10,
    devices: Object.fromEntries(
      Object.keys(CLASSES).map((name, i) => [
        name,
        { count, perServer: 2, virtual: [1, 2], hourlyCost: 3 / (i + 1) },
      ]),
    ),
  });

const unlimited = json({
  kind: 'cluster',
  devices: Object.fromEntries(Object.keys(CLASSES).map((name, i) => [name, { hourlyCost: 3 / (i + 1) }])),
});

/** pooled makes a spec of models of so many blocks, and all that it reads. */
const pooled = (models: number, blocks: number, count: number) => (): Record<string, string> => ({
  ...Object.fromEntries(
    Array.from({ length: models }, (_, i) => [`m${i}.json`, profileOf(`m${i}`, blocks, 900 + 300 * i)]),
  ),
  'cluster.json': cluster(count),
  'spec.json': json({
    kind: 'pooled',
    cluster: 'cluster.json',
    models: Array.from({ length: models }, (_, i) => ({
      profile: `m${i}.json`,
      sloMs: 60 + 20 * i,
      weight: 1 + i,
    })),
  }),
});

const pipeline = (rps: number, duration: string) => (): Record<string, string> => ({
  ...Object.fromEntries(
    ['a', 'b', 'c', 'd'].map((name, i) => [`${name}.json`, profileOf(name, 1, 500 + 200 * i)]),
  ),
  'cluster.json': unlimited,
  'spec.json': json({
    kind: 'pipeline',
    cluster: 'cluster.json',
    sloMs: 150,
    attainment: 0.99,
    stages: ['a', 'b', 'c', 'd'].map((name, i, all) => ({
      name,
      profile: `${name}.json`,
      ...(i === all.length - 1 ? {} : { next: [{ to: all[i + 1], probability: 0.8 }] }),
    })),
    load: { arrivals: 'poisson', rps, duration },
    planner: { method: 'inferline' },
  }),
});

const FAMILY = 6;
const recordLines = (samples: number, models: number): string => {
  const { uniform } = streamOf(39, 'records');
  const line = (sample: number, model: number): string => {
    const isRight = uniform() < 0.6 + 0.06 * model;
    return `${sample},m${model},${isRight ? 1 : 0},1,${(isRight ? uniform() ** 0.3 : uniform()).toFixed(3)}`;
  };
  return `sample,model,prediction,label,certainty\n${lines(samples * models, (i) => line(Math.floor(i / models), i % models))}`;
};

const cascade =
  (samples: number, ranges: number, models = FAMILY) =>
  (): Record<string, string> => ({
    ...Object.fromEntries(
      Array.from({ length: models }, (_, i) => [`m${i}.json`, profileOf(`m${i}`, 1, 200 * 2 ** i)]),
    ),
    'cluster.json': cluster(4),
    'records.csv': recordLines(samples, models),
    'spec.json': json({
      kind: 'cascade',
      cluster: 'cluster.json',
      records: 'records.csv',
      slo: { latencyMs: 100 },
      models: Array.from({ length: models }, (_, i) => ({ name: `m${i}`, profile: `m${i}.json` })),
      load: { maxRps: 3000, ranges },
      planner: { method: 'gears' },
    }),
  });

const arrivals = (count: number): string => `arrival_s\n${lines(count, (i) => `${i / 1e4}`)}`;
const counts = (intervals: number, each: number): string =>
  `interval_s,count\n${lines(intervals, (i) => `0.001,${each + (i % 3)}`)}`;

/** largeProfile is a profile that has nearly the most values that are read. */
const largeProfile = (name: string, blocks: number, device = 'gpu'): string =>
  json({
    kind: 'profile',
    version: '1.0',
    model: { name },
    blocks: Array.from({ length: blocks }, () => ({ cutBytes: 1 })),
    devices: {
      [device]: {
        blockLatencyUs: {
          1: Object.fromEntries(
            [1, 2, 3, 4].map((batch) => [batch, Array.from({ length: blocks }, () => 10 + batch)]),
          ),
        },
      },
    },
  });

const POOLED_PLAN = ['solve spec.json -o plan.json'];

/** chain is a model of so many multiplications of 1024 by 1024 numbers, 4 MB each. */
function chain(layers: number): Uint8Array {
  const graph = new GraphBuilder('chain', 1);
  let x = graph.input('x', 'float32', ['batch', 1024]);
  for (let i = 0; i < layers; i++) {
    const output = i === layers - 1 ? 'y' : `x${i}`;
    x = graph.node('MatMul', [x, graph.weight(`w${i}`, [1024, 1024], { reach: 0.05 })], {
      name: `n${i}`,
      output,
    });
  }
  graph.output('y', ['batch', 1024]);
  return graph.bytes();
}

const served = (layers: number) => () => ({
  'chain.onnx': chain(layers),
  'cluster.json': json({ kind: 'cluster', devices: { 'cpu-1': { count: 1, hourlyCost: 1 } } }),
  'spec.json': json({
    kind: 'pooled',
    cluster: 'cluster.json',
    models: [{ profile: 'chain.profile.json', sloMs: 2000 }],
  }),
});
const PROFILED = 'profile chain.onnx -d cpu-1=cpu:1 -b 1,2 --blocks 4 -o chain.profile.json';
const BUNDLE = [PROFILED, 'solve spec.json -o plan.json', 'deploy plan.json -o bundle'];

/** npy is an array of zeros, as NumPy writes it. */
function npy(rows: number, columns: number): Uint8Array {
  const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${rows}, ${columns}), }`.padEnd(117);
  const start = Buffer.concat([
    Buffer.from('\x93NUMPY\x01\x00', 'latin1'),
    Buffer.from([118, 0]),
    Buffer.from(`${header}\n`),
  ]);
  return Buffer.concat([start, Buffer.alloc(4 * rows * columns)]);
}

/** workflow is a spec of two workflows over four components that do not all fit into a device, with so many requests. */
const workflow = (rps: number, duration: string) => (): Record<string, string> => ({
  ...Object.fromEntries(
    ['a', 'b', 'c', 'd'].map((name, i) => [`${name}.json`, profileOf(name, 1, 5000 + 2000 * i)]),
  ),
  'cluster.json': json({
    kind: 'cluster',
    networkGbps: 10,
    devices: { fast: { count: 16, perServer: 4, memoryGiB: 8, loadGBps: 10 } },
  }),
  'spec.json': json({
    kind: 'workflow',
    cluster: 'cluster.json',
    components: ['a', 'b', 'c', 'd'].map((name) => ({ name, profile: `${name}.json`, memoryGiB: 3 })),
    workflows: [
      ['a', 'b'],
      ['c', 'd'],
    ].map(([first, second], w) => ({
      name: `w${w}`,
      sloMs: 2000,
      chain: {
        requestBytes: 1e5,
        start: 'x',
        steps: [
          {
            name: 'x',
            calls: [{ component: first, inputs: ['request'], outputBytes: 1e5 }],
            next: [
              { to: 'x', chance: 0.3 },
              { to: 'y', chance: 0.5 },
              { to: 'end', chance: 0.2 },
            ],
          },
          { name: 'y', calls: [{ component: second, inputs: ['x'], outputBytes: 1e5 }] },
        ],
      },
    })),
    load: { arrivals: 'poisson', rps, duration },
    planner: { objective: 'devices', attainment: 0.9 },
  }),
});

/** CASES are commands that work for longer than a second, by their names. */
export const CASES: Readonly<Record<string, Interrupted>> = {
  'solve, pooled': { files: pooled(6, 60, 400), command: 'solve spec.json --gap 0 -o plan.json' },
  'solve, pooled, literal': {
    files: pooled(1, 3, 20),
    command: 'solve spec.json --formulation literal -o plan.json',
  },
  'solve --hold, pooled': { files: pooled(3, 20, 20), command: 'solve spec.json --hold 1% -o plan.json' },
  'solve --explain, pooled': { files: pooled(4, 40, 100), command: 'solve spec.json --explain -o plan.json' },
  'solve, pipeline': { files: pipeline(10_000, '60s'), command: 'solve spec.json -o plan.json' },
  'solve, cascade': { files: cascade(2000, 40), command: 'solve spec.json -o plan.json' },
  'solve, cascade, long records': { files: cascade(80_000, 2), command: 'solve spec.json -o plan.json' },
  'solve --frontier, cascade': {
    files: cascade(2000, 4),
    command: 'solve spec.json --frontier -o plan.json',
  },
  'solve, workflows': { files: workflow(200, '60s'), command: 'solve spec.json -o plan.json' },
  'validate, workflows': { files: workflow(100, '20s'), before: POOLED_PLAN, command: 'validate plan.json' },
  'simulate, workflows': {
    files: workflow(50, '5s'),
    before: POOLED_PLAN,
    command: 'simulate plan.json --duration 2000s -o report.json',
  },
  'simulate --schedulers, workflows': {
    files: workflow(50, '5s'),
    before: POOLED_PLAN,
    command: 'simulate plan.json --duration 200s --schedulers all -o schedulers.json',
  },
  'compare, workflows': {
    files: workflow(100, '20s'),
    command: 'compare spec.json --sweep slo=1s..4s:4 --mix fast=8 -o compared.json',
  },
  'compare, pooled': {
    files: pooled(3, 30, 50),
    command: 'compare spec.json --budget 100 --sweep slo=2x..10x -o compared.json',
  },
  'compare --hold, pooled': {
    files: pooled(2, 10, 10),
    command: 'compare spec.json --budget 20 --hold 99% -o compared.json',
  },
  'simulate, pooled': {
    files: pooled(3, 10, 20),
    before: POOLED_PLAN,
    command: 'simulate plan.json --duration 1000s --exact -o report.json',
  },
  'simulate --runs': {
    files: pooled(3, 10, 20),
    before: POOLED_PLAN,
    command: 'simulate plan.json --duration 100s --runs 50 -o report.json',
  },
  'simulate --sweep': {
    files: pooled(3, 10, 20),
    before: POOLED_PLAN,
    command: 'simulate plan.json --duration 100s --sweep load=0.1..2:50 -o sweep.json',
  },
  'simulate --schedulers': {
    files: pooled(3, 10, 20),
    before: POOLED_PLAN,
    command: 'simulate plan.json --duration 60s --schedulers all -o schedulers.json',
  },
  'simulate --timeline': {
    files: pooled(3, 10, 20),
    before: POOLED_PLAN,
    command: 'simulate plan.json --duration 200s --timeline timeline.json -o report.json',
  },
  'simulate --trace, 10 million requests': {
    files: () => ({ ...pooled(3, 10, 20)(), 'trace.csv': arrivals(1e7) }),
    before: POOLED_PLAN,
    command: 'simulate plan.json --trace trace.csv --load 1 -o report.json',
  },
  'simulate, cascade, long records': {
    files: cascade(80_000, 2),
    before: ['solve spec.json -o plan.json'],
    command: 'simulate plan.json --duration 100s -o report.json',
  },
  profile: {
    files: () => ({ 'chain.onnx': chain(30) }),
    command: 'profile chain.onnx -b 1,2,4,8 -o chain.profile.json',
  },
  'profile merge': {
    files: () => ({ 'a.json': largeProfile('m', 160_000, 'a'), 'b.json': largeProfile('m', 160_000, 'b') }),
    command: 'profile merge a.json b.json -o merged.json',
  },
  'profile import, ONNX Runtime': {
    files: () => ({
      'ort.json': `[${lines(220_000, (i) => `{"cat":"Node","name":"n${i % 500}_kernel_time","ts":${i},"dur":5,"args":{"op_name":"MatMul","node_index":"${i % 500}"}},`)}{"cat":"Session","name":"model_run","ts":1,"dur":1}]`,
    }),
    command: 'profile import ort ort.json --model m --device gpu --batch 1 -o m.json',
  },
  'profile of a cascade by samples': {
    files: () => ({
      'chain.onnx': chain(4),
      'x.npy': npy(20_000, 1024),
      'labels.csv': lines(20_000, (i) => `${i % 10}`),
      'cluster.json': json({ kind: 'cluster', devices: { 'cpu-1': { count: 1, hourlyCost: 1 } } }),
      'spec.json': json({
        kind: 'cascade',
        cluster: 'cluster.json',
        records: 'records.csv',
        slo: { latencyMs: 1000 },
        models: [{ name: 'm0', profile: 'chain.profile.json' }],
        load: { maxRps: 5, ranges: 2 },
        planner: { method: 'gears' },
      }),
    }),
    before: [PROFILED],
    command: 'profile spec.json --samples x.npy --labels labels.csv -o records-out.json',
  },
  'trace describe, 10 million requests': {
    files: () => ({ 'trace.csv': arrivals(1e7) }),
    command: 'trace describe trace.csv',
  },
  'trace describe, two of 8 million': {
    files: () => ({ 'trace.csv': arrivals(8e6), 'other.csv': arrivals(8e6) }),
    command: 'trace describe trace.csv other.csv --window 1ms',
  },
  'trace convert, requests to counts': {
    files: () => ({ 'trace.csv': arrivals(1e7) }),
    command: 'trace convert trace.csv --to counts --interval 0.0001s -o made.csv',
  },
  'trace convert, counts to requests': {
    files: () => ({ 'trace.csv': counts(1e6, 8) }),
    command: 'trace convert trace.csv --to arrivals -o made.csv',
  },
  'trace rescale, more requests': {
    files: () => ({ 'trace.csv': arrivals(3e6) }),
    command: 'trace rescale trace.csv --rps 9999 --duration 1000s -o made.csv',
  },
  'trace rescale, fewer requests': {
    files: () => ({ 'trace.csv': arrivals(1e7) }),
    command: 'trace rescale trace.csv --rps 5000 --duration 1000s -o made.csv',
  },
  'trace rescale, counts': {
    files: () => ({ 'trace.csv': counts(5e6, 1) }),
    command: 'trace rescale trace.csv --rps 5000 -o made.csv',
  },
  'trace of JSON': {
    files: () => ({
      'trace.json': `{"data":[${lines(740_000, (i) => `{"timestamp":[${i}]},`)}{"timestamp":[1e6]}]}`,
    }),
    command: 'trace convert trace.json --to counts --interval 1s -o made.csv',
  },
  partition: {
    files: () => ({ 'chain.onnx': chain(40) }),
    command: 'partition chain.onnx --blocks 8 --extract parts -o made.json',
  },
  'validate, 1,000,000 values of JSON': {
    files: () => ({ 'm.json': largeProfile('m', 165_000) }),
    command: 'validate m.json',
  },
  'validate, 60 MB of JSON': {
    files: () => ({ 'm.json': `{"kind":"profile","model":{"name":"${'x'.repeat(6e7)}"}}` }),
    command: 'validate m.json',
  },
  'validate, 100,000 marks of YAML': {
    files: () => ({
      'm.yaml': `kind: profile\nversion: "1.0"\nmodel: { name: m }\nblocks:\n${lines(12_000, () => '- { cutBytes: 1 }')}devices: { gpu: { blockLatencyUs: { 1: { 1: [${Array.from({ length: 12_000 }, () => '11').join(', ')}] } } } }\n`,
    }),
    command: 'validate m.yaml',
  },
  'validate, a model of 500 MB': {
    files: () => ({ 'chain.onnx': chain(120) }),
    command: 'validate chain.onnx',
  },
  'diff, long plans': {
    files: pooled(40, 10, 20_000),
    before: POOLED_PLAN,
    command: 'diff plan.json plan.json',
  },
  deploy: {
    files: served(100),
    before: [PROFILED, 'solve spec.json -o plan.json'],
    command: 'deploy plan.json -o made',
  },
  'serve, while it loads': {
    files: served(60),
    before: BUNDLE,
    command: 'serve bundle --port 0',
    stoppedCode: 0,
  },
  load: {
    files: served(2),
    before: BUNDLE,
    served: 'bundle',
    command: 'load http://127.0.0.1:PORT --rps 200 --duration 10s -o report.json',
  },
  'load, samples of NumPy': {
    files: () => ({ ...served(2)(), 'x.npy': npy(100_000, 1024) }),
    before: BUNDLE,
    served: 'bundle',
    command: 'load http://127.0.0.1:PORT --rps 200 --duration 5s --samples x.npy -o report.json',
  },
  'load, samples of JSON': {
    files: () => ({
      ...served(2)(),
      'x.json': `[${Array.from({ length: 6000 }, () => `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,1024],"data":[${'0.125,'.repeat(1023)}1]}]}`).join(',\n')}]`,
    }),
    before: BUNDLE,
    served: 'bundle',
    command: 'load http://127.0.0.1:PORT --rps 200 --duration 5s --samples x.json -o report.json',
  },
  verify: {
    files: served(2),
    before: [...BUNDLE, 'LOAD http://127.0.0.1:PORT --rps 500 --duration 10s -o report.json'],
    command: 'verify report.json --plan bundle -o verified.json',
  },
};
