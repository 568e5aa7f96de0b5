import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Profile } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { writeModels } from '../fuzz/material.js';
import { plan } from '../fuzz/program.js';

/** WrittenPlan is a plan in a folder of its own, beside everything that it was made from. */
export interface WrittenPlan {
  readonly name: string;
  readonly folder: string;
  /** The name of its file. */
  readonly file: string;
  /** What else a simulation takes, beside and away from its inputs. */
  readonly options: readonly string[];
}

const CLUSTER = `kind: cluster
devices:
  fast: { count: 8, perServer: 2, virtual: [1, 2], memoryGiB: 4, hourlyCost: 0.5, powerWatts: 70 }
  slow: { count: 8, perServer: 1, virtual: [1, 2], memoryGiB: 4, hourlyCost: 0.2, powerWatts: 30 }
networkGbps: 10
`;
/** A class of it has the figures of another. */
const ALIASED = CLUSTER.replace(
  'networkGbps',
  '  spot: { as: slow, count: 8, perServer: 2, virtual: [1, 2], memoryGiB: 4, hourlyCost: 0.1, powerWatts: 30 }\nnetworkGbps',
);
/** Models are loaded onto its devices while these serve. */
const LOADED = CLUSTER.replaceAll('memoryGiB: 4', 'memoryGiB: 4, loadGBps: 4, diskGBps: 1');
const ACTIVATED = `${CLUSTER}activationDelayMs: 500\n`;

/** The family of a cascade: the same model, measured as ever slower, and ever more often right. */
const FAMILY = ['small', 'middle', 'large'] as const;
const SAMPLES = 150;

interface Asked {
  readonly spec: string;
  readonly cluster?: string;
  readonly solve?: readonly string[];
  /** The spec of a pipeline that is planned for the same cluster. */
  readonly beside?: string;
  readonly options?: readonly string[];
}

const stages = (first: string, second: string) => `stages:
  - { name: first, profile: dense.profile.json, next: [{ to: second, probability: 0.4, when: { output: y, index: 0, atLeast: 0.5 } }], ${first} }
  - { name: second, profile: dense.profile.json, inputs: { x: first.y }, ${second} }
`;
const pipeline = (name: string, of: string, rest: string) =>
  `kind: pipeline\nname: ${name}\ncluster: cluster.yaml\n${of}attainment: 0.9\n${rest}`;
const LOAD = 'load: { arrivals: gamma, cv: 2, rps: 60, duration: 10s }\n';
const GIVEN = 'planner: { method: given }\n';
const cascade = (slo: string, device = 'fast: {', more = '') => `kind: cascade
name: family
cluster: { devices: { ${device} count: 2, hourlyCost: 3 } } }
models: [${FAMILY.map((name) => `{ name: ${name}, profile: ${name}.profile.json }`).join(', ')}]
records: records.csv
slo: ${slo}
load: { maxRps: 60, ranges: 3${more} }
planner: { method: gears, thresholds: 6 }
`;
const RECORDS = ['--records', '../records.csv'];

/** A program that calls one model, and the other after it has read what that gave, or not. */
const PROGRAM = `export const inputs = [{ name: 'x', datatype: 'FP32', shape: [-1, 8] }];
export const outputs = [{ name: 'y', datatype: 'FP32', shape: [-1, 8] }];
export default async function (request, { call }) {
  const first = call('first', { x: request.in('x') });
  const [value = 0] = (await first.read('y', 'FP32')).data;
  if (value > 0) return { y: first.out('y') };
  return { y: call('second', { x: first.out('y') }).out('y') };
}
`;
const COMPONENTS = `components:
  - { name: first, profile: dense.profile.json, memoryGiB: 1 }
  - { name: second, profile: dense.profile.json, memoryGiB: 2.5, loadMs: 40, maxBatch: 2 }
`;
const workflows = (cluster: string, rest: string) =>
  `kind: workflow\ncluster: ${cluster}\n${COMPONENTS}workflows:\n${rest}`;
const CHAIN = `chain: { requestBytes: 100, start: ask, steps: [{ name: ask, calls: [{ component: first, inputs: [request], outputBytes: 64 }], next: [{ to: more, chance: 0.5 }, { to: end, chance: 0.5 }] }, { name: more, calls: [{ component: second, inputs: [ask], outputBytes: 32, thinkMs: 1 }] }] }`;
/** Recorded requests, which call the second model once or twice after the first. */
const RUNS = [1, 2]
  .map((more) =>
    JSON.stringify({
      kind: 'run',
      version: '1.0',
      application: 'talk',
      requestBytes: 100 * more,
      tasks: [
        { component: 'first', inputs: ['request'], after: [], outputBytes: 64, rows: 1 },
        ...Array.from({ length: more }, () => ({
          component: 'second',
          inputs: [0],
          after: [0],
          outputBytes: 32,
          rows: 1,
        })),
      ],
    }),
  )
  .join('\n');

/** ASKED says what the plans are asked for: every kind, with each of the things that only some plans have. */
const ASKED: Readonly<Record<string, Asked>> = {
  'pooled for throughput': {
    spec: `kind: pooled
cluster: cluster.yaml
models:
  - { profile: dense.profile.json, sloMs: 500, weight: 2 }
  - { profile: lookup.profile.json, sloMs: 500, weight: 1 }
`,
  },
  'pooled for cost': {
    spec: `kind: pooled
cluster: cluster.yaml
models:
  - { profile: dense.profile.json, sloMs: 500, rps: 300 }
  - { profile: lookup.profile.json, sloMs: 500, rps: 200 }
planner: { objective: cost, sloMargin: 0.2 }
`,
    cluster: ALIASED,
    solve: ['--explain'],
  },
  'pooled that holds its rates': {
    spec: `kind: pooled
cluster: { devices: { fast: { count: 1 }, slow: { count: 1 } }, networkGbps: 10 }
models: [{ profile: dense.profile.json, sloMs: 500, hold: 0.9 }]
`,
  },
  'pipeline of a sample': {
    spec: pipeline(
      'app',
      stages('batch: 2', 'batch: 1'),
      `sloMs: 200\n${LOAD}planner: { method: inferline }\n`,
    ),
  },
  'pipeline of a trace, with a tuner': {
    spec: pipeline(
      'app',
      stages('batch: 2', 'device: fast'),
      'sloMs: 200\nload: { trace: trace.csv }\nplanner: { method: inferline }\nserving: { scheduler: stage-local, tuner: { kind: inferline } }\n',
    ),
    cluster: ACTIVATED,
    options: ['--trace', '../trace.csv'],
  },
  'pipeline of applications': {
    spec: pipeline(
      'apps',
      stages('device: fast, batch: 2, replicas: 2, standby: 1', 'device: slow, batch: 1, replicas: 2'),
      `applications:\n  - { name: one, sloMs: 200, share: 0.75, weight: 2 }\n  - { name: other, sloMs: 400, share: 0.25 }\n${LOAD}${GIVEN}serving: { scheduler: pard, tuner: { kind: by-rate } }\n`,
    ),
    cluster: ACTIVATED,
  },
  'pipeline of two classes': {
    spec: pipeline(
      'unequal',
      stages('batch: 2, replicas: { fast: 2, spot: 1 }', 'device: slow, batch: 1, replicas: 2'),
      `sloMs: 200\n${LOAD}${GIVEN}serving: { scheduler: stage-local }\n`,
    ),
    cluster: ALIASED,
  },
  'pipeline that shares its cluster': {
    spec: pipeline(
      'one',
      stages('batch: 2', 'batch: 1'),
      `sloMs: 200\n${LOAD}planner: { method: inferline }\n`,
    ),
    beside: pipeline(
      'other',
      stages('batch: 1', 'batch: 1'),
      `sloMs: 300\n${LOAD}planner: { method: inferline }\n`,
    ),
  },
  'gears that promise a latency': { spec: cascade('{ latencyMs: 120 }'), options: RECORDS },
  'gears that promise an accuracy': {
    spec: cascade('{ accuracy: 0.85 }', 'spot: { as: fast,'),
    options: RECORDS,
  },
  'workflows of a chain': {
    spec: workflows(
      '{ networkGbps: 10, devices: { fast: { count: 2, memoryGiB: 3, hostMemoryGiB: 8, loadGBps: 4, diskGBps: 1 } } }',
      `  - { name: talk, program: program.mjs, sloMs: 300, ${CHAIN} }\n${LOAD}`,
    ),
  },
  'workflows of runs, on the fewest devices': {
    spec: workflows(
      'cluster.yaml',
      `  - { name: talk, program: program.mjs, sloMs: 400, share: 0.75, runs: talk.runs.jsonl }\n  - { name: other, program: program.mjs, share: 0.25, ${CHAIN} }\nload: { arrivals: poisson, rps: 60, duration: 5s }\nplanner: { objective: devices, attainment: 0.8 }\n`,
    ),
    cluster: LOADED,
  },
};

/** PLAN_NAMES lists the plans that there are. */
export const PLAN_NAMES: readonly string[] = Object.keys(ASKED);

/** writePlan writes a plan, and the files that it is made from, into a new folder. */
export async function writePlan(name: string, root: string): Promise<WrittenPlan> {
  const asked = ASKED[name] as Asked;
  const folder = join(root, name.replaceAll(/\W+/g, '-'));
  writeModels(folder);
  writeFileSync(join(folder, 'cluster.yaml'), asked.cluster ?? CLUSTER);
  writeFileSync(join(folder, 'spec.yaml'), asked.spec);
  writeFileSync(join(folder, 'trace.csv'), `${arrivals().join('\n')}\n`);
  writeFileSync(join(folder, 'program.mjs'), PROGRAM);
  writeFileSync(join(folder, 'talk.runs.jsonl'), RUNS);
  writeFamily(folder);
  const specs = ['spec.yaml'];
  if (asked.beside !== undefined) {
    writeFileSync(join(folder, 'other.yaml'), asked.beside);
    specs.push('other.yaml');
  }
  const output = specs.length > 1 ? '.' : 'plan.json';
  const ran = await plan(['solve', ...specs, '-o', output, ...(asked.solve ?? [])], folder);
  if (ran.code !== 0)
    throw new Error(`plan ${ran.args.join(' ')} of ${name} ended with ${ran.code}: ${ran.stderr}`);
  return { name, folder, file: specs.length > 1 ? 'one.plan.json' : output, options: asked.options ?? [] };
}

function arrivals(): string[] {
  const { uniform } = streamOf(3, 'arrivals');
  let at = 0;
  return Array.from({ length: 600 }, () => {
    at -= Math.log(1 - uniform()) / 60;
    return at.toFixed(6);
  });
}

function writeFamily(folder: string): void {
  const { uniform } = streamOf(5, 'family');
  const lines = ['sample,model,prediction,label,certainty'];
  for (const [model, name] of FAMILY.entries()) {
    const profile = JSON.parse(readFileSync(join(folder, 'dense.profile.json'), 'utf8')) as Profile;
    for (const byBatch of Object.values(profile.devices.fast?.blockLatencyUs ?? {}))
      for (const [batch, row] of Object.entries(byBatch))
        byBatch[batch] = row.map((us) => (us as number) * 2 ** (model - 1));
    writeFileSync(join(folder, `${name}.profile.json`), JSON.stringify(profile, undefined, 1));
    for (let sample = 0; sample < SAMPLES; sample++) {
      const isRight = uniform() < 0.65 + 0.15 * model;
      const certainty = Math.round(1000 * (isRight ? uniform() ** 0.3 : uniform())) / 1000;
      lines.push(`${sample},${name},${isRight ? 1 : 0},1,${certainty}`);
    }
  }
  writeFileSync(join(folder, 'records.csv'), `${lines.join('\n')}\n`);
}
