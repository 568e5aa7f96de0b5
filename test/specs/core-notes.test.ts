import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hostThreads } from '../../src/execution/index.js';
import type { OpenCluster, Profile } from '../../src/formats/index.js';
import { hereNotes, serverNotes } from '../../src/specs/core-notes.js';
import { solveSpec, solveTogether } from '../../src/specs/index.js';
import { writeFamily } from '../cascade-specs.js';
import { inWholeRun } from '../cases.js';

const EXAMPLES = new URL('../../examples', import.meta.url).pathname;

type Host = Readonly<Record<string, unknown>>;

function profileOf(devices: Readonly<Record<string, object>>, host?: Host): Profile {
  return {
    kind: 'profile',
    version: '1.0',
    model: { name: 'm' },
    blocks: [{ cutBytes: 0 }],
    devices: Object.fromEntries(
      Object.entries(devices).map(([name, device]) => [name, { ...device, blockLatencyUs: {} }]),
    ),
    ...(host === undefined ? {} : { measurement: { host } }),
  };
}

const cpu = (threads?: number, slowdown?: number) => ({ provider: 'cpu', threads, slowdown });

/** serversOf gives a cluster with this many devices of class A on a server. */
function serversOf(perServer: number | undefined, count?: number): OpenCluster {
  return { devices: { A: { ...(count && { count }), ...(perServer && { perServer }) } } };
}

describe('serverNotes()', () => {
  const fourCores = profileOf({ A: cpu(2) }, { name: 'elsewhere', threads: 4 });

  it('reports classes of which a server has more than the cores of the host that measured them', async () => {
    const [note, ...more] = await serverNotes(serversOf(2), [fourCores]);
    expect(more).toEqual([]);
    expect(note).toContain('A: the cluster has 2 of them on one server, and if that is like the host that');
    expect(note).toContain("the devices keep 4 of that host's 4 CPU cores busy");
    expect((await serverNotes(serversOf(3), [fourCores]))[0]).toContain('keep 6 of');
  });

  it('says nothing of single devices, of few, of emulated ones that leave room, and of GPUs', async () => {
    for (const servers of [serversOf(undefined, 9), serversOf(1), serversOf(4, 1)])
      expect(await serverNotes(servers, [fourCores])).toEqual([]);
    expect(await serverNotes(serversOf(3), [profileOf({ A: cpu(1) }, { name: 'x', threads: 4 })])).toEqual(
      [],
    );
    expect(await serverNotes(serversOf(2), [profileOf({ A: cpu(2, 2) }, { name: 'x', threads: 4 })])).toEqual(
      [],
    );
    const gpu = profileOf({ A: { provider: 'cuda', threads: 9 } }, { threads: 4 });
    expect(await serverNotes(serversOf(2), [gpu])).toEqual([]);
  });

  it('says nothing of one device a server, even where it takes all cores', async () => {
    const whole = profileOf({ A: cpu(4) }, { name: 'x', threads: 4 });
    expect(await serverNotes(serversOf(1), [whole])).toEqual([]);
    expect(await serverNotes(serversOf(2), [whole])).toHaveLength(1);
  });

  it('says nothing where a profile does not report the cores of its host', async () => {
    expect(await serverNotes(serversOf(2), [profileOf({ A: cpu(9) })])).toEqual([]);
    expect(await serverNotes(serversOf(2), [profileOf({ A: cpu(9) }, { name: 'x' })])).toEqual([]);
  });

  it('takes the host of each class from merged profiles, and the busiest of several profiles', async () => {
    const hosts = { classes: { A: { classes: { A: { threads: 8 } } }, B: { threads: 2 } } };
    const merged = profileOf({ A: cpu(4), B: cpu(1) }, hosts);
    const cluster = { devices: { A: { perServer: 2 }, B: { perServer: 2 } } };
    const lazy = profileOf({ A: cpu(1), B: cpu(1, 4) }, hosts);
    const notes = await serverNotes(cluster, [lazy, merged, lazy]);
    expect(notes.map((note) => /^.*(keep .*) CPU/.exec(note)?.[1])).toEqual([
      "keep 8 of that host's 8",
      "keep 2 of that host's 2",
    ]);
  });
});

describe('hereNotes()', () => {
  const here = { name: hostname(), threads: hostThreads() };

  it('says where this host measured all CPUs of a plan and has too few cores for them', async () => {
    const profiles = [profileOf({ A: cpu(1), B: cpu(1), G: { provider: 'cuda' } }, here)];
    const classes = { A: { used: hostThreads() }, B: { used: 0 }, G: { used: 3 } };
    const [note] = await hereNotes(classes, profiles);
    expect(note).toMatch(/^if this host, which measured the devices, is to serve the plan: /);
    expect(note).toContain(`keep ${hostThreads()} of this host's ${hostThreads()} CPU cores`);
    expect(await hereNotes({ ...classes, B: { used: 1 } }, profiles)).toMatchObject([
      expect.stringContaining(`keep ${hostThreads() + 1} of`),
    ]);
    expect(await hereNotes({ A: { used: 0 }, G: { used: 3 } }, profiles)).toEqual([]);
  });

  it('says nothing where another host measured one of them', async () => {
    const elsewhere = profileOf({ B: cpu(1) }, { ...here, name: `not-${hostname()}` });
    const profiles = [profileOf({ A: cpu(1) }, here), elsewhere];
    expect(await hereNotes({ A: { used: 99 }, B: { used: 1 } }, profiles)).toEqual([]);
    expect(await hereNotes({ A: { used: 99 } }, profiles)).toHaveLength(1);
  });
});

describe('Plans for more CPUs on a server than it has cores for', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'inferplan-cores-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const at = (name: string): string => join(folder, name);

  /** measuredElsewhere lets the profile say that its classes are CPUs of one core, on a host of two. */
  async function measuredElsewhere(file: string): Promise<void> {
    const profile = JSON.parse(await readFile(at(file), 'utf8')) as Profile;
    for (const device of Object.values(profile.devices)) Object.assign(device, cpu(1));
    profile.measurement = { ...profile.measurement, host: { name: 'elsewhere', threads: 2 } };
    await writeFile(at(file), JSON.stringify(profile));
  }

  /** coreNotesOf gives what the plan's notes and the command itself say of cores. */
  async function coreNotesOf(spec: string): Promise<{ notes: string[]; told: string[] }> {
    const told: string[] = [];
    const solved = await solveSpec(spec, { output: at('plan.json'), onNote: (text) => told.push(text) });
    if (!('plan' in solved)) throw new Error(solved.outcome);
    expect(solved.warnings).toEqual(solved.plan.notes ?? []);
    const notes = (solved.plan.notes ?? []).flatMap((note) => /^.* them on one server/.exec(note) ?? []);
    return { notes, told };
  }

  it('say so, be they pooled,', async () => {
    await cp(join(EXAMPLES, 'pooled'), folder, { recursive: true });
    for (const name of ['detector', 'segmenter']) await measuredElsewhere(`${name}.profile.json`);
    const said = (name: string) => `${name}: the cluster has 2 of them on one server`;
    expect(await coreNotesOf(at('spec.yaml'))).toEqual({ notes: [said('L4'), said('P4')], told: [] });
  });

  inWholeRun('of a pipeline, alone and beside others,', async () => {
    await cp(join(EXAMPLES, 'pipeline'), folder, { recursive: true });
    for (const name of ['detect', 'face']) await measuredElsewhere(`${name}.profile.json`);
    const notes = [
      'L4: the cluster has 2 of them on one server',
      'T4: the cluster has 4 of them on one server',
    ];
    expect(await coreNotesOf(at('spec.yaml'))).toEqual({ notes, told: [] });
    const spec = (name: string) => `
kind: pipeline
name: ${name}
cluster: cluster.yaml
stages: [{ name: face, profile: face.profile.json }]
sloMs: 500
load: { arrivals: poisson, rps: 20, duration: 2s }
planner: { method: inferline }
`;
    for (const name of ['one', 'two']) await writeFile(at(`${name}.yaml`), spec(name));
    const solved = await solveTogether([at('one.yaml'), at('two.yaml')], {});
    if (solved.outcome !== 'plan-set') throw new Error(solved.outcome);
    for (const plan of solved.plans) expect(plan.notes?.join()).toContain('of them on one server');
  });

  inWholeRun('or gears', async () => {
    const cluster = { devices: { V100: { count: 2, perServer: 2 } }, networkGbps: 10 };
    const spec = await writeFamily(folder, { cluster });
    for (const name of ['small', 'middle', 'large']) await measuredElsewhere(`${name}.json`);
    expect(await coreNotesOf(spec)).toEqual({
      notes: ['V100: the cluster has 2 of them on one server'],
      told: [],
    });
  });
});
