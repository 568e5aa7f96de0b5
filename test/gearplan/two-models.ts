import type { CascadeSpec, OpenCluster, Profile } from '../../src/formats/index.js';
import {
  type CascadeFiles,
  type FamilyAnswer,
  type FamilyQuestion,
  planFamily,
  resolveCascade,
} from '../../src/gearplan/index.js';

/** The first model is right about six of ten samples, and sure of these; the second is right about all but one of the six. */
const RIGHT = [
  [1, 1, 1, 1, 1, 1, 0, 0, 0, 0],
  [0, 1, 1, 1, 1, 1, 1, 1, 1, 1],
];
const MS_PER_BATCH = [1, 4];

/** profileOf is the profile of a model on class A, which runs one sample at a time. */
export function profileOf(model: number, change: Partial<Profile> = {}): Profile {
  return {
    kind: 'profile',
    version: '1.0',
    model: { name: `net-${model}` },
    blocks: [{ cutBytes: 0, weightBytes: 1e6 }],
    devices: { A: { blockLatencyUs: { 1: { 1: [1000 * MS_PER_BATCH[model]!] } } } },
    ...change,
  };
}

export const FILES: CascadeFiles = {
  cluster: { devices: { A: { count: 2, hourlyCost: 3 } } },
  profiles: [0, 1].map((model) => ({ path: `${model}.json`, profile: profileOf(model) })),
  records: {
    samples: 10,
    models: ['a', 'b'],
    correct: RIGHT.map((of) => Uint8Array.from(of)),
    certainty: [Float64Array.from(RIGHT[0]!, (right) => (right ? 0.9 : 0.2)), new Float64Array(10).fill(0.5)],
  },
};

export const SPEC: CascadeSpec = {
  kind: 'cascade',
  cluster: 'c.yaml',
  records: 'r.csv',
  models: [
    { name: 'a', profile: '0.json' },
    { name: 'b', profile: '1.json' },
  ],
  slo: { latencyMs: 100 },
  load: { maxRps: 100, ranges: 1 },
  planner: { method: 'gears' },
};

/** evenly draws arrivals that are equally far apart. */
export function evenly(requests: number, rps: number): Float64Array {
  return Float64Array.from({ length: Math.min(requests, 400) }, (_, i) => Math.round(((i + 1) * 1e9) / rps));
}

export function clusterOf(count: number, more: object = {}): OpenCluster {
  return { devices: { A: { count, hourlyCost: 3, ...more } } };
}

/** questionAbout asks for a plan of the two models, with changes of the spec and the files. */
export function questionAbout(spec: Partial<CascadeSpec>, files: Partial<CascadeFiles> = {}): FamilyQuestion {
  const asked = { spec: { ...SPEC, ...spec }, files: { ...FILES, ...files } };
  const found = resolveCascade(asked.spec, asked.files);
  if ('faults' in found) throw new Error(JSON.stringify(found.faults));
  return { ...asked, resolved: found.resolved, arrivalsOf: evenly, integer: () => 0 };
}

export function answerTo(spec: Partial<CascadeSpec>, files: Partial<CascadeFiles> = {}): FamilyAnswer {
  return planFamily(questionAbout(spec, files));
}
