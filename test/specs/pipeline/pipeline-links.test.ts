import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simulatePlan, validateFiles } from '../../../src/api/index.js';
import type { PipelinePlan } from '../../../src/formats/index.js';
import { compareSpec, solveSpec, solveTogether } from '../../../src/specs/index.js';
import { inWholeRun, whole } from '../../cases.js';

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
    kind: 'profile',
    version: '1.0',
    model: { name },
    blocks: [{ cutBytes, weightBytes: 1000 }],
    devices: { g: { blockLatencyUs: { 1: byBatch } } },
  };
}

interface Shape {
  readonly gbps?: number;
  readonly explain?: boolean;
  readonly count: number;
  readonly rps: number;
  readonly sloMs?: number;
  readonly method?: string;
  /** The name of the pipeline, by which its load is drawn. */
  readonly title?: string;
  /** The replicas of a and b, where the spec fixes them. */
  readonly replicas?: readonly [number, number];
  readonly timeLimit?: number;
  readonly work?: number;
}

/** solved plans a → b over links of 1 Gbit/s, where a row takes 4.8 ms: a server can send 208/s. */
async function solved(name: string, { explain, timeLimit, work = 2000, ...shape }: Shape) {
  const path = await written(name, shape);
  const output = join(folder, `${name}.plan.json`);
  const outcome = await solveSpec(path, { output, work, timeLimit, explain });
  return { outcome, output };
}

/** written writes the spec of a pipeline, and gives its path. */
async function written(
  name: string,
  { count, rps, sloMs = 150, method = 'inferline', gbps = 1, replicas, title = 'p' }: Shape,
): Promise<string> {
  const spec = {
    kind: 'pipeline',
    name: title,
    cluster: { kind: 'cluster', networkGbps: gbps, devices: { g: { hourlyCost: 1, perServer: 8, count } } },
    stages: [
      { name: 'a', profile: 'a.json', next: ['b'], ...(replicas && { replicas: replicas[0] }) },
      { name: 'b', profile: 'b.json', ...(replicas && { replicas: replicas[1] }) },
    ],
    sloMs,
    load: { arrivals: 'poisson', rps, duration: '10s' },
    planner: { method, draws: 2 },
  };
  const path = join(folder, `${name}.spec.json`);
  await writeFile(path, JSON.stringify(spec));
  return path;
}

/** busiestUplink adds up, by server, how long uplinks are busy per second of a load of a → b. */
function busiestUplink({ placement, stages }: PipelinePlan, rps: number): number {
  const replicas = stages.find(({ name }) => name === 'a')?.replicas as number;
  const busy = new Map<string, number>();
  for (const { server, stages: on } of placement)
    if (on.includes('a')) busy.set(server, (busy.get(server) ?? 0) + (rps * 0.0048) / replicas);
  return Math.max(...busy.values());
}

describe('a pipeline whose servers send much', () => {
  inWholeRun('is placed so that its uplinks suffice, and is served as its plan says', async () => {
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

  inWholeRun('has figures of the sample over links, where batches wait for them', async () => {
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

  inWholeRun('has no plan where the uplinks of all servers are too few, whatever is chosen', async () => {
    const { outcome } = await solved('scarce', { count: 8, rps: 260 });
    if (outcome.outcome !== 'infeasible') throw new Error(outcome.outcome);
    expect(outcome.reasons.join()).toContain('the uplinks of the servers of g have too little time');
  });

  inWholeRun(
    'has no plan that was found where one uplink is nearly busy, with the name of that uplink and what helps',
    async () => {
      const near = { count: 8, rps: 203 };
      const { outcome } = await solved('near', near);
      if (outcome.outcome !== 'no-plan-in-time') throw new Error(outcome.outcome);
      const [reason] = outcome.document.reasons;
      expect(reason).toMatchObject({ code: 'links-too-busy', class: 'g', stages: ['a'], rps: 203 });
      expect(reason?.busyShare).toBeCloseTo(203 * 0.0048, 9);
      expect('advice' in outcome && outcome.advice).toBe(reason?.text);
      expect(reason?.text).toContain(
        'the uplink of g-0 (class g), which sends for a, would be busy for 97.4 %',
      );
      expect(reason?.text).toContain(
        'more servers of g, faster links (linkGbps, networkGbps) or a longer SLO',
      );
      // Each of these helps indeed.
      const changes = { count: { count: 16 }, ...whole({}, { gbps: { gbps: 2 }, slo: { sloMs: 400 } }) };
      for (const [name, change] of Object.entries(changes))
        expect((await solved(`near-${name}`, { ...near, ...change })).outcome.outcome).toBe('pipeline-plan');
    },
  );

  inWholeRun('says what ended its search, where something did', async () => {
    const near = { count: 8, rps: 203 };
    const limitOf = async (name: string, limits: Partial<Shape>) => {
      const { outcome } = await solved(name, { ...near, ...limits });
      if (outcome.outcome !== 'no-plan-in-time') throw new Error(outcome.outcome);
      return outcome.document.limit;
    };
    expect(await limitOf('whole', {})).toBeUndefined();
    expect(await limitOf('late', { timeLimit: 1e-9 })).toBe('time');
    expect(await limitOf('idle', { work: 1 })).toBe('work');
    // Over idle links no replicas that are fixed are fast enough, and with waiting that proves nothing.
    const { outcome } = await solved('open', { count: 8, rps: 120, sloMs: 80, replicas: [1, 2] });
    if (outcome.outcome !== 'no-plan-in-time') throw new Error(outcome.outcome);
    expect(outcome.document.limit).toBeUndefined();
    expect(outcome.document.reasons[0]?.text).toContain('within 80 ms even over idle links');
  });

  inWholeRun('is told an SLO that can be met, unless finding it takes more than a search may', async () => {
    const tight = { count: 16, rps: 230, sloMs: 15 };
    const told = async (name: string, work: number) => {
      const { outcome } = await solved(name, { ...tight, work });
      if (outcome.outcome !== 'infeasible') throw new Error(outcome.outcome);
      return outcome.document.models[0]?.smallestFeasibleSloMs;
    };
    const sloMs = await told('tight', 20_000);
    expect(sloMs).toBeGreaterThan(24.8);
    expect((await solved('as-told', { ...tight, sloMs: sloMs as number })).outcome.outcome).toBe(
      'pipeline-plan',
    );
    expect(await told('tight-short', 400)).toBeUndefined();
  });

  inWholeRun(
    'gets the advice to take more servers only where what sends could be on more of them',
    async () => {
      const advice = async (name: string, replicas: readonly [number, number]) => {
        const { outcome } = await solved(name, { count: 8, rps: 115, gbps: 0.6, replicas });
        if (outcome.outcome !== 'no-plan-in-time') throw new Error(outcome.outcome);
        return outcome.document.reasons[0]?.text;
      };
      // A second replica on another server sends half.
      expect(await advice('two', [2, 2])).toContain('more servers of g, faster links');
      const one = await advice('one-fixed', [1, 2]);
      expect(one).toContain('faster links (linkGbps, networkGbps) or a longer SLO');
      expect(one).not.toContain('more servers');
    },
  );

  inWholeRun('has the same reason where it is compared, or planned together with another', async () => {
    const near = await written('near', { count: 8, rps: 203 });
    const other = await written('other', { title: 'q', count: 8, rps: 20 });
    const found = await solveSpec(near, { work: 2000 });
    const { document } = await compareSpec(near, { mixes: ['g=8'], work: 2000 });
    const reasons = found.outcome === 'no-plan-in-time' ? found.document.reasons : [];
    expect(reasons[0]?.code).toBe('links-too-busy');
    expect(document.rows[0]).toMatchObject({
      status: 'no-plan-in-time',
      reasons: reasons.map(({ text }) => text),
    });
    const together = await solveTogether([near, other], { work: 2000 });
    if (together.outcome !== 'no-plan-in-time') throw new Error(together.outcome);
    expect(together.document.reasons).toEqual(
      reasons.map((one) => ({ ...one, model: 'p', text: `p: ${one.text}` })),
    );
    const late = await solveTogether([near, other], { timeLimit: 1e-9 });
    expect(late.document).toMatchObject({ status: 'no-plan-in-time', limit: 'time' });
    const { document: cut } = await compareSpec(near, { mixes: ['g=8'], timeLimit: 1e-9 });
    expect(cut.rows[0]?.reasons?.[0]).toMatch(/ or a longer search would help$/);
  });

  it('is explained with links: what a replica more gives is what its plan is simulated with', async () => {
    const asked = { count: 8, rps: 200 };
    const { outcome, output } = await solved('explained', { ...asked, explain: true });
    if (outcome.outcome !== 'pipeline-plan') throw new Error(outcome.outcome);
    const { stages = [] } = outcome.explanation ?? {};
    const { plan } = outcome;
    expect(stages.map(({ stage }) => stage)).toEqual(['a', 'b']);
    // The same plan with a replica more, whose stages are fixed, in the simulator.
    const spec = JSON.parse(await readFile(join(folder, 'explained.spec.json'), 'utf8'));
    for (const [k, stage] of plan.stages.entries()) {
      const { device, batch, replicas } = stage;
      Object.assign(spec.stages[k], { device, batch, replicas: k === 0 ? replicas + 1 : replicas });
    }
    const path = join(folder, 'more.spec.json');
    const serving = { scheduler: 'inferline' };
    await writeFile(path, JSON.stringify({ ...spec, serving, planner: { method: 'given' } }));
    const more = await solveSpec(path, { output: `${output}.more` });
    if (more.outcome !== 'pipeline-plan') throw new Error(JSON.stringify(more.document));
    const runs = [1, 2].map((seed) => simulatePlan(`${output}.more`, { seed, duration: 10, rps: ['200'] }));
    const shares = (await Promise.all(runs)).map(({ report }) => report.overall.attainment as number);
    expect(Math.min(...shares)).toBeLessThan(1);
    expect(stages[0]?.oneMore[0]).toBeCloseTo(Math.min(...shares), 9);
  });

  it.each(['inferline', 'exact'])(
    'is optimal by %s only where its cost is a bound that is counted',
    async (method) => {
      const { outcome } = await solved(`counted-${method}`, { count: 8, rps: 170, method });
      if (outcome.outcome !== 'pipeline-plan') throw new Error(outcome.outcome);
      const { objective, status } = outcome.plan;
      // a and b need ⌈170·5.5 ms⌉ = 1 device each in full batches, and what the SLO leaves counts a third.
      expect(objective?.bound).toBeLessThanOrEqual(3);
      expect(status).toBe(objective?.value === objective?.bound ? 'optimal' : 'feasible');
    },
  );
});
