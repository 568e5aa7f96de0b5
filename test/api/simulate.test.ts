import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type SimulateOptions, simulatePlan, sweepPlan, validateFiles } from '../../src/api/index.js';
import { loadArtifact } from '../../src/artifacts/index.js';
import {
  InputError,
  MissingError,
  type PlannedPartition,
  type PooledPlan,
  type Profile,
  type SimulatedRequests,
  type SimulationReport,
  sha256Of,
} from '../../src/formats/index.js';
import { JobPool } from '../../src/jobs/index.js';
import { topologyOf } from '../../src/plans/index.js';
import type { Topology } from '../../src/serving/index.js';
import { simulationReport } from '../../src/simulation/document.js';
import { executionOf } from '../../src/simulation/execution.js';
import { windowFaults } from '../../src/simulation/length-faults.js';
// In this thread, a run can be interrupted at a known request.
import { runSimulation } from '../../src/simulation/run.js';
import { prepareSimulation } from '../../src/simulation/setup.js';
import { solveSpec } from '../../src/specs/index.js';
import { inWholeRun, whole } from '../cases.js';
import { affine, planOf } from '../serving/plans.js';

const EXAMPLE = new URL('../../examples/pooled/expected-plan.json', import.meta.url).pathname;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-simulate-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let written = 0;
async function planFile(plan: PooledPlan): Promise<string> {
  const path = join(folder, `plan-${written++}.json`);
  await writeFile(path, JSON.stringify(plan));
  return path;
}

async function traceFile(text: string): Promise<string> {
  const path = join(folder, `trace-${written++}.csv`);
  await writeFile(path, text);
  return path;
}

/** SINGLE has one model on one device at batch 1. A request takes 4 ms, and the SLO is 20 ms. */
const SINGLE = planOf([
  { sloMs: 20, pipelines: [{ throughputRps: 250, parts: [{ batch: 1, latencyUs: affine(4000, 0) }] }] },
]);

/** PAIR has two models of weights 1 and 3. The first has two stages and a link between them. */
const PAIR = (() => {
  const plan = planOf(
    [
      {
        sloMs: 60,
        pipelines: [
          {
            throughputRps: 400,
            parts: [
              { batch: 4, virtualGpus: 2, latencyUs: affine(4000, 1000), transferBytes: 200_000 },
              { batch: 4, virtualGpus: 2, latencyUs: affine(5000, 1200), device: 'fast' },
            ],
          },
        ],
      },
      {
        sloMs: 30,
        pipelines: [
          { throughputRps: 150, parts: [{ batch: 2, virtualGpus: 1, latencyUs: affine(6000, 3000) }] },
        ],
      },
    ],
    10,
  );
  (plan.models[1] as { weight: number }).weight = 3;
  Object.assign(plan.objective, { value: 50, bound: 50 });
  return plan;
})();

function lasting(options: SimulateOptions): SimulateOptions {
  return { duration: options.phases === undefined ? 5 : undefined, ...options };
}

/** simulated gives the report of a run as simulatePlan() does, but in this thread: starting one takes longer than most runs. */
async function simulated(plan: PooledPlan, options: SimulateOptions = {}): Promise<SimulationReport> {
  const { windows } = options;
  const { setup, inputs } = await prepareSimulation(await planFile(plan), lasting(options), {
    check: (checked, workload) => windowFaults(checked, workload, windows),
  });
  const run = await runSimulation(setup, windows === undefined ? {} : { windowNs: windows * 1e9 });
  return simulationReport(setup, run, { windowS: windows, inputs: inputs(undefined) });
}

function outcomes({ inTime, late, dropped, failed }: SimulatedRequests): number {
  return inTime + late + dropped + failed;
}

describe('simulatePlan()', () => {
  inWholeRun('writes a valid report from the plan alone, in which every request has an outcome', async () => {
    const output = join(folder, 'report.json');
    const { report, warnings } = await simulatePlan(EXAMPLE, { output });
    expect(warnings).toEqual([]);
    const saved = await loadArtifact(output, ['simulation-report']);
    expect(saved.value).toEqual(report);
    expect(saved.value.inputs?.map(({ role, path }) => [role, join(folder, path)])).toEqual([
      ['plan', EXAMPLE],
    ]);
    const [checked] = await validateFiles([output]);
    expect(checked).toMatchObject({ ok: true, what: expect.stringContaining('seed 0') });
    for (const requests of [report.overall, ...report.models.map((model) => model.requests)]) {
      expect(outcomes(requests)).toBe(requests.arrived);
      const { latencyMs, splitMs } = requests;
      const parts = [splitMs?.queueing, splitMs?.transfer, splitMs?.compute].map(
        (part) => part?.mean as number,
      );
      expect(parts.reduce((sum, part) => sum + part, 0)).toBeCloseTo(latencyMs?.mean as number, 6);
    }
    expect(report.workload).toMatchObject({ arrivals: 'poisson', durationS: 30 });
    for (const { loadFactor, rps, name } of report.workload.models) {
      expect(loadFactor).toBeCloseTo(0.9, 12);
      const found = report.models.find((model) => model.name === name)?.requests.offeredRps as number;
      expect(Math.abs(found - rps)).toBeLessThan(4 * Math.sqrt(rps / 30));
    }
  });

  it('gives the same bytes for the same seed, and other bytes for another seed', async () => {
    const path = await planFile(PAIR);
    const files = await Promise.all(
      [3, 3, 4].map(async (seed, i) => {
        const output = join(folder, `same-${i}.json`);
        const timeline = join(folder, `same-${i}.trace.json`);
        await simulatePlan(path, { seed, duration: whole(2, 5), jitter: 0.2, windows: 1, output, timeline });
        return [await readFile(output, 'utf8'), await readFile(timeline, 'utf8')];
      }),
    );
    expect(files[0]).toEqual(files[1]);
    expect(files[2]?.[0]).not.toBe(files[0]?.[0]);
  });

  it('gives figures that can be computed by hand for evenly spaced requests on one device', async () => {
    const { overall, classes, pools, percentileError } = await simulated(SINGLE, {
      arrivals: 'uniform',
      load: 0.5,
      exact: true,
    });
    expect(percentileError).toBe(0);
    expect(overall).toMatchObject({ arrived: 625, inTime: 625, attainment: 1, dropRate: 0, invalidRate: 0 });
    expect(overall.goodputRps).toBe(125);
    expect(overall.latencyMs).toEqual({ count: 625, mean: 4, p50: 4, p90: 4, p95: 4, p99: 4, max: 4 });
    expect([
      overall.splitMs?.queueing.max,
      overall.splitMs?.transfer.max,
      overall.splitMs?.compute.p50,
    ]).toEqual([0, 0, 4]);
    expect(classes.cpu?.utilisation).toBeCloseTo(0.5, 12);
    expect(pools[0]).toMatchObject({ batches: 625, sizes: [625], meanBatch: 1 });
  });

  it('offers loads by factor, by total rate and weight, and by model', async () => {
    const rates = async (options: SimulateOptions) =>
      (await simulated(PAIR, options)).workload.models.map(({ rps }) => rps);
    expect(await rates({ load: 0.5 })).toEqual([200, 75]);
    expect(await rates({ rps: ['80'] })).toEqual([20, 60]);
    expect(await rates({ rps: ['m1=70'] })).toEqual([0, 70]);
  });

  it('warns of a model without requests, of which it says nothing', async () => {
    const quiet = async (options: SimulateOptions) =>
      (await simulatePlan(EXAMPLE, { duration: 1, ...options })).warnings;
    const said = ', so nothing is said of it, whatever attainment is asked for';
    expect(await quiet({ rps: ['detector=50'] })).toEqual([`segmenter gets no requests${said}`]);
    expect(await quiet({ rps: ['detector=50'], runs: 2 })).toEqual([
      `segmenter gets no requests in one run or more${said}`,
    ]);
    expect(await quiet({ rps: ['detector=50', 'segmenter=50'] })).toEqual([]);
    expect(await quiet({ rps: ['100'], runs: 2 })).toEqual([]);
  });

  it('changes load and mix from phase to phase, over a transition', async () => {
    const phases = ['40s,m0=100,m1=40', '40s,m0=20,m1=80,over=20s', '20s,load=0', '20s,rps=120'];
    const options = { phases, windows: 20 };
    const { workload, windows, models } = await simulated(PAIR, options);
    // These are means over 140 s: 40 s at one rate, 20 s of transition, 40 s at the next, 20 s without arrivals, and 20
    // s with shares of a quarter and three quarters.
    const mean = [4000 + 1200 + 800 + 600, 1600 + 1200 + 3200 + 1800].map((requests) => requests / 140);
    expect(workload).toMatchObject({ arrivals: 'poisson', durationS: 140 });
    expect(workload.phases?.[1]).toEqual({ durationS: 40, transitionS: 20, rps: [20, 80] });
    workload.models.forEach(({ rps }, m) => {
      expect(rps).toBeCloseTo(mean[m] as number, 9);
      expect(Math.abs((models[m]?.requests.arrived as number) - 140 * rps)).toBeLessThan(
        4 * Math.sqrt(140 * rps),
      );
    });
    const arrived = windows?.rows.map((row) => row.arrived) as number[];
    for (const [w, requests] of [2800, 2800, 2400, 2000, 2000, 0, 2400].entries())
      expect(Math.abs((arrived[w] as number) - requests)).toBeLessThanOrEqual(4 * Math.sqrt(requests));
  });

  it('uses the coefficient of variation of each phase, or else the common one', async () => {
    const phases = ['200s,m0=50,cv=0', '200s,m0=50'];
    const options = { phases, arrivals: 'gamma', cv: 3, windows: 1 } as const;
    const { workload, windows } = await simulated(PAIR, options);
    expect(workload.phases?.map(({ cv }) => cv)).toEqual([0, 3]);
    const arrived = windows?.rows.map((row) => row.arrived) as number[];
    expect(Math.max(...arrived.slice(0, 199)) - Math.min(...arrived.slice(0, 199))).toBeLessThanOrEqual(1);
    const variance = arrived.slice(200).reduce((sum, n) => sum + (n - 50) ** 2, 0) / 200;
    // The variance of the count of a renewal process is about cv² times its mean.
    expect(variance / 50).toBeGreaterThan(5);
  });

  it('slows executions, and varies them by the given coefficient of variation', async () => {
    const alone = { arrivals: 'uniform', load: 0.1, exact: true, duration: 80 } as const;
    const { overall, execution } = await simulated(SINGLE, { ...alone, slow: 1.1 });
    expect(overall.latencyMs?.mean).toBeCloseTo(4.4, 9);
    expect(execution).toEqual({ slow: 1.1, jitter: 'none' });
    const spread = await simulated(SINGLE, { ...alone, jitter: 0.3 });
    expect(spread.execution).toEqual({ slow: 1, jitter: 'cv', cv: 0.3 });
    const compute = spread.overall.splitMs?.compute;
    // The 2000 draws are log-normal with mean 4 ms and cv 0.3.
    expect(compute?.mean).toBeCloseTo(4, 1);
    const deviation = Math.sqrt(Math.log(1.09));
    expect((compute?.p95 as number) / (compute?.p50 as number)).toBeCloseTo(Math.exp(1.6449 * deviation), 1);
  });

  it('draws the same numbers for a model when another model comes before it', () => {
    const both = topologyOf(PAIR);
    const alone = topologyOf({
      ...PAIR,
      models: PAIR.models.slice(1),
      placement: PAIR.placement.filter(({ model }) => model === 1).map((slot) => ({ ...slot, model: 0 })),
    });
    const jitter = { slow: 1, jitter: { kind: 'cv', cv: 0.3 } } as const;
    const drawn = (topology: Topology, pool: number) => {
      const execution = executionOf(jitter, topology, 5);
      return Array.from({ length: 9 }, () => execution?.(pool, 1, 1e6));
    };
    expect(drawn(alone, 0)).toEqual(drawn(both, 2));
    expect(drawn(alone, 0)).not.toEqual(drawn(both, 0));
  });

  it('runs the scheduler that the plan names, with its choices, unless another is asked for', async () => {
    const serving = { scheduler: 'fifo', policy: { drop: 'hopeless' } };
    const planned = { ...PAIR, serving };
    expect((await simulated(planned)).scheduler).toMatchObject({
      name: 'fifo',
      policy: { drop: { kind: 'hopeless' } },
    });
    expect((await simulated(planned, { scheduler: 'reservation' })).scheduler.name).toBe('reservation');
    expect((await simulated(PAIR)).scheduler.name).toBe('stage-local');
    const report = await simulated(planned, { policy: ['order=deadline'] });
    const same = await simulated(PAIR, {
      scheduler: 'fifo',
      policy: ['drop=hopeless', 'order=deadline'],
    });
    expect(report.overall).toEqual(same.overall);
    const wrong = { ...PAIR, serving: { scheduler: 'best' } };
    await expect(simulated(wrong)).rejects.toThrow(/\/serving\/scheduler: is "best"; valid values are/);
  });

  it('refuses a plan in which a GPU holds more than it has', async () => {
    const { value } = await loadArtifact(EXAMPLE, ['pooled-plan']);
    const [first, second, ...others] = value.placement.filter(({ class: name }) => name === 'P4');
    const crowded = { ...second!, server: first!.server, gpu: first!.gpu };
    const rest = value.placement.filter(({ class: name }) => name !== 'P4');
    await expect(simulated({ ...value, placement: [...rest, first!, crowded, ...others] })).rejects.toThrow(
      "GPU P4-0/0 holds 2 GPUs' worth",
    );
  });

  inWholeRun('runs every scheduler, and reports all its choices', async () => {
    const names = ['reservation', 'reactive', 'stage-local', 'fifo', 'inferline'];
    const policies = await Promise.all(
      names.map(async (scheduler) => {
        const report = await simulated(PAIR, { scheduler });
        expect(outcomes(report.overall)).toBe(report.overall.arrived);
        expect(report.overall.attainment).toBeGreaterThan(0.5);
        return report.scheduler;
      }),
    );
    expect(policies.map(({ name }) => name)).toEqual(names);
    for (const i of [3, 4])
      expect(policies[i]?.policy).toMatchObject({ order: { kind: 'fifo' }, drop: { kind: 'never' } });
    const all = await simulated(PAIR, { policy: ['correction.weight=1'] });
    expect(all.scheduler.policy).toMatchObject({ correction: { kind: 'average', weight: 1 } });
    const chosen = await simulated(PAIR, {
      scheduler: 'reservation',
      preset: 'published',
      policy: [
        'firstSight.share=0.5',
        'correction=average',
        'correction.weight=0.2',
        'correction.deviations=1',
        'lateSingles=as-others',
        'askOthers=true',
        'wakeStepNs=7',
      ],
    });
    expect(chosen.scheduler).toMatchObject({
      name: 'reservation',
      preset: 'published',
      policy: {
        tables: 'busy-until',
        firstSight: { kind: 'nearly-full', share: 0.5 },
        correction: { kind: 'average', weight: 0.2, deviations: 1 },
        lateSingles: 'as-others',
        askOthers: true,
        wakeStepNs: 7,
      },
    });
    const reactive = await simulated(PAIR, {
      scheduler: 'reactive',
      policy: ['formation.leaves=nothing', 'drop.spares=last-waited', 'drop.share=0.9'],
    });
    expect(reactive.scheduler.policy).toMatchObject({
      placement: 'earliest-free',
      formation: { kind: 'last-moment', leaves: 'nothing', stepNs: 1 },
      drop: { kind: 'queueing', share: 0.9, spares: 'last-waited' },
    });
    // The reactive scheduler is stage-local scheduling with other choices.
    const composed = await simulated(PAIR, {
      scheduler: 'stage-local',
      policy: [
        'placement=earliest-free',
        'formation=last-moment',
        'formation.leaves=nothing',
        'formation.stepNs=1',
        'drop=queueing',
        'drop.share=0.9',
        'drop.spares=last-waited',
        'late=drop',
        'correction=steps',
        'correction.deviations=2',
      ],
    });
    expect(composed.scheduler.policy).toEqual(reactive.scheduler.policy);
    expect(composed.overall).toEqual(reactive.overall);
  });

  it('counts drops with reason and place, and the cost of late and dropped requests', async () => {
    const report = await simulated(PAIR, { load: 3, scheduler: 'stage-local' });
    expect(report.drops.reduce((sum, { count }) => sum + count, 0)).toBe(report.overall.dropped);
    for (const { place, reason } of report.drops) {
      expect(place).toMatch(/^(entry|pipeline0\/partition[01])$/);
      expect(reason).toBe('deadline');
    }
    const fifo = await simulated(PAIR, { load: 3, scheduler: 'fifo' });
    expect(fifo.overall.dropped).toBe(0);
    expect(fifo.overall.invalidRate).toBeGreaterThan(0.5);
    expect(report.overall.invalidRate).toBeLessThan(0.2);
  });

  it('gives windows that add up to the whole run', async () => {
    const { windows, overall, classes } = await simulated(PAIR, { windows: 0.7 });
    expect(windows?.rows.map(({ fromS }) => fromS)).toEqual([0, 0.7, 1.4, 2.1, 2.8, 3.5, 4.2, 4.9]);
    for (const key of ['arrived', 'inTime', 'late', 'dropped', 'failed'] as const)
      expect(windows?.rows.reduce((sum, row) => sum + row[key], 0)).toBe(overall[key]);
    Object.values(classes).forEach(({ utilisation }, i) => {
      const busy = windows?.rows.reduce(
        (sum, row, w) => sum + (row.utilisation[i] as number) * (w === 7 ? 0.1 : 0.7),
        0,
      );
      expect((busy as number) / 5).toBeCloseTo(utilisation, 9);
    });
  });

  it('replays a trace, shared by weight or for one model, unchanged or at another rate', async () => {
    const arrivals = Array.from({ length: 400 }, (_, i) => (i * 0.01).toFixed(2)).join('\r\n');
    const path = await traceFile(`arrival_s\r\n${arrivals}`);
    const shared = await simulated(PAIR, { traces: [path], duration: undefined });
    expect(shared.workload).toMatchObject({ arrivals: 'trace', durationS: 3.990000001 });
    expect(shared.overall.arrived).toBe(400);
    expect((shared.models[1]?.requests.arrived as number) / 400).toBeCloseTo(0.75, 1);
    expect(shared.inputs?.map(({ role }) => role)).toEqual(['plan', 'trace']);
    expect(shared.inputs?.[1]?.sha256).toBe(sha256Of(await readFile(path)));
    const one = await simulated(PAIR, { traces: [`m0=${path}`], duration: 2 });
    const named = structuredClone(PAIR);
    named.models[0]!.name = 'org/net=v2';
    const other = await simulated(named, { traces: [`org/net=v2=${path}`], duration: 2 });
    expect(other.models.map(({ requests }) => requests.arrived)).toEqual([200, 0]);
    expect(one.models.map(({ requests }) => requests.arrived)).toEqual([200, 0]);
    const faster = await simulated(PAIR, { traces: [`m0=${path}`], load: 0.5, duration: undefined });
    expect(faster.overall.offeredRps / 200).toBeCloseTo(1, 2);
    const counts = await traceFile('interval_s,count\n1,50\n2,40\n');
    const placed = await simulated(PAIR, { traces: [counts], arrivals: 'uniform', duration: undefined });
    expect([placed.overall.arrived, placed.workload.durationS, placed.workload.spread]).toEqual([
      90,
      3,
      'uniform',
    ]);
    const each = { traces: [`m0=${path}`, `m1=${counts}`], duration: undefined };
    const apart = await simulated(PAIR, { ...each, arrivals: 'uniform' });
    expect([apart.workload.durationS, apart.overall.arrived]).toEqual([3.990000001, 490]);
    const asked = ({ workload }: SimulationReport) => workload.models.reduce((sum, { rps }) => sum + rps, 0);
    expect(asked(placed)).toBeCloseTo(90 / 3, 9);
    expect(asked(await simulated(PAIR, { traces: [counts], duration: 2 }))).toBeCloseTo(70 / 2, 9);
    expect(asked(shared)).toBeCloseTo(400 / 3.990000001, 9);
    expect(shared.workload.spread).toBeUndefined();
  });

  inWholeRun('warns of the time without arrivals when a trace ends before the duration', async () => {
    const traces = [join(folder, 'short.csv')];
    await writeFile(traces[0]!, 'arrival_s\n0.5\n0.6\n0.7\n0.8\n1.5\n');
    const { warnings } = await simulatePlan(EXAMPLE, { traces, duration: 4 });
    expect(warnings).toEqual([expect.stringContaining('nothing arrives in the last 2.50 s of 4 s')]);
    expect((await simulatePlan(EXAMPLE, { traces })).warnings).toEqual([]);
    expect((await simulatePlan(EXAMPLE, { traces, duration: 1 })).warnings).toEqual([]);
  });

  it('replays a trace from a pipe, which can be read only once, and reports its digest', async () => {
    const text = 'arrival_s\n0.5\n1.5\n';
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const fed = writeFile(pipe, text);
    const { overall, inputs } = await simulated(PAIR, { traces: [pipe] });
    await fed;
    expect(overall.arrived).toBe(2);
    expect(inputs?.[1]?.sha256).toBe(sha256Of(text));
  });

  it('serves the requests that have arrived when it is interrupted, and the report says so', async () => {
    const { setup } = await prepareSimulation(await planFile(PAIR), { duration: 1000, load: 0.8 });
    let asked = 0;
    const run = await runSimulation(setup, { windowNs: 1e9 }, { interrupted: () => ++asked === 3 });
    const { overall, windows } = run.figures;
    expect(run.complete).toBe(false);
    expect(overall.arrived).toBe(3 * 4096 - 1);
    expect(overall.inTime + overall.late + overall.dropped).toBe(overall.arrived);
    expect(overall.offeredRps / 440).toBeCloseTo(1, 1);
    expect(windows?.length).toBe(Math.ceil(overall.arrived / overall.offeredRps));
  });

  it('is reported without a thread where it is interrupted before it begins, as a busy machine starts none soon enough', async () => {
    const runsOnThreads = vi.spyOn(JobPool.prototype, 'run');
    const plan = await planFile(PAIR);
    const { report } = await simulatePlan(plan, { duration: 1000, signal: AbortSignal.abort() });
    expect(report.complete).toBe(false);
    expect(report.overall.arrived).toBeLessThan(4096);
    expect(runsOnThreads).not.toHaveBeenCalled();
    runsOnThreads.mockRestore();
  });

  it('counts no device time after it is interrupted, so that no utilisation exceeds 1', async () => {
    const options = { duration: 1000, load: 3, scheduler: 'fifo' };
    const { setup } = await prepareSimulation(await planFile(PAIR), options);
    let asked = 0;
    const run = await runSimulation(setup, { windowNs: 1e9 }, { interrupted: () => ++asked === 2 });
    const { classes, pools, links, windows } = run.figures;
    const busy = [
      ...classes.map(({ utilisation }) => utilisation),
      ...pools.map(({ utilisation }) => utilisation),
      ...(windows ?? []).flatMap(({ utilisation }) => utilisation),
      links.uplink.busiest,
    ];
    expect(Math.max(...busy)).toBeLessThanOrEqual(1 + 1e-12);
    expect(Math.max(...classes.map(({ utilisation }) => utilisation))).toBeGreaterThan(0.99);
  });
});

/** planWithProfile writes a plan that names its profile, as the example does. The profile's spread differs by batch. */
async function planWithProfile(): Promise<{ plan: string; profile: string; value: PooledPlan }> {
  const blocks = (us: number) => [us, us / 2];
  const profile: Profile = {
    kind: 'profile',
    version: '1.0',
    model: { name: 'm0' },
    blocks: [{ cutBytes: 10 }, { cutBytes: 0 }],
    devices: {
      cpu: {
        blockLatencyUs: { 1: { 1: blocks(2000), 2: blocks(3000), 4: blocks(4000) } },
        blockLatencyP95Us: { 1: { 1: blocks(3000), 4: blocks(8000) } },
      },
    },
  };
  const name = `profile-${written++}.json`;
  const text = JSON.stringify(profile);
  await writeFile(join(folder, name), text);
  const value = planOf([
    {
      sloMs: 50,
      pipelines: [
        {
          throughputRps: 400,
          parts: [{ batch: 4, virtualGpus: 1, latencyUs: (b) => [3000, 4500, null, 6000][b - 1] ?? null }],
        },
      ],
    },
  ]);
  value.models[0]!.pipelines[0]!.partitions[0]!.blocks = [0, 2];
  value.models[0]!.blocks = 2;
  value.inputs = [{ role: 'profile', path: name, sha256: sha256Of(text) }];
  return { plan: await planFile(value), profile: join(folder, name), value };
}

describe('simulatePlan() with the spread of the profile', () => {
  inWholeRun('draws the planned median and the profiled 95th percentile of each batch', async () => {
    const { plan } = await planWithProfile();
    const { report } = await simulatePlan(plan, {
      scheduler: 'stage-local',
      jitter: 'profile',
      load: 0.05,
      duration: 400,
      exact: true,
    });
    expect(report.execution).toEqual({ slow: 1, jitter: 'profile' });
    expect(report.inputs?.map(({ role }) => role)).toEqual(['plan', 'profile']);
    const compute = report.overall.splitMs?.compute;
    const alone = (report.pools[0]?.sizes[0] as number) / (report.pools[0]?.batches as number);
    expect(alone).toBeGreaterThan(0.9);
    expect((compute?.p50 as number) / 3).toBeCloseTo(1, 1);
    expect((compute?.p95 as number) / 4.5).toBeCloseTo(1, 1);
  });

  it('uses the spread of the next larger batch for a batch that was not measured', async () => {
    const { plan } = await planWithProfile();
    const { setup } = await prepareSimulation(plan, { jitter: 'profile' });
    const { jitter } = setup.execution;
    if (jitter?.kind !== 'profile') throw new Error('no spread was read');
    const deviation = (ratio: number) => Math.log(ratio) / 1.6448536;
    const [alone, ...more] = Array.from(jitter.deviations[0] as Float64Array);
    expect(alone).toBeCloseTo(deviation(1.5), 6);
    expect(more).toHaveLength(3);
    for (const found of more) expect(found).toBeCloseTo(deviation(2), 6);
  });

  it('accepts a plan whose profile is missing, but not one whose profile has changed', async () => {
    const { plan, profile } = await planWithProfile();
    await writeFile(profile, `${await readFile(profile, 'utf8')}\n`);
    await expect(simulatePlan(plan, { duration: 1 })).rejects.toMatchObject({
      name: 'CheckFailedError',
      message: expect.stringMatching(/is not the profile the plan was made from: its digest is/),
      checks: [{ what: 'inputs', held: false }],
    });
    // What is wrong besides is told with it, and is what the person has to mend first.
    await expect(simulatePlan(plan, { duration: -1 })).rejects.toMatchObject({
      name: 'InputError',
      message: expect.stringMatching(/duration[\s\S]*is not the profile the plan was made from/),
    });
    await rm(profile);
    expect((await simulatePlan(plan, { duration: 1 })).report.complete).toBe(true);
    await expect(simulatePlan(plan, { jitter: 'profile' })).rejects.toThrow(MissingError);
  });

  it('refuses a plan that contradicts its profile in latencies, blocks, classes or bytes', async () => {
    const { value } = await planWithProfile();
    const refusal = async (
      change: (part: PooledPlan['models'][0]['pipelines'][0]['partitions'][0]) => void,
    ) => {
      const changed = structuredClone(value);
      change(changed.models[0]!.pipelines[0]!.partitions[0]!);
      const refused = simulatePlan(await planFile(changed), { duration: 1 });
      return refused.catch(({ faults: [first] }: InputError) =>
        `${first?.path}: ${first?.message}`.replace(/^.*partitions\/0/, ''),
      );
    };
    expect(await refusal((part) => part.latencyUsByBatch.splice(1, 1, 4400))).toMatch(
      /^\/latencyUsByBatch\/1: is 4400 µs, but in its profile .*profile-\d+.json 4500 µs: solve again$/,
    );
    expect(await refusal((part) => part.latencyUsByBatch.splice(2, 1, 5000))).toContain(
      '/latencyUsByBatch/2: is 5000 µs, but in its profile',
    );
    expect(await refusal((part) => part.latencyUsByBatch.splice(0, 1, null))).toContain(
      '0: was not measured, but in',
    );
    expect(await refusal((part) => Object.assign(part, { blocks: [0, 3] }))).toMatch(
      /^\/blocks: ends at block 3, but in its profile .* there are 2/,
    );
    expect(await refusal((part) => Object.assign(part, { transferBytes: 10 }))).toContain(
      '/transferBytes: is 10',
    );
    expect(await refusal((part) => delete part.blocks)).toContain('has neither blocks nor layers');
    const more = structuredClone(value);
    more.inputs![0]!.sha256 = '0'.repeat(64);
    more.models[0]!.pipelines[0]!.partitions[0]!.latencyUsByBatch[0] = 1;
    const both = await simulatePlan(await planFile(more)).catch((error: InputError) => error.faults);
    expect(both).toMatchObject([
      { message: expect.stringContaining('is not the profile the plan was made') },
    ]);
  });

  it('checks a plan of layers against profiled layers, whether measured or derived from blocks', async () => {
    const layered: Profile = {
      kind: 'profile',
      version: '1.0',
      model: { name: 'm0' },
      layers: [
        { name: 'a', op: 'Add', cutBytes: 9e7 },
        { name: 'b', op: 'Add', cutBytes: 50 },
        { name: 'c', op: 'Add', cutBytes: 0 },
      ],
      blocks: [
        { nodes: ['a'], cutBytes: 9e7 },
        { nodes: ['b', 'c'], cutBytes: 0 },
      ],
      devices: {
        cpu: {
          blockLatencyUs: { 1: { 1: [1000, 3000], 2: [1500, 4500] } },
          layerLatencyUs: { 1: { 1: [1000, 1800, 1200] } },
        },
        gpu: {
          blockLatencyUs: { 1: { 1: [40_000, 1000], 2: [60_000, 1200] } },
          layerLatencyUs: { 1: { 1: [40_000, 600, 400], 2: [60_000, 700, 500] } },
        },
      },
    };
    await writeFile(join(folder, 'layered.json'), JSON.stringify(layered));
    const spec = join(folder, 'layered.yaml');
    const devices = '{cpu: {count: 4}, gpu: {count: 2}}';
    await writeFile(
      spec,
      `kind: pooled\nversion: "1.0"\ncluster: {devices: ${devices}, networkGbps: 10}
models: [{profile: layered.json, sloMs: 30}]\nplanner: {granularity: layer}\n`,
    );
    const path = join(folder, 'layered-plan.json');
    const solved = await solveSpec(spec, { output: path });
    if (solved.outcome !== 'plan') throw new Error(solved.outcome);
    expect((await simulatePlan(path, { duration: 1 })).report.complete).toBe(true);
    const { plan } = solved;
    const cut = plan.models[0]!.pipelines.findIndex(({ partitions }) => partitions.length > 1);
    const told = async (change: (part: PlannedPartition) => void) => {
      const changed = structuredClone(plan);
      change(changed.models[0]!.pipelines[cut]!.partitions[0]!);
      const refused = simulatePlan(await planFile(changed), { duration: 1 });
      return refused.catch((error: InputError) =>
        error.faults.map(({ path, message }) => `${path} ${message}`),
      );
    };
    expect(await told((part) => Object.assign(part, { transferBytes: 51 }))).toContainEqual(
      expect.stringMatching(
        /partitions\/0\/transferBytes is 51, but in its profile .*layered.json 50: solve again/,
      ),
    );
    expect(await told((part) => Object.assign(part, { layers: [0, 4] }))).toContainEqual(
      expect.stringMatching(/layers ends at layer 4, but in its profile .*layered.json there are 3/),
    );
    expect(await told((part) => part.latencyUsByBatch.splice(1, 1, 3))).toContainEqual(
      expect.stringMatching(/latencyUsByBatch\/1 is 3 µs, but in its profile .* (4200|2700) µs/),
    );
  });

  it('names the cells whose spread the profile lacks', async () => {
    const { profile, value } = await planWithProfile();
    const known = JSON.parse(await readFile(profile, 'utf8')) as Profile;
    const { blockLatencyP95Us: _, ...bare } = known.devices.cpu!;
    const text = JSON.stringify({ ...known, devices: { cpu: bare } });
    await writeFile(profile, text);
    value.inputs![0]!.sha256 = sha256Of(text);
    await expect(simulatePlan(await planFile(value), { jitter: 'profile' })).rejects.toThrow(
      /blockLatencyP95Us\/1: has no spread at batch 4/,
    );
  });
});

describe('simulatePlan() with a policy file', () => {
  const policyFile = async (text: string) => {
    const path = join(folder, `policy-${written++}.yaml`);
    await writeFile(path, `kind: policy\n${text}`);
    return path;
  };

  inWholeRun(
    'runs what the file says, as if by single choices, and names the file among the inputs',
    async () => {
      const plan = await planFile(PAIR);
      const path = await policyFile('scheduler: fifo\ndrop: { kind: full-batch, share: 0.5 }\nslackNs: 7\n');
      const { report } = await simulatePlan(plan, lasting({ policy: [path] }));
      const policy = ['drop=full-batch', 'drop.share=0.5', 'slackNs=7'];
      const { report: single } = await simulatePlan(plan, lasting({ scheduler: 'fifo', policy }));
      expect({ ...report, inputs: [] }).toEqual({ ...single, inputs: [] });
      expect(report.inputs?.map(({ role }) => role)).toEqual(['plan', 'policy']);
      expect(report.inputs?.[1]?.sha256).toBe(sha256Of(await readFile(path)));
      const sweep = await sweepPlan(plan, { policy: [path], duration: 1, sweep: 'load=0.5..1:2' });
      expect(sweep.scheduler).toEqual(report.scheduler);
      expect(await validateFiles([path])).toEqual([
        { path, ok: true, what: 'policy of fifo: drop, slackNs' },
      ]);
    },
  );

  it('refuses its faults with those of the options, and pools that the plan lacks', async () => {
    const plan = await planFile(PAIR);
    const wrong = simulatePlan(
      plan,
      lasting({ policy: [await policyFile('drop: nevr\n'), 'x=1'], load: -1 }),
    );
    await expect(wrong).rejects.toThrow(/\/drop: is "nevr"[\s\S]*there is no x;[\s\S]*`load`: is -1/);
    const pool = await policyFile('scaling: { schedule: [{ atS: 1, pool: a, devices: 1 }] }\n');
    await expect(simulatePlan(plan, lasting({ policy: [pool] }))).rejects.toThrow(
      'there is no a; there are m0/pipeline0/partition0, m0/pipeline0/partition1, m1/pipeline0/partition0',
    );
    const output = await policyFile('');
    await expect(simulatePlan(plan, lasting({ policy: [output], output }))).rejects.toThrow('the policy');
  });
});

describe('simulatePlan() refuses', () => {
  it('faulty options, all at once, and writes nothing', async () => {
    const output = join(folder, 'refused.json');
    const bad = await traceFile('arrival_s\n0.2\n-1\nnan\n\n0.1\n');
    const refused = simulatePlan(await planFile(PAIR), {
      scheduler: 'stage-local',
      policy: ['drop=sometimes', 'slackNs=-3', 'drop.size=2', 'formation=last-moment', 'nothing=1', 'x'],
      rps: ['m7=3', 'm0=0'],
      load: 2,
      cv: 2,
      traces: [bad],
      output,
      timeline: output,
    });
    const error = await refused.then(
      () => undefined,
      (reason: unknown) => reason as InputError,
    );
    expect(error).toBeInstanceOf(InputError);
    for (const said of [
      'there is no sometimes; there are never, expired, hopeless, gear, timed-out, full-batch',
      'is -3; it must be at least 0',
      'drop=full-batch takes share',
      'formation.leaves=… and formation.stepNs=… is needed',
      'there is no nothing; there are order,',
      'is not key=value',
      'the plan has no model "m7"; it has m0, m1',
      '`rps` "m0=0": is not a rate above 0',
      'is given with `load`; give one',
      '`cv`: is for `arrivals` gamma',
      'line 3: arrival_s is "-1"; it must not be negative',
      'line 4: arrival_s is "nan"',
      'line 5: it is empty',
    ])
      expect(error?.message).toContain(said);
    expect(await readdir(folder)).not.toContain('refused.json');
  });

  it.each<[string, SimulateOptions, RegExp]>([
    [
      'an unknown scheduler',
      { scheduler: 'best' },
      /"best"; valid values are reservation, reactive, stage-local, fifo, inferline/,
    ],
    [
      'a preset that is not there',
      { scheduler: 'fifo', preset: 'published' },
      /the scheduler fifo has no presets; reservation and reactive have/,
    ],
    ['a name every object has', { scheduler: 'constructor' }, /valid values are/],
    [
      'a preset every object has',
      { scheduler: 'reservation', preset: 'constructor' },
      /the scheduler reservation has published/,
    ],
    ['gamma without its variation', { arrivals: 'gamma' }, /needs `cv`/],
    [
      'a rate for all among rates for one',
      { rps: ['5', 'm0=3'] },
      /must be the only one; otherwise name a model with each rate.*others get no requests/,
    ],
    [
      'too many windows',
      { windows: 1e-6 },
      /gives 5000000 windows; at most \d+ are kept for this plan: take 1ms or more/,
    ],
    [
      'more than time can count',
      { duration: 1e7 },
      /`duration`: requests arrive for 115.7 days; at most 104.2 are simulated/,
    ],
    ['more latencies than memory holds', { duration: 1e6, exact: true }, /would keep 4.95e\+8 latencies/],
    [
      'report and timeline in one file',
      { output: 'x.json', timeline: './x.json' },
      /`timeline`: \.\/x\.json is named for two outputs/,
    ],
    ['windows of less', { duration: 1e-9, windows: 1e-10 }, /`windows`: is less than a nanosecond/],
    ['less than a nanosecond', { duration: 1e-10 }, /`duration`: is less than a nanosecond/],
    ['more requests than nanoseconds', { rps: ['1e10'] }, /asks for 1e\+10 requests\/s; at most 1e\+9/],
    ['gamma of no shape', { arrivals: 'gamma', cv: 1e-200 }, /`cv`: is 1e-200; valid values are 0 and/],
    ['gamma without bounds', { arrivals: 'gamma', cv: 1e6 }, /`cv`: is 1000000; valid values are 0 and/],
    ['executions without end', { slow: 1e300 }, /`slow`: is 1e\+300; it must be above 0 and at most 1000000/],
    ['jitter without end', { jitter: 1e200 }, /`jitter`: is 1e\+200; it must be 0 to 100/],
    ['no speed', { slow: 0 }, /`slow`: is 0; it must be above 0/],
    ['speed that is no number', { slow: Number.NaN }, /`slow`: is NaN/],
    ['jitter that is no number', { jitter: Number.NaN }, /`jitter`: is NaN/],
    ['jitter below none', { jitter: -1 }, /`jitter`: is -1; it must be 0 to 100/],
    ['a seed with a fraction', { seed: 0.5 }, /`seed`: is 0.5; it must be a whole number/],
    ['no load', { load: 0 }, /`load`: is 0; it must be above 0/],
    ['windows that are no number', { windows: Number.NaN }, /`windows`: is less than a nanosecond/],
    ['a duration that is no number', { duration: Number.NaN }, /`duration`: is less than a nanosecond/],
    [
      'parts of a nanosecond',
      { scheduler: 'reservation', policy: ['wakeStepNs=0.5'] },
      /is 0.5; it must be a whole number/,
    ],
    [
      'parts of one in a step',
      { scheduler: 'reactive', policy: ['formation.stepNs=0.5'] },
      /is 0.5; it must be a whole number/,
    ],
    [
      'a word that is none',
      { scheduler: 'reactive', policy: ['drop.spares=2'] },
      /is 2; valid values are "all-waited", "last-waited"/,
    ],
    [
      'phases and what they say',
      { phases: ['5s,load=1'], rps: ['4'], load: 2 },
      /`load`: is given by each.*\n.*`rps`: is given by each/,
    ],
    ['a phase of no rate', { phases: ['5s'] }, /`phases` "5s": has no rate, such as 60s,load=0.5/],
    ['a phase of two rates', { phases: ['5s,load=1,m0=4'] }, /takes one of load=, rps= and rates of models/],
    ['a phase of no length', { phases: ['0s,load=1'] }, /"0s" is not a time above 0/],
    [
      'a phase of a model that is not there',
      { phases: ['5s,m7=1'] },
      /there is no m7=; there are load=, rps=, cv=, over=, m0=, m1=/,
    ],
    ['phases without a request', { phases: ['5s,load=0', '5s,m0=0'] }, /the rate of every phase is 0/],
    ['a transition from nowhere', { phases: ['5s,load=1,over=2s'] }, /no phase comes before the first/],
    ['a rate twice', { phases: ['5s,load=1,load=2'] }, /load is given twice/],
    ['no number', { phases: ['5s,load=x', '5s,rps=-1', '5s,over'] }, /rps is "-1"; it must be a number/],
    ['variation of Poisson', { phases: ['5s,load=1,cv=2'] }, /cv= is for `arrivals` gamma/],
    ['gamma phases without it', { phases: ['5s,load=1'], arrivals: 'gamma' }, /needs cv=.* or `cv`/],
    [
      'too much of it',
      { phases: ['5s,load=1,cv=1e9'], arrivals: 'gamma' },
      /cv is 1000000000; valid values are/,
    ],
    ['phases longer than time', { phases: ['2000h,load=1', '600h,load=1'] }, /arrive for 108.3 days/],
    ['phases denser than nanoseconds', { phases: ['1s,rps=1', '1s,rps=1e10'] }, /asks for 1e\+10/],
    ['more than all', { policy: ['correction.weight=1.5'] }, /is 1.5; it must be at most 1/],
    [
      'a backlog longer than time',
      { scheduler: 'fifo', slow: 1e6, load: 30 },
      /Cannot simulate any further: an event would come .* days after the start.*\nTake a smaller load/s,
    ],
    [
      'a format without a trace',
      { traceFormat: 'perf-analyzer-intervals' },
      /`traceFormat`: is for `traces`/,
    ],
  ])('%s', async (_, options, said) => {
    await expect(simulatePlan(await planFile(PAIR), lasting(options))).rejects.toThrow(said);
  });

  it('to write over its inputs', async () => {
    const path = await planFile(PAIR);
    const trace = await traceFile('0.5\n1.5\n');
    const said = /an input that would be replaced/;
    await expect(simulatePlan(path, { output: path })).rejects.toThrow(said);
    await expect(simulatePlan(path, { timeline: `${folder}/./${basename(path)}` })).rejects.toThrow(said);
    await expect(sweepPlan(path, { sweep: 'load=0.5', traces: [trace], output: trace })).rejects.toThrow(
      said,
    );
    expect(await readFile(trace, 'utf8')).toBe('0.5\n1.5\n');
    const link = join(folder, 'same-folder');
    await symlink(folder, link);
    await expect(simulatePlan(path, { output: join(link, basename(path)) })).rejects.toThrow(said);
    const twice = { output: join(folder, 'new.json'), timeline: join(link, 'new.json') };
    await expect(simulatePlan(path, twice)).rejects.toThrow(/is named for two outputs/);
    await rm(link);
  });

  it('to replace a folder or a device with a file', async () => {
    const path = await planFile(PAIR);
    for (const output of [folder, '.', join(folder, 'new/')])
      await expect(simulatePlan(path, { output })).rejects.toThrow(/is a folder; name a file/);
    await expect(simulatePlan(path, { output: '' })).rejects.toThrow(/`output`: names no file/);
    await expect(simulatePlan(path, { timeline: join(path, 'x.json') })).rejects.toThrow(/ is not a folder/);
    // A socket stands for a terminal, a pipe or a device, none of which may be replaced.
    const socket = join(folder, 'socket');
    const server = createServer().listen(socket);
    await once(server, 'listening');
    await expect(simulatePlan(path, { timeline: socket })).rejects.toThrow(/is no plain file/);
    expect((await stat(socket)).isSocket()).toBe(true);
    server.close();
  });

  it('traces that make no sense with the other options', async () => {
    const path = await planFile(PAIR);
    const times = await traceFile('0.5\n1.5\n');
    const instant = await traceFile('0.5\n0.5\n');
    const refuses = (options: SimulateOptions, said: RegExp) =>
      expect(simulatePlan(path, options)).rejects.toThrow(said);
    await refuses({ traces: [times], arrivals: 'uniform' }, /says when each request came/);
    const dense = await traceFile('0.000000001,9000000000000000\n');
    await refuses({ traces: [dense] }, /asks for 9e\+24 requests\/s/);
    await refuses({ traces: [times], duration: 1e-10 }, /less than a nanosecond/);
    await refuses({ traces: [instant] }, /say over how long with `duration`/);
    await refuses({ traces: [times], phases: ['5s,load=1'] }, /`traces`: is given by each `phases`/);
    await refuses({ traces: [times, `m0=${times}`] }, /must be the only one/);
    await refuses({ traces: [`m0=${times}`, `m0=${times}`] }, /that model has a trace already/);
    await refuses({ traces: [`m0=${times}`], rps: ['m0=5', 'm1=5'] }, /m1 has no trace/);
    await refuses({ traces: [times], rps: ['m0=5'] }, /takes one rate for all/);
    await expect(simulatePlan(path, { traces: [join(folder, 'none.csv')] })).rejects.toThrow(MissingError);
    expect((await simulatePlan(path, { traces: [instant], duration: 1 })).report.overall.arrived).toBe(2);
  });

  it('a plan with two models of one name', async () => {
    const plan = structuredClone(PAIR);
    plan.models[1]!.name = 'm0';
    await expect(simulated(plan)).rejects.toThrow('/models/1/name: m0 is the name of another model too');
  });

  it('a plan that contradicts itself, together with the other faults', async () => {
    const broken = structuredClone(PAIR);
    broken.placement.pop();
    const refused = simulated(broken, { scheduler: 'best' });
    await expect(refused).rejects.toThrow(/has 1 virtual GPUs, but 0 are placed/);
    await expect(refused).rejects.toThrow(/valid values are reservation/);
  });
});

describe('sweepPlan()', () => {
  inWholeRun('gives the points asked for, and the largest loads, to a hundredth, that hold', async () => {
    const path = await planFile(PAIR);
    const output = join(folder, 'sweep.json');
    const sweep = await sweepPlan(path, { sweep: 'load=0.6..2:8', duration: 4, output });
    expect((await loadArtifact(output, ['simulation-sweep'])).value).toEqual(sweep);
    expect(sweep.complete).toBe(true);
    for (const load of [0.6, 0.8, 1, 1.2, 1.4, 1.6, 1.8, 2])
      expect(sweep.points.map(({ loadFactor }) => loadFactor)).toContain(load);
    const attainments = async (hundredths: number): Promise<(number | null | undefined)[]> => {
      const { overall, models } = await simulated(PAIR, { load: hundredths / 100, duration: 4 });
      return [overall.attainment, ...models.map(({ requests }) => requests.attainment)];
    };
    const found = [sweep.largest, ...sweep.models.map(({ largest }) => largest)];
    for (const [i, largest] of found.entries()) {
      expect(largest?.atLeast).toBe(false);
      const hundredths = Math.round(100 * largest!.loadFactor);
      expect((await attainments(hundredths))[i]).toBeGreaterThanOrEqual(0.99);
      expect((await attainments(hundredths + 1))[i]).toBeLessThan(0.99);
    }
  });

  inWholeRun(
    'gives the same bytes with one thread as with two, and the same points as single runs',
    async () => {
      const path = await planFile(PAIR);
      const options = { sweep: 'load=0.5..1:3', duration: 5, jitter: 0.1, seed: 5 } as const;
      const one = await sweepPlan(path, { ...options, threads: 1 });
      expect(await sweepPlan(path, { ...options, threads: 2 })).toEqual(one);
      const { report } = await simulatePlan(path, { load: 0.75, duration: 5, jitter: 0.1, seed: 5 });
      const point = one.points.find(({ loadFactor }) => loadFactor === 0.75);
      expect(point).toMatchObject({
        attainment: report.overall.attainment,
        late: report.overall.late,
        p99Ms: report.overall.latencyMs?.p99,
      });
    },
  );

  it('says when the target is reached at every load, or at none', async () => {
    const path = await planFile(PAIR);
    const low = await sweepPlan(path, { sweep: 'load=0.1..0.2:2', duration: 2 });
    expect(low.largest).toEqual({ loadFactor: 0.2, atLeast: true });
    const high = await sweepPlan(path, { sweep: 'load=3', duration: 2 });
    expect([high.largest, high.models[0]?.largest, high.points.length]).toEqual([undefined, undefined, 1]);
  });

  it('sweeps a trace by its mean rate', async () => {
    const counts = await traceFile('1,50\n1,90\n');
    const sweep = await sweepPlan(await planFile(PAIR), { sweep: 'load=0.5..1:2', traces: [counts] });
    expect(sweep.workload).toEqual({ arrivals: 'trace', durationS: 2, spread: 'poisson' });
    expect(sweep.points[0]?.offeredRps).toBeGreaterThan(200);
    const times = await traceFile('0\n1000000\n');
    await expect(
      sweepPlan(await planFile(PAIR), { sweep: 'load=0.0000000001', traces: [times] }),
    ).rejects.toThrow(/`traces`: requests .* at most 104.2 are simulated: cut it with/);
  });

  it('gives the points that are done when it is interrupted', async () => {
    const abort = new AbortController();
    const sweep = await sweepPlan(await planFile(PAIR), {
      sweep: 'load=0.1..1:100',
      duration: 5,
      threads: 1,
      signal: abort.signal,
      onProgress: ({ done }) => {
        if (done === 3) abort.abort();
      },
    });
    expect(sweep.complete).toBe(false);
    expect(sweep.points.length).toBeGreaterThanOrEqual(3);
    expect(sweep.points.length).toBeLessThan(100);
  });

  it.each([
    ['load=0..1', 'begins at 0'],
    ['load=1..0.5', 'runs from 1 down to 0.5'],
    ['load=0.1..1:900', '900 points; 2 to 200 are valid'],
    ['load=0.1..1:1', '1 points; 2 to 200 are valid'],
    ['load=0.5:0', '0 points; 1 to 200 are valid'],
    ['load=1..1000', 'reaches 1000 times'],
    ['rps=1..2', 'is not a sweep'],
  ])('refuses %s', async (sweep, said) => {
    await expect(sweepPlan(await planFile(PAIR), { sweep })).rejects.toThrow(said);
  });
});
