import { type ResolvedWorkflows, resolveWorkflows, type WorkflowFiles } from '../../src/dyorc/index.js';
import type { Profile, Run, WorkflowChain, WorkflowSpec } from '../../src/formats/index.js';
import { type Stream, streamOf } from '../../src/random/index.js';

const GIB = 1024 ** 3;

/** MadeProfile is what a profile of a whole model is made of: milliseconds by batch, for each class. */
export interface MadeProfile {
  readonly name?: string;
  readonly ms: Readonly<Record<string, Readonly<Record<number, number>>>>;
  readonly weightGiB?: number;
  readonly loadMs?: number;
}

/** madeProfile makes a profile of a model that is one block. */
export function madeProfile({ name = 'model', ms, weightGiB, loadMs }: MadeProfile): Profile {
  const devices = Object.entries(ms).map(([device, byBatch]) => {
    const us = Object.entries(byBatch).map(([batch, one]) => [batch, [1000 * one]]);
    const loads = loadMs === undefined ? {} : { loadMs: [loadMs] };
    return [device, { blockLatencyUs: { 1: Object.fromEntries(us) }, ...loads }];
  });
  return {
    kind: 'profile',
    version: '1.0',
    model: { name },
    blocks: [{ cutBytes: 0, ...(weightGiB === undefined ? {} : { weightBytes: weightGiB * GIB }) }],
    devices: Object.fromEntries(devices),
  };
}

/** CHAT is a chain that looks, speaks, and paints now and then. */
export const CHAT: WorkflowChain = {
  requestBytes: 100_000,
  start: [
    { to: 'see', chance: 0.5 },
    { to: 'speak', chance: 0.5 },
  ],
  steps: [
    {
      name: 'see',
      calls: [{ component: 'vision', inputs: ['request'], outputBytes: 50_000 }],
      next: 'speak',
    },
    {
      name: 'speak',
      calls: [{ component: 'language', inputs: ['request', 'see'], outputBytes: 2_000 }],
      next: [
        { to: 'paint', chance: 0.3 },
        { to: 'end', chance: 0.7 },
      ],
    },
    { name: 'paint', calls: [{ component: 'image', inputs: ['speak'], outputBytes: 800_000 }] },
  ],
};

/** chatSpec is a spec of one workflow over three components on devices of one class. */
export function chatSpec(more: Partial<WorkflowSpec> = {}): WorkflowSpec {
  return {
    kind: 'workflow',
    cluster: {
      devices: { A800: { count: 4, perServer: 2, memoryGiB: 20, loadGBps: 10 } },
      networkGbps: 10,
    },
    components: [
      { name: 'vision', profile: 'vision.json' },
      { name: 'language', profile: 'language.json' },
      { name: 'image', profile: 'image.json' },
    ],
    workflows: [{ name: 'chat', chain: CHAT, sloMs: 2000 }],
    load: { arrivals: 'poisson', rps: 10, duration: '20s' },
    ...more,
  };
}

export const CHAT_PROFILES: readonly Profile[] = [
  madeProfile({ name: 'vit', ms: { A800: { 1: 10, 2: 12, 4: 16, 8: 30 } }, weightGiB: 2 }),
  madeProfile({ name: 'llm', ms: { A800: { 1: 80, 2: 90, 4: 110, 8: 160 } }, weightGiB: 12 }),
  madeProfile({ name: 'sd', ms: { A800: { 1: 200, 2: 390 } }, weightGiB: 6 }),
];

/** filesFor gives the files of a spec whose cluster stands in it. */
export function filesFor(
  spec: WorkflowSpec,
  profiles: readonly Profile[],
  runs: readonly Run[] = [],
): WorkflowFiles {
  return {
    cluster: spec.cluster as Exclude<WorkflowSpec['cluster'], string>,
    profiles: profiles.map((profile, p) => ({ profile, path: spec.components[p]?.profile ?? '' })),
    runs: spec.workflows.map(({ runs: path }) =>
      path === undefined ? undefined : { path, runs, lines: runs.map((_, r) => r + 1) },
    ),
  };
}

/** resolvedSpec resolves a spec that has no faults. */
export function resolvedSpec(
  spec: WorkflowSpec,
  profiles = CHAT_PROFILES,
  runs: readonly Run[] = [],
): ResolvedWorkflows {
  const outcome = resolveWorkflows(spec, filesFor(spec, profiles, runs));
  if ('resolved' in outcome) return outcome.resolved;
  throw new Error(JSON.stringify(outcome.faults, undefined, 1));
}

/** faultsOfSpec tells the faults of a spec, each as its place and what is said of it. */
export function faultsOfSpec(
  spec: WorkflowSpec,
  profiles = CHAT_PROFILES,
  runs: readonly Run[] = [],
): string[] {
  const outcome = resolveWorkflows(spec, filesFor(spec, profiles, runs));
  return 'faults' in outcome ? outcome.faults.map(({ path, message }) => `${path} ${message}`) : [];
}

const NAMES = ['a', 'b', 'c'];

/** RandomSpec is a spec with all that it names. */
export interface RandomSpec {
  readonly spec: WorkflowSpec;
  readonly profiles: readonly Profile[];
}

/** randomSpec makes a small spec of one or two workflows over three components, on devices of one or two classes. */
export function randomSpec(seed: number): RandomSpec {
  const stream = streamOf(seed, 'spec');
  const classes = stream.integer(2) === 0 ? ['one'] : ['one', 'two'];
  const devices = classes.map((name) => [
    name,
    {
      count: 1 + stream.integer(3),
      perServer: 1 + stream.integer(2),
      memoryGiB: 5 + stream.integer(8),
      loadGBps: 5 + stream.integer(50),
      ...(stream.integer(2) === 0 ? { linkGbps: 1 + stream.integer(20) } : {}),
    },
  ]);
  const workflows = Array.from({ length: 1 + stream.integer(2) }, (_, w) => ({
    name: `w${w}`,
    chain: smallChain(stream),
    ...(stream.integer(3) === 0 ? {} : { sloMs: 50 + stream.integer(400) }),
  }));
  return {
    spec: {
      kind: 'workflow',
      cluster: { devices: Object.fromEntries(devices), networkGbps: 1 + stream.integer(40) },
      components: NAMES.map((name) => ({ name, profile: `${name}.json` })),
      workflows,
      load: { arrivals: 'poisson', rps: 5 + stream.integer(60), duration: '2s' },
      planner: workflows.some(({ sloMs }) => sloMs !== undefined)
        ? { attainment: 0.5 + stream.uniform() / 2 }
        : {},
    },
    profiles: NAMES.map(() =>
      madeProfile({
        ms: Object.fromEntries(classes.map((name) => [name, randomTimes(stream)])),
        weightGiB: 1 + stream.integer(4),
      }),
    ),
  };
}

/** randomTimes gives milliseconds at batches that are not all there, of which a larger one may take less. */
function randomTimes(stream: Stream): Record<number, number> {
  const batches = [1, 2, 3, 4, 8].filter((batch) => batch === 4 || stream.integer(2) === 0);
  const base = 2 + 20 * stream.uniform();
  return Object.fromEntries(
    batches.map((batch) => [batch, Number((base * (1 + 0.3 * batch * stream.uniform())).toFixed(3))]),
  );
}

function smallChain(stream: Stream): WorkflowChain {
  const names = ['x', 'y', 'z'].slice(0, 1 + stream.integer(3));
  return {
    requestBytes: stream.integer(3_000_000),
    start: 'x',
    steps: names.map((name, s) => ({
      name,
      calls: Array.from({ length: 1 + stream.integer(2) }, () => ({
        component: NAMES[stream.integer(3)] as string,
        inputs: ['request', ...names].filter(() => stream.integer(2) === 0),
        outputBytes: stream.integer(3_000_000),
        ...(stream.integer(3) === 0 ? { rows: 1 + stream.integer(4) } : {}),
        ...(stream.integer(4) === 0 ? { thinkMs: stream.integer(20) } : {}),
      })),
      next:
        stream.integer(2) === 0
          ? (names[s + 1] ?? 'end')
          : [
              { to: names[stream.integer(s + 1)] as string, chance: 0.3 },
              { to: names[s + 1] ?? 'end', chance: 0.7 },
            ],
    })),
  };
}
