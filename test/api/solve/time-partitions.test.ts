import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resnet18 } from '../../../examples/models/index.js';
import { profileModelFile, solveSpec, type TimingRound, validateFiles } from '../../../src/api/index.js';
import type { PooledPlan, Profile } from '../../../src/artifacts/index.js';

let folder: string;
const at = (file: string): string => join(folder, file);

const SPEC = `
kind: pooled
cluster: { devices: { fast: { count: 1 }, slow: { count: 1 } }, networkGbps: 100 }
models: [{ profile: model.profile.json, sloMs: 2000 }]
`;

/** The latencies of four blocks make a plan run the first two on one class and the others on the other class. */
const SPLIT = { fast: [100, 200, 9e4, 9e4], slow: [9e4, 9e4, 200, 100] };

/** A profile as this machine measured it, but with figures that ask for a cut in the middle. */
function splitting(profile: Profile): Profile {
  const devices = Object.entries(profile.devices).map(([name, device]) => {
    const row = SPLIT[name as keyof typeof SPLIT];
    const pairs = [0, 1, 2].map((k) => (row[k] as number) + (row[k + 1] as number));
    const table = <T>(value: T) => ({ 1: { 1: value, 2: value } });
    const whole = row.reduce((sum, us) => sum + us, 0);
    const figures = { blockLatencyUs: table(row), pairLatencyUs: table(pairs), wholeLatencyUs: table(whole) };
    return [name, { ...device, ...figures, blockLatencyP95Us: table(row) }] as const;
  });
  return { ...profile, devices: Object.fromEntries(devices) };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-timing-'));
  await writeFile(at('model.onnx'), resnet18({ image: 32, classes: 10, widthMultiplier: 0.25 }));
  const { profile } = await profileModelFile(at('model.onnx'), {
    devices: ['fast=cpu:1', 'slow=cpu:1,slowdown=2'],
    ...{ batch: [1, 2], virtual: [1], blocks: '4', method: 'greedy', boundary: 'exact' },
    ...{ warmup: 1, minRuns: 2, minMs: 2, maxMs: 100, output: at('measured.json') },
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

  it('times the partitions of the plan, and solves again until all of them were timed', async () => {
    const first = await solveSpec(at('spec.yaml'));
    if (first.outcome !== 'plan') throw new Error(first.outcome);
    expect(partitionsOf(first.plan).map(({ blocks }) => blocks)).toEqual([
      [0, 2],
      [2, 4],
    ]);
    const rounds: TimingRound[] = [];
    const solved = await solveSpec(at('spec.yaml'), {
      measure: true,
      output: at('plan.json'),
      onTimed: (round) => rounds.push(round),
    });
    if (solved.outcome !== 'plan') throw new Error(solved.outcome);
    expect(rounds.length).toBeGreaterThan(0);
    expect(rounds[0]?.furthest?.what).toMatch(/^model blocks (0–2|2–4) on 1\/1 (fast|slow) at batch [12]$/);
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
      const whole = end - first === 4 ? figures?.wholeLatencyUs?.[virtual]?.[batch] : undefined;
      const single = end - first === 1 ? figures?.blockLatencyUs[virtual]?.[batch]?.[first] : undefined;
      expect(latencyUsByBatch[batch - 1]).toBe(timed ?? whole ?? single ?? 'not timed');
    }
    const [checked] = await validateFiles([at('plan.json')]);
    expect(checked).toMatchObject({ ok: true, what: expect.stringContaining('recomputed') });
  });

  it('times nothing twice', async () => {
    const before = await readFile(at('model.profile.json'), 'utf8');
    const rounds: TimingRound[] = [];
    await solveSpec(at('spec.yaml'), { measure: true, onTimed: (round) => rounds.push(round) });
    expect(rounds).toEqual([]);
    expect(await readFile(at('model.profile.json'), 'utf8')).toBe(before);
  });

  it('refuses a model that is not the one that was profiled, and leaves the profile as it is', async () => {
    const { devices, ...rest } = splitting(await profileNow());
    for (const device of Object.values(devices)) delete device.spanLatencyUs;
    const text = JSON.stringify({ ...rest, devices });
    await writeFile(at('model.profile.json'), text);
    await writeFile(at('model.onnx'), resnet18({ image: 32, classes: 11, widthMultiplier: 0.25 }));
    await expect(solveSpec(at('spec.yaml'), { measure: true })).rejects.toThrow(/digest differs/);
    await rm(at('model.onnx'));
    await expect(solveSpec(at('spec.yaml'), { measure: true })).rejects.toThrow(/model\.onnx/);
    expect(await readFile(at('model.profile.json'), 'utf8')).toBe(text);
  });
});
