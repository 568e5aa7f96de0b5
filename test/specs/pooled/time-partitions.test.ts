import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resnet18 } from '../../../examples/models/resnet18.js';
import { profileModelFile, validateFiles } from '../../../src/api/index.js';
import type { PooledPlan, Profile } from '../../../src/formats/index.js';
import { solveSpec, type TimingRound } from '../../../src/specs/index.js';
import { inWholeRun } from '../../cases.js';

let folder: string;
const at = (file: string): string => join(folder, file);

/** Half of the blocks, and one more where their number is odd, fit into the memory of a device. */
const SPEC = `
kind: pooled
cluster: { devices: { fast: { count: 1, memoryGiB: 1.6 }, slow: { count: 1, memoryGiB: 1.6 } }, networkGbps: 100 }
models: [{ profile: model.profile.json, sloMs: 2000 }]
planner: { maxPartitions: 2 }
`;

/** A profile as this machine measured it, but with weights that ask for a cut in the middle, and without pairs. */
function splitting({ blocks, devices, ...rest }: Profile): Profile {
  const weightBytes = Math.floor((1.5 * 2 ** 30) / Math.ceil(blocks.length / 2));
  return {
    ...rest,
    blocks: blocks.map((block) => ({ ...block, weightBytes })),
    devices: Object.fromEntries(
      Object.entries(devices).map(([name, { pairLatencyUs: _, ...device }]) => [name, device]),
    ),
  };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-timing-'));
  await writeFile(at('model.onnx'), resnet18({ image: 32, classes: 10, widthMultiplier: 0.25 }));
  const { profile } = await profileModelFile(at('model.onnx'), {
    devices: ['fast=cpu:1', 'slow=cpu:1,slowdown=2'],
    batch: [1, 2],
    virtual: [1],
    blocks: '6',
    method: 'greedy',
    boundary: 'exact',
    warmup: 1,
    minRuns: 2,
    minMs: 2,
    maxMs: 100,
    output: at('measured.json'),
  });
  await writeFile(at('model.profile.json'), JSON.stringify(splitting(profile)));
  await writeFile(at('spec.yaml'), SPEC);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function profileNow(): Promise<Profile> {
  return JSON.parse(await readFile(at('model.profile.json'), 'utf8')) as Profile;
}

function partitionsOf(plan: PooledPlan) {
  return plan.models.flatMap(({ pipelines }) => pipelines.flatMap(({ partitions }) => partitions));
}

describe('solveSpec() with measure', () => {
  it('leaves profiles as they are when it is aborted while it times', async () => {
    const before = await readFile(at('model.profile.json'), 'utf8');
    const controller = new AbortController();
    const solved = await solveSpec(at('spec.yaml'), {
      measure: true,
      signal: controller.signal,
      onProgress: (doing) => {
        if (doing.startsWith('timing')) controller.abort();
      },
    });
    expect(solved.outcome).toBe('plan');
    expect(await readFile(at('model.profile.json'), 'utf8')).toBe(before);
  });

  inWholeRun('times the partitions of the plan, and solves again until all of them were timed', async () => {
    const first = await solveSpec(at('spec.yaml'));
    if (first.outcome !== 'plan') throw new Error(first.outcome);
    const { length } = (await profileNow()).blocks;
    const planned = partitionsOf(first.plan).map(({ blocks }) => blocks);
    expect([planned.length, planned[0]?.[0], planned[1]?.[0], planned[1]?.[1]]).toEqual([
      2,
      0,
      planned[0]?.[1],
      length,
    ]);
    const rounds: TimingRound[] = [];
    const solved = await solveSpec(at('spec.yaml'), {
      measure: true,
      mostDrift: Infinity,
      output: at('plan.json'),
      onTimed: (round) => rounds.push(round),
    });
    if (solved.outcome !== 'plan') throw new Error(solved.outcome);
    expect(rounds.length).toBeGreaterThan(0);
    expect(rounds[0]?.furthest).toMatchObject({ model: 'model', partition: { virtual: 1 } });
    expect(planned).toContainEqual(rounds[0]?.furthest?.partition.blocks);
    const told = rounds
      .flatMap(({ notes }) => notes)
      .filter((note) => note.includes('holds the new figures'));
    expect(told).toHaveLength(1);
    const profile = await profileNow();
    const spans = profile.devices.fast?.spanLatencyUs?.['1']?.['1'] ?? [];
    expect(spans.every(({ us }) => us > 0)).toBe(true);
    for (const { blocks = [0, 0], device, virtual, batch, latencyUsByBatch } of partitionsOf(solved.plan)) {
      const [from, to] = blocks.map(
        (end) => profile.blocks.slice(0, end).flatMap(({ nodes }) => nodes ?? []).length,
      );
      const figures = profile.devices[device];
      const timed = figures?.spanLatencyUs?.[virtual]?.[batch]?.find(
        ({ layers }) => layers[0] === from && layers[1] === to,
      )?.us;
      const [first, end] = [blocks[0] ?? 0, blocks[1] ?? 0];
      const whole = end - first === length ? figures?.wholeLatencyUs?.[virtual]?.[batch] : undefined;
      const single = end - first === 1 ? figures?.blockLatencyUs[virtual]?.[batch]?.[first] : undefined;
      expect(latencyUsByBatch[batch - 1]).toBe(timed ?? whole ?? single ?? 'not timed');
    }
    const [checked] = await validateFiles([at('plan.json')]);
    expect(checked).toMatchObject({ ok: true, what: expect.stringContaining('recomputed') });
  });

  inWholeRun('times nothing twice', async () => {
    const before = await readFile(at('model.profile.json'), 'utf8');
    const rounds: TimingRound[] = [];
    await solveSpec(at('spec.yaml'), {
      measure: true,
      mostDrift: Infinity,
      onTimed: (round) => rounds.push(round),
    });
    expect(rounds).toEqual([]);
    expect(await readFile(at('model.profile.json'), 'utf8')).toBe(before);
  });

  inWholeRun(
    'plans without timing, and says why, where the device is no longer as it was profiled',
    async () => {
      const before = await readFile(at('model.profile.json'), 'utf8');
      const profile = JSON.parse(before) as Profile;
      for (const device of Object.values(profile.devices)) {
        delete device.spanLatencyUs;
        for (const byBatch of Object.values(device.wholeLatencyUs ?? {}))
          for (const batch of Object.keys(byBatch)) byBatch[batch] = 1e6;
      }
      const text = JSON.stringify(profile);
      await writeFile(at('model.profile.json'), text);
      const notes: string[] = [];
      const onTimed = (round: TimingRound) => notes.push(...round.notes);
      const solved = await solveSpec(at('spec.yaml'), { measure: true, onTimed });
      expect(solved.outcome).toBe('plan');
      expect(notes).not.toEqual([]);
      for (const note of notes) expect(note).toMatch(/^not timed: .*took 1\.00e\+3 ms when it was profiled/s);
      expect(await readFile(at('model.profile.json'), 'utf8')).toBe(text);
      await writeFile(at('model.profile.json'), before);
    },
  );

  inWholeRun('times a single block where its figures are sums of layers', async () => {
    const { blocks, devices, ...rest } = await profileNow();
    const allBytes = 1.5 * 2 ** 30;
    const otherBytes = Math.floor(allBytes / (blocks.length - 1));
    const heavy = blocks.map((block, k) => ({ ...block, weightBytes: k === 0 ? allBytes : otherBytes }));
    await writeFile(at('single.yaml'), SPEC.replaceAll('model.profile', 'single.profile'));
    for (const isSummed of [false, true]) {
      const figures = Object.entries(devices).map(([name, { spanLatencyUs: _, ...device }]) => {
        if (isSummed) delete device.blockLatencyP95Us;
        return [name, device] as const;
      });
      const profile = { ...rest, blocks: heavy, devices: Object.fromEntries(figures) };
      await writeFile(at('single.profile.json'), JSON.stringify(profile));
      const solved = await solveSpec(at('single.yaml'), { measure: true, mostDrift: Infinity });
      if (solved.outcome !== 'plan') throw new Error(solved.outcome);
      const { devices: timed } = JSON.parse(await readFile(at('single.profile.json'), 'utf8')) as Profile;
      const spans = Object.values(timed).flatMap(({ spanLatencyUs = {} }) =>
        Object.values(spanLatencyUs).flatMap((byBatch) => Object.values(byBatch).flat()),
      );
      const first = heavy[0]?.nodes?.length;
      expect(spans.some(({ layers }) => layers[0] === 0 && layers[1] === first)).toBe(isSummed);
    }
  });

  inWholeRun(
    'times a partition of an alias as one of its class, and writes no alias into the profile',
    async () => {
      const { devices, ...rest } = await profileNow();
      const { spanLatencyUs: _, ...slow } = devices.slow!;
      await writeFile(at('alias.profile.json'), JSON.stringify({ ...rest, devices: { slow } }));
      const devicesOf = 'fast: { as: slow, count: 1, memoryGiB: 1.6 }, slow: {';
      const spec = SPEC.replace(/fast: .*?slow: {/, devicesOf);
      await writeFile(at('alias.yaml'), spec.replaceAll('model.profile', 'alias.profile'));
      const output = at('alias.plan.json');
      const solved = await solveSpec(at('alias.yaml'), { measure: true, mostDrift: Infinity, output });
      if (solved.outcome !== 'plan') throw new Error(solved.outcome);
      expect(new Set(partitionsOf(solved.plan).map(({ device }) => device))).toContain('fast');
      const written = JSON.parse(await readFile(at('alias.profile.json'), 'utf8')) as Profile;
      expect(Object.keys(written.devices)).toEqual(['slow']);
      const spans = written.devices.slow?.spanLatencyUs?.['1']?.['1'] ?? [];
      expect(spans.length).toBeGreaterThan(0);
      const timed = spans.map(({ layers }) => String(layers));
      expect(timed).toEqual([...new Set(timed)]);
      const [checked] = await validateFiles([output]);
      expect(checked).toMatchObject({ ok: true, what: expect.stringContaining('recomputed') });
    },
  );

  it('refuses plans of layers', async () => {
    await writeFile(at('layers.yaml'), SPEC.replace('maxPartitions: 2', 'granularity: layer'));
    await expect(solveSpec(at('layers.yaml'), { measure: true })).rejects.toThrow(/is for plans of blocks/);
  });

  it('plans without timing, and says why, where the model is not the one that was profiled', async () => {
    const { devices, ...rest } = splitting(await profileNow());
    for (const device of Object.values(devices)) delete device.spanLatencyUs;
    const text = JSON.stringify({ ...rest, devices });
    await writeFile(at('model.profile.json'), text);
    await writeFile(at('model.onnx'), resnet18({ image: 32, classes: 11, widthMultiplier: 0.25 }));
    const told = async () => {
      const notes: string[] = [];
      const onTimed = (round: TimingRound) => notes.push(...round.notes);
      const solved = await solveSpec(at('spec.yaml'), { measure: true, onTimed });
      return { outcome: solved.outcome, notes };
    };
    const why = (text: RegExp) => ({ outcome: 'plan', notes: [expect.stringMatching(text)] });
    expect(await told()).toEqual(why(/^not timed: .*digest differs/s));
    await rm(at('model.onnx'));
    expect(await told()).toEqual(why(/^not timed: .*model\.onnx/s));
    expect(await readFile(at('model.profile.json'), 'utf8')).toBe(text);
  });
});
