import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simulatePlan, solveSpec, validateFiles } from '../../../src/api/index.js';
import type { PipelinePlan } from '../../../src/artifacts/index.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-links-'));
  for (const [name, cutBytes] of [
    ['a', 600_000],
    ['b', 0],
  ] as const)
    await writeFile(join(folder, `${name}.json`), JSON.stringify(profileOf(name, cutBytes)));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function profileOf(name: string, cutBytes: number) {
  const byBatch = { 1: [10_000], 2: [14_000], 4: [22_000] };
  return {
    ...{ kind: 'profile', version: '1.0', model: { name }, blocks: [{ cutBytes, weightBytes: 1000 }] },
    devices: { g: { blockLatencyUs: { 1: byBatch } } },
  };
}

interface Shape {
  readonly count: number;
  readonly rps: number;
  readonly sloMs?: number;
  readonly method?: string;
}

/** solved plans a → b over links of 1 Gbit/s, where a row takes 4.8 ms: a server can send 208/s. */
async function solved(name: string, { count, rps, sloMs = 150, method = 'inferline' }: Shape) {
  const spec = {
    kind: 'pipeline',
    name: 'p',
    cluster: { kind: 'cluster', networkGbps: 1, devices: { g: { hourlyCost: 1, perServer: 8, count } } },
    stages: [
      { name: 'a', profile: 'a.json', next: ['b'] },
      { name: 'b', profile: 'b.json' },
    ],
    ...{ sloMs, load: { arrivals: 'poisson', rps, duration: '10s' }, planner: { method, draws: 2 } },
  };
  const path = join(folder, `${name}.spec.json`);
  await writeFile(path, JSON.stringify(spec));
  const output = join(folder, `${name}.plan.json`);
  const outcome = await solveSpec(path, { output, work: 2000 });
  return { outcome, output };
}

/** sentPerServer adds up, by server, how long uplinks are busy per second of a load of a → b. */
function busiestUplink({ placement, stages }: PipelinePlan, rps: number): number {
  const replicas = stages.find(({ name }) => name === 'a')?.replicas as number;
  const busy = new Map<string, number>();
  for (const { server, stages: on } of placement)
    if (on.includes('a')) busy.set(server, (busy.get(server) ?? 0) + (rps * 0.0048) / replicas);
  return Math.max(...busy.values());
}

describe('a pipeline whose servers send much', () => {
  it('is placed so that its uplinks suffice, and is served as its plan says', async () => {
    const { outcome, output } = await solved('shown', { count: 16, rps: 230 });
    if (outcome.outcome !== 'pipeline-plan') throw new Error(outcome.outcome);
    const { plan } = outcome;
    expect(plan.hourlyCost).toBe(4);
    expect(busiestUplink(plan, 230)).toBeLessThan(0.6);
    expect(busiestUplink(plan, plan.throughputRps)).toBeLessThanOrEqual(1 + 1e-9);
    const shares: number[] = [];
    for (const seed of [1, 2]) {
      const { report } = await simulatePlan(output, { seed, duration: 10, rps: ['230'] });
      shares.push(report.overall.attainment as number);
    }
    expect(plan.sample?.leastAttainment).toBeCloseTo(Math.min(...shares), 9);
    expect((await validateFiles([output]))[0]).toMatchObject({ ok: true });
  });

  it('has figures of the sample over links, where batches wait for them', async () => {
    // One server sends all: its uplink is busy for 72 % of the time.
    const { outcome, output } = await solved('one', { count: 8, rps: 150, sloMs: 120 });
    if (outcome.outcome !== 'pipeline-plan') throw new Error(outcome.outcome);
    const { plan } = outcome;
    expect(busiestUplink(plan, 150)).toBeCloseTo(0.72, 9);
    expect(plan.throughputRps).toBeLessThanOrEqual(1 / 0.0048 + 1e-9);
    const runs = [1, 2].map((seed) => simulatePlan(output, { seed, duration: 10, rps: ['150'] }));
    const shares = (await Promise.all(runs)).map(({ report }) => report.overall.attainment as number);
    expect(plan.sample?.leastAttainment).toBeCloseTo(Math.min(...shares), 9);
    expect((await validateFiles([output]))[0]).toMatchObject({ ok: true });
  });

  it('has no plan where the uplinks of all servers are too few, whatever is chosen', async () => {
    const { outcome } = await solved('scarce', { count: 8, rps: 260 });
    if (outcome.outcome !== 'infeasible') throw new Error(outcome.outcome);
    expect(outcome.reasons.join()).toContain('the uplinks of the servers of g have too little time');
  });

  it.each([
    'inferline',
    'exact',
  ])('is optimal by %s only where its cost is a bound that is counted', async (method) => {
    const { outcome } = await solved(`counted-${method}`, { count: 8, rps: 170, method });
    if (outcome.outcome !== 'pipeline-plan') throw new Error(outcome.outcome);
    const { objective, status } = outcome.plan;
    // a and b need ⌈170·5.5 ms⌉ = 1 device each in full batches, and what the SLO leaves counts a third.
    expect(objective?.bound).toBeLessThanOrEqual(3);
    expect(status).toBe(objective?.value === objective?.bound ? 'optimal' : 'feasible');
  });
});
