import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { validateFiles } from '../../../src/api/index.js';
import { loadArtifact } from '../../../src/artifacts/index.js';
import type {
  LatencyTable,
  NoPlan,
  PipelinePlan,
  PipelineSpec,
  Profile,
  SimulationReport,
} from '../../../src/formats/index.js';
import { InputError } from '../../../src/formats/index.js';
import { planOpen } from '../../../src/inferline/plan-open.js';
import { solveSpec } from '../../../src/specs/index.js';
import { loadPipeline } from '../../../src/specs/pipeline/pipeline.js';
import { planningTools } from '../../../src/specs/pipeline/planning-job.js';
import { inWholeRun, whole } from '../../cases.js';
import { plan } from '../../cli/plan.js';

const EXAMPLE = new URL('../../../examples/pipeline', import.meta.url).pathname;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-planned-'));
  await cp(EXAMPLE, folder, { recursive: true });
  await changeCluster(() => undefined);
  await changeSpec((spec) => {
    spec.planner = { method: 'inferline' };
    spec.load = { arrivals: 'gamma', rps: 600, cv: 2, duration: DURATION };
    delete spec.shared;
    for (const stage of spec.stages) for (const key of FIXED) delete stage[key];
  });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** How long the samples are that plans are made for, in seconds: in a shorter one, each estimate takes less time. */
const DURATION_S = whole(1, 5);
const DURATION = `${DURATION_S}s`;

/** LONGER is a load in which more is late, for what a short sample does not show. */
const LONGER = { arrivals: 'gamma', rps: 600, cv: 2, duration: '5s' } as const;

const FIXED = ['device', 'batch', 'replicas', 'standby'] as const;
const at = (name: string): string => join(folder, name);

async function changeSpec(change: (spec: PipelineSpec) => void): Promise<void> {
  const spec = parse(await readFile(at('spec.yaml'), 'utf8')) as PipelineSpec;
  change(spec);
  await writeFile(at('spec.yaml'), stringify(spec));
}

interface ClusterFile {
  devices: Record<string, { count?: number; hourlyCost?: number }>;
  networkGbps?: number;
}

/** changeCluster takes the network away, on which transfers would wait for one another as the Estimator's do not. */
async function changeCluster(change: (cluster: ClusterFile) => void): Promise<void> {
  const cluster = parse(await readFile(at('cluster.yaml'), 'utf8')) as ClusterFile;
  delete cluster.networkGbps;
  change(cluster);
  await writeFile(at('cluster.yaml'), stringify(cluster));
}

/** eachProfile changes the classes of every profile. */
async function eachProfile(change: (devices: Profile['devices']) => void): Promise<void> {
  for (const name of (await readdir(folder)).filter((file) => file.endsWith('.profile.json'))) {
    const profile = JSON.parse(await readFile(at(name), 'utf8')) as Profile;
    change(profile.devices);
    await writeFile(at(name), JSON.stringify(profile));
  }
}

/** tenthMore gives latencies that are a tenth longer. */
function tenthMore(table: LatencyTable): LatencyTable {
  const more = (_: string, value: unknown) => (typeof value === 'number' ? 1.1 * value : value);
  return JSON.parse(JSON.stringify(table), more) as LatencyTable;
}

async function solved(): Promise<PipelinePlan> {
  const outcome = await solveSpec(at('spec.yaml'), { output: at('plan.json') });
  expect(outcome.outcome).toBe('pipeline-plan');
  return JSON.parse(await readFile(at('plan.json'), 'utf8')) as PipelinePlan;
}

async function simulated(...options: string[]): Promise<SimulationReport> {
  const { code, stdout } = await plan(['simulate', at('plan.json'), '--json', '--exact', ...options]);
  expect(code).toBe(0);
  return JSON.parse(stdout) as SimulationReport;
}

describe('solveSpec() of a pipeline that is to be planned', () => {
  inWholeRun(
    'writes a plan whose simulation gives the sample the latencies that the plan names',
    async () => {
      const draws = whole(2, 10);
      await changeSpec((spec) => {
        spec.planner = { method: 'inferline', draws };
      });
      const made = await solved();
      expect(made).toMatchObject({ method: 'inferline', serving: { scheduler: 'room-first' } });
      const { sample, hourlyCost, objective } = made;
      expect(sample?.draws).toBe(draws);
      expect(sample?.leastAttainment).toBeGreaterThanOrEqual(0.99);
      expect(objective?.value).toBeCloseTo(hourlyCost as number, 9);
      expect(objective?.bound).toBeLessThanOrEqual(objective?.value as number);
      const load = ['--rps', '600', '--arrivals', 'gamma', '--cv', '2', '--duration', DURATION];
      let [arrived, inTime, dropped, least] = [0, 0, 0, 1];
      for (let seed = 1; seed <= draws; seed++) {
        const [model] = (await simulated(...load, '--seed', String(seed))).models;
        const { requests } = model as NonNullable<typeof model>;
        arrived += requests.arrived;
        inTime += requests.inTime;
        dropped += requests.dropped;
        least = Math.min(least, requests.attainment as number);
      }
      expect([arrived, least]).toEqual([sample?.requests, sample?.leastAttainment]);
      expect(dropped).toBe(sample?.dropped ?? 0);
      expect(inTime / arrived).toBeCloseTo(sample?.attainment as number, 12);
    },
  );

  inWholeRun(
    'says reproducible: false where a clock ended the search, and is validated all the same',
    async () => {
      const { open, spec, files } = await loadPipeline(await loadArtifact(at('spec.yaml'), ['pipeline']));
      const job = { open: open as NonNullable<typeof open>, spec: spec.value, files };
      const tools = planningTools(job);
      const whole = await planOpen(job, tools, () => false);
      expect(whole).toMatchObject({ status: 'feasible', finished: true });
      if (whole.status !== 'feasible') return;
      expect(whole.plan).not.toHaveProperty('reproducible');
      // A counted limit ends a search at the same estimate again.
      const worked = await planOpen({ ...job, work: whole.estimates - 20 }, tools, () => false);
      expect(worked).toMatchObject({ status: 'feasible', finished: false });
      expect(worked.status === 'feasible' && worked.plan).not.toHaveProperty('reproducible');
      const cut = await planOpen(job, tools, (estimates) => estimates >= whole.estimates - 20);
      expect(cut).toMatchObject({ status: 'feasible', finished: false, plan: { reproducible: false } });
      const made = await solved();
      await writeFile(at('plan.json'), JSON.stringify({ ...made, reproducible: false }));
      expect((await validateFiles([at('plan.json')]))[0]).toMatchObject({ ok: true });
    },
  );

  inWholeRun('is simulated with the load that it was planned for, unless options say otherwise', async () => {
    const made = await solved();
    const own = await simulated('--seed', '1');
    expect(own.workload).toMatchObject({
      arrivals: 'gamma',
      cv: 2,
      durationS: DURATION_S,
      models: [{ rps: 600 }],
    });
    // The seed of a draw gives the requests of that draw.
    expect(own.models[0]?.requests.attainment).toBeGreaterThanOrEqual(made.sample?.leastAttainment as number);
    const half = await simulated('--load', '0.5');
    expect(half.workload).toMatchObject({ arrivals: 'gamma', cv: 2, durationS: DURATION_S });
    expect(half.workload.models[0]?.rps).toBeCloseTo(made.throughputRps / 2, 9);
  });

  inWholeRun('is planned for a window of a trace, and simulated with it', async () => {
    // The second hour has twice the requests of the first, in a day of them.
    const minutes = Array.from({ length: 180 }, (_, i) => `60,${i >= 60 && i < 120 ? 60 : 30}`);
    await writeFile(at('day.csv'), `interval_s,count\n${minutes.join('\n')}\n`);
    await changeSpec((spec) => {
      spec.load = { trace: 'day.csv', from: '1h', to: '90m' };
    });
    expect(await plan(['solve', at('spec.yaml'), '-o', at('plan.json')])).toMatchObject({ code: 0 });
    const made = JSON.parse(await readFile(at('plan.json'), 'utf8')) as PipelinePlan;
    expect(made).toMatchObject({ version: '1.4', rps: 1, load: { trace: 'day.csv', from: '1h', to: '90m' } });
    expect(await plan(['validate', at('plan.json')])).toMatchObject({ code: 0 });
    const simulated = async (...more: string[]) => {
      const { code, stdout } = await plan(['simulate', at('plan.json'), ...more, '--json']);
      expect(code).toBe(0);
      const { workload, overall } = JSON.parse(stdout) as SimulationReport;
      return { durationS: workload.durationS, arrived: overall.arrived };
    };
    const own = await simulated();
    expect(own.durationS).toBe(1800);
    expect(own.arrived).toBeGreaterThan(1600);
    expect(await simulated('--from', '1h', '--to', '1.5h')).toEqual(own);
    expect(await simulated('--trace', at('day.csv'), '--from', '60min', '--to', '90min')).toEqual(own);
    expect(await simulated('--from', '2h', '--to', '2.5h')).toMatchObject({ durationS: 1800 });
    expect(await plan(['simulate', at('plan.json'), '--from', '4h'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('it would begin at 14400 s, but the trace ends at 10800 s'),
    });
    await changeSpec((spec) => {
      spec.load = { trace: 'day.csv', from: '2h' };
    });
    expect((await plan(['validate', at('plan.json')])).code).not.toBe(0);
  });

  inWholeRun('is planned for the requests of a window over the length that was asked for', async () => {
    const times = Array.from({ length: 400 }, (_, i) => (0.01 * i).toFixed(2));
    await writeFile(at('day.csv'), ['arrival_s', ...times, '60', ''].join('\n'));
    await changeSpec((spec) => {
      spec.load = { trace: 'day.csv', to: '8s' };
    });
    expect(await solved()).toMatchObject({ rps: 50 });
    const { workload, overall } = await simulated();
    expect([workload.durationS, overall.arrived, workload.models[0]?.rps]).toEqual([8, 400, 50]);
  });

  inWholeRun(
    'is simulated with the trace that it was planned for, scaled where a rate is asked for',
    async () => {
      const times = Array.from({ length: 400 }, (_, i) => (0.01 * i + (i % 7 === 0 ? 0.004 : 0)).toFixed(4));
      await writeFile(at('day.csv'), ['arrival_s', ...times, ''].join('\n'));
      await changeSpec((spec) => {
        spec.load = { trace: 'day.csv' };
      });
      const made = await solved();
      const own = await simulated('--seed', '1');
      expect(own.workload).toMatchObject({ arrivals: 'trace' });
      expect(own.overall.arrived).toBe(400);
      expect(own.models[0]?.requests.attainment).toBe(made.sample?.attainment);
      const scaled = await simulated('--rps', '50');
      expect([scaled.overall.arrived, scaled.workload.arrivals]).toEqual([400, 'trace']);
      expect(scaled.workload.durationS).toBeCloseTo(400 / 50, 1);
      await writeFile(at('day.csv'), ['arrival_s', ...times.slice(1), ''].join('\n'));
      const changed = await plan(['simulate', at('plan.json')]);
      expect([changed.code, changed.stderr]).toEqual([2, expect.stringContaining('has changed since')]);
      await rm(at('day.csv'));
      for (const options of [[], ['--load', '0.5'], ['--sweep', 'load=0.5']]) {
        const gone = await plan(['simulate', at('plan.json'), ...options]);
        expect([gone.code, gone.stderr]).toEqual([
          7,
          expect.stringContaining('day.csv: there is no such file'),
        ]);
      }
      const check = await plan(['validate', at('plan.json')]);
      expect([check.code, check.stderr]).toEqual([
        7,
        expect.stringContaining('day.csv: there is no such file'),
      ]);
      expect((await plan(['simulate', at('plan.json'), '--arrivals', 'poisson'])).code).toBe(0);
    },
  );

  inWholeRun('plans no stage that serves less than the mean rate, however short the sample is', async () => {
    await changeSpec((spec) => {
      spec.load = { arrivals: 'poisson', rps: 600, duration: '100ms' };
      spec.sloMs = 2000;
    });
    await changeCluster(({ devices }) => {
      for (const device of Object.values(devices)) delete device.count;
    });
    for (const method of whole(
      ['inferline', 'coarse-mean'] as const,
      ['inferline', 'exact', 'coarse-mean'] as const,
    )) {
      await changeSpec((spec) => {
        spec.planner = { method };
      });
      const made = await solved();
      expect(made.throughputRps).toBeGreaterThanOrEqual(600 * (1 - 1e-9));
      for (const { maxProvisioningRatio } of made.stages)
        expect(maxProvisioningRatio).toBeLessThanOrEqual(1 + 1e-9);
      // What a short sample does not show, a long load does.
      const longer = await simulated('--duration', whole('20s', '60s'));
      expect(longer.overall.attainment).toBeGreaterThan(method === 'coarse-mean' ? 0 : 0.5);
      expect((await validateFiles([at('plan.json')]))[0]).toMatchObject({ ok: true });
    }
    await changeCluster(({ devices }) => {
      for (const device of Object.values(devices)) device.count = 1;
    });
    const { code, stderr } = await plan(['solve', at('spec.yaml')]);
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(
        /are needed|serve .* for at most .* requests\/s, and the load has .*; a plan keeps up with all requests/,
      ),
    ]);
  });

  inWholeRun('says in what share of its worst draw requests are in time, where draws differ', async () => {
    await changeSpec((spec) => {
      spec.planner = { method: 'coarse-mean', draws: 4 };
      spec.load = { arrivals: 'gamma', rps: 300, cv: 4, duration: DURATION };
    });
    await changeCluster(({ devices }) => {
      for (const device of Object.values(devices)) delete device.count;
    });
    const { sample } = await solved();
    const load = ['--rps', '300', '--arrivals', 'gamma', '--cv', '4', '--duration', DURATION];
    const shares: number[] = [];
    for (const seed of ['1', '2', '3', '4'])
      shares.push((await simulated(...load, '--seed', seed)).models[0]?.requests.attainment as number);
    expect(sample?.leastAttainment).toBe(Math.min(...shares));
    expect(Math.max(...shares)).toBeGreaterThan(Math.min(...shares));
  });

  inWholeRun(
    'plans for a single draw where the spec asks for one, with the latencies of its simulation',
    async () => {
      await changeSpec((spec) => {
        spec.planner = { method: 'inferline', draws: 1 };
      });
      const { sample } = await solved();
      const load = [
        '--rps',
        '600',
        '--arrivals',
        'gamma',
        '--cv',
        '2',
        '--duration',
        DURATION,
        '--seed',
        '1',
      ];
      const [model] = (await simulated(...load)).models;
      expect(sample).toMatchObject({ draws: 1, seed: 1, requests: model?.requests.arrived });
      expect([sample?.attainment, sample?.leastAttainment]).toEqual(
        Array(2).fill(model?.requests.attainment),
      );
      expect(model?.requests.latencyMs?.p99).toBeCloseTo(sample?.p99Ms as number, 6);
      expect(model?.requests.latencyMs?.p50).toBeCloseTo(sample?.p50Ms as number, 6);
    },
  );

  inWholeRun('draws a long load fewer times, and a trace once unless more is asked', async () => {
    const load = { arrivals: 'poisson' as const, rps: 600, duration: '100s' };
    const planner = { method: 'coarse-mean' as const };
    await changeSpec((spec) => Object.assign(spec, { load, planner }));
    await changeCluster(({ devices }) => {
      for (const device of Object.values(devices)) delete device.count;
    });
    expect((await solved()).sample).toMatchObject({ draws: 2 });
    await writeFile(at('load.csv'), Array.from({ length: 500 }, (_, k) => `${k / 100}\n`).join(''));
    await changeSpec((spec) => {
      spec.load = { trace: 'load.csv' };
    });
    expect((await solved()).sample).toMatchObject({ draws: 1, requests: 500 });
    await changeSpec((spec) => {
      spec.planner = { ...spec.planner, draws: 3 };
    });
    expect((await solved()).sample).toMatchObject({ draws: 3, requests: 1500 });
    await changeSpec((spec) => {
      for (const stage of spec.stages)
        stage.next = (stage.next ?? []).map((edge) => (edge as { to?: string }).to ?? (edge as string));
      delete spec.exclusive;
    });
    const { code, stderr } = await plan(['solve', at('spec.yaml')]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('would draw the same again and again')]);
    // Of a trace of counts, each draw places the arrivals anew in their intervals.
    await writeFile(at('load.csv'), 'interval_s,count\n2,300\n2,200\n');
    expect((await solved()).sample).toMatchObject({ draws: 3 });
    await changeSpec((spec) => {
      delete spec.planner?.draws;
    });
    expect((await solved()).sample).toMatchObject({ draws: 10 });
  });

  inWholeRun(
    'is the plan of InferLine where the spec says nothing of a planner or of its method',
    async () => {
      const asked = await solved();
      for (const planner of whole([undefined], [undefined, { draws: 10 }])) {
        await changeSpec((spec) => {
          if (planner === undefined) delete spec.planner;
          else spec.planner = planner;
        });
        const { inputs: _, ...found } = await solved();
        const { inputs: __, ...expected } = asked;
        expect(found).toEqual(expected);
        expect(found.method).toBe('inferline');
      }
    },
  );

  inWholeRun(
    'meets every objective that is asked for, as the general simulator counts, at more cost',
    async () => {
      for (const method of ['inferline', 'exact'] as const) {
        await changeSpec((spec) => {
          spec.planner = { method, draws: 1 };
          spec.load = LONGER;
          // What drops requests by their deadlines makes something else of another SLO.
          spec.serving = { scheduler: 'inferline' };
          delete spec.objectives;
        });
        const one = await solved();
        const sloMs = 0.9 * (one.sample?.p50Ms as number);
        const further = [
          { sloMs, attainment: 0.5 },
          { sloMs: 130, attainment: 0.999 },
        ];
        await changeSpec((spec) => {
          spec.objectives = further;
        });
        const made = await solved();
        expect(made.hourlyCost).toBeGreaterThan(one.hourlyCost as number);
        expect(made.objective?.bound).toBeLessThanOrEqual(made.hourlyCost as number);
        expect(made.objectives).toMatchObject(further);
        expect((await validateFiles([at('plan.json')]))[0]).toMatchObject({ ok: true });
        for (const objective of made.objectives ?? []) {
          expect(objective.sampleAttainment).toBeGreaterThanOrEqual(objective.attainment);
          // Without the spec, only the plan says what the SLO is. Its sample was served under the other one.
          const { sample, objectives, ...bare } = made;
          await writeFile(at('plan.json'), JSON.stringify({ ...bare, inputs: [], sloMs: objective.sloMs }));
          const load = ['--rps', '600', '--arrivals', 'gamma', '--cv', '2', '--duration', LONGER.duration];
          const [model] = (await simulated(...load, '--seed', '1')).models;
          expect(model?.requests.attainment).toBe(objective.sampleAttainment);
        }
        const objective = made.objective as NonNullable<typeof made.objective>;
        const forgeries: Partial<typeof made>[] = [
          {
            objectives: made.objectives!.map((one, i) =>
              i === 0 ? { ...one, sampleAttainment: 0.75 } : one,
            ),
          },
          { serving: { scheduler: 'stage-local' } },
          { load: { arrivals: 'poisson', rps: 1 } },
          // Only a search could prove the bound of an exact plan again.
          ...(method === 'exact' ? [] : [{ objective: { ...objective, bound: 0.9 * objective.bound } }]),
        ];
        for (const forged of forgeries) {
          await writeFile(at('plan.json'), JSON.stringify({ ...made, ...forged }));
          expect((await validateFiles([at('plan.json')]))[0], JSON.stringify(forged)).toMatchObject({
            ok: false,
          });
        }
      }
    },
  );

  inWholeRun(
    'ends with 3 for a further objective that is too short, and names SLOs that a plan then meets',
    async () => {
      await changeSpec((spec) => {
        spec.objectives = [{ sloMs: 3, attainment: 0.5 }];
      });
      const { code, stdout, stderr } = await plan(['solve', at('spec.yaml'), '--json']);
      expect(code).toBe(3);
      expect(stderr).toMatch(
        /the SLO of 50 % of the requests would have to be about [0-9.]+ ms, and it is 3 ms/,
      );
      expect(stderr).toMatch(/SLOs of [0-9.]+ ms \(99 %\), [0-9.]+ ms \(50 %\) can be met, at/);
      const { models } = JSON.parse(stdout) as NoPlan;
      const [model] = models;
      await changeSpec((spec) => {
        spec.sloMs = model?.smallestFeasibleSloMs as number;
        spec.objectives = [
          { sloMs: model?.objectives?.[0]?.smallestFeasibleSloMs as number, attainment: 0.5 },
        ];
      });
      expect((await solved()).objectives?.[0]?.sampleAttainment).toBeGreaterThanOrEqual(0.5);
    },
  );

  inWholeRun(
    'plans with 95th percentiles where asked, which costs more and is kept when executions vary',
    async () => {
      await changeSpec((spec) => {
        spec.planner = { method: 'inferline', draws: 1 };
        spec.load = LONGER;
      });
      const median = await solved();
      await eachProfile((devices) => {
        for (const device of Object.values(devices))
          device.blockLatencyP95Us = tenthMore(device.blockLatencyUs);
      });
      await changeSpec((spec) => {
        spec.latencyQuantile = 'p95';
      });
      const made = await solved();
      expect(made.hourlyCost).toBeGreaterThan(median.hourlyCost as number);
      expect(made.stages.map(({ latencyQuantile }) => latencyQuantile)).toEqual(made.stages.map(() => 'p95'));
      expect((await validateFiles([at('plan.json')]))[0]).toMatchObject({ ok: true });
      const load = [
        '--rps',
        '600',
        '--arrivals',
        'gamma',
        '--cv',
        '2',
        '--duration',
        LONGER.duration,
        '--seed',
        '1',
      ];
      const [planned] = (await simulated(...load)).models;
      expect(planned?.requests.attainment).toBe(made.sample?.attainment);
      const [varied] = (await simulated(...load, '--jitter', 'profile')).models;
      expect(varied?.requests.attainment).toBeGreaterThan(planned?.requests.attainment as number);
    },
  );

  inWholeRun('gives the same bytes again, and is confirmed from its files', async () => {
    await solved();
    const first = await readFile(at('plan.json'), 'utf8');
    await solved();
    expect(await readFile(at('plan.json'), 'utf8')).toBe(first);
    expect(await validateFiles([at('plan.json'), at('spec.yaml')])).toMatchObject([
      { ok: true, what: expect.stringContaining('recomputed from its spec and profiles') },
      { ok: true },
    ]);
    const forged = JSON.parse(first) as PipelinePlan;
    (forged.sample as { leastAttainment: number }).leastAttainment = 0.995;
    await writeFile(at('plan.json'), JSON.stringify(forged));
    expect(await validateFiles([at('plan.json')])).toMatchObject([{ ok: false }]);
  });

  it('says at which stages requests missed, as a simulation of them has it, and has the digest of its sample', async () => {
    await changeSpec((spec) => {
      spec.planner = { method: 'coarse-mean', draws: 1 };
      spec.load = LONGER;
    });
    await changeCluster(({ devices }) => {
      for (const device of Object.values(devices)) delete device.count;
    });
    const made = await solved();
    const { missesByStage: misses = [], sha256, requests } = made.sample!;
    const report = await simulated(
      ...['--rps', '600', '--arrivals', 'gamma', '--cv', '2', '--duration', LONGER.duration, '--seed', '1'],
    );
    const { overall, drops } = report;
    expect(overall.arrived).toBe(requests);
    expect(overall.dropped).toBeGreaterThan(0);
    expect(misses.reduce((sum, one) => sum + one.requests, 0)).toBe(requests - overall.inTime);
    for (const { place, count } of drops)
      expect(misses.find(({ stage }) => stage === place)?.requests).toBeGreaterThanOrEqual(count);
    const forge = async (change: (sample: NonNullable<PipelinePlan['sample']>) => unknown) => {
      const forged = structuredClone(made);
      change(forged.sample!);
      await writeFile(at('plan.json'), JSON.stringify(forged));
      return (await validateFiles([at('plan.json')]))[0];
    };
    expect(await forge(() => undefined)).toMatchObject({ ok: true });
    const edits: Parameters<typeof forge>[0][] = [
      (sample) => Object.assign(sample, { sha256: '0'.repeat(64) }),
      (sample) => delete sample.sha256,
      (sample) => delete sample.missesByStage,
      (sample) => Object.assign(sample.missesByStage![0]!, { requests: 1e6 }),
      (sample) => Object.assign(sample.missesByStage![0]!, { stage: 'nowhere' }),
    ];
    for (const edit of edits) expect(await forge(edit)).toMatchObject({ ok: false });
    // Plans of before have neither.
    const older = await forge((sample) => {
      delete sample.missesByStage;
      delete sample.sha256;
    });
    expect(older).toMatchObject({ ok: true });
    await changeSpec((spec) => {
      Object.assign(spec.load as object, { rps: 601 });
    });
    expect((await solved()).sample?.sha256).not.toBe(sha256);
  });

  inWholeRun('proves the least cost where it is asked to, which no other plan falls below', async () => {
    const few = whole({ draws: 2 }, {});
    await changeSpec((spec) => {
      spec.load = LONGER;
      spec.planner = { method: 'inferline', ...few };
      spec.serving = { scheduler: 'inferline' };
    });
    const greedy = await solved();
    await changeSpec((spec) => {
      spec.planner = { method: 'exact', ...few };
    });
    const exact = await solved();
    expect(exact).toMatchObject({ method: 'exact', status: 'optimal', objective: { gap: 0 } });
    expect(exact.hourlyCost).toBeLessThanOrEqual(greedy.hourlyCost as number);
    expect(exact.objective?.bound).toBeGreaterThanOrEqual(greedy.objective?.bound as number);
    // A gap that is asked for ends the search, and where it is not reached, the command with 4.
    const near = await solveSpec(at('spec.yaml'), { gap: greedy.objective?.gap as number });
    expect(near).toMatchObject({ limitReached: false, plan: { hourlyCost: greedy.hourlyCost } });
    // What is said of the plans that are served in order is that proof, rounded down.
    await changeSpec((spec) => {
      delete spec.serving;
    });
    const note = (await solved()).notes?.find((one) => one.includes('in order of arrival'));
    const told = Number(/costs less than ([\d.]+) per hour/.exec(note as string)?.[1]);
    expect(told).toBeLessThanOrEqual((exact.hourlyCost as number) * (1 + 1e-12));
    expect(told).toBeGreaterThan((exact.hourlyCost as number) * (1 - 1e-3));
    // Of plans that other schedulers serve, less is proved.
    await changeSpec((spec) => {
      spec.planner = { method: 'inferline', ...few };
    });
    const half = ((await solved()).objective?.gap as number) / 2;
    expect(half).toBeGreaterThan(0);
    expect(await solveSpec(at('spec.yaml'), { gap: half })).toMatchObject({ limitReached: true });
  });

  inWholeRun('obeys what the spec fixes, and the counts of classes', async () => {
    const free = await solved();
    await changeSpec((spec) => {
      spec.stages[0]!.replicas = 5;
      spec.stages[1]!.devices = ['L4'];
      spec.stages[3]!.batch = 4;
    });
    await changeCluster((cluster) => {
      cluster.devices.L4!.count = 8;
    });
    const bound = await solved();
    const stage = (name: string) => bound.stages.find((one) => one.name === name);
    expect(stage('detect')).toMatchObject({ replicas: 5 });
    expect(stage('scene')).toMatchObject({ device: 'L4' });
    expect(stage('face')).toMatchObject({ batch: 4 });
    expect(bound.classes.L4?.used).toBeLessThanOrEqual(8);
    expect(bound.hourlyCost).toBeGreaterThan(free.hourlyCost as number);
  });

  inWholeRun(
    'replicates the pipeline as one box by the coarse methods, for its mean rate and for its peak',
    async () => {
      await changeCluster((cluster) => {
        delete cluster.devices.L4!.count;
      });
      const replicas: number[] = [];
      for (const method of ['coarse-mean', 'coarse-peak'] as const) {
        await changeSpec((spec) => {
          spec.planner = { method };
        });
        const made = await solved();
        expect(new Set(made.stages.map((stage) => stage.replicas)).size).toBe(1);
        expect(made.objective).toBeUndefined();
        expect(await validateFiles([at('plan.json')])).toMatchObject([{ ok: true }]);
        replicas.push(made.stages[0]?.replicas as number);
      }
      expect(replicas[1]).toBeGreaterThan(replicas[0] as number);
    },
  );

  inWholeRun(
    'ends with 3 for an SLO below the longest path, and names the least, which a plan then meets',
    async () => {
      await changeSpec((spec) => {
        spec.sloMs = 8;
        spec.planner = { method: 'inferline', ...whole({ draws: 2 }, {}) };
      });
      const { code, stdout, stderr } = await plan(['solve', at('spec.yaml'), '--json']);
      expect(code).toBe(3);
      expect(stderr).toMatch(
        /the longest path, detect -> face -> match, takes 9\.2 ms on the fastest classes/,
      );
      expect(stderr).toMatch(/an SLO of [0-9.]+ ms can be met, at [0-9.]+ per hour/);
      const answer = JSON.parse(stdout) as {
        reasons: { code: string }[];
        models: { smallestFeasibleSloMs: number }[];
      };
      expect(answer.reasons.map((reason) => reason.code)).toEqual(['slo-too-short']);
      const leastMs = answer.models[0]?.smallestFeasibleSloMs as number;
      await changeSpec((spec) => {
        spec.sloMs = leastMs;
      });
      expect((await solved()).sample?.attainment).toBeGreaterThanOrEqual(0.99);
    },
  );

  inWholeRun('ends with 3 where a class has too few devices, and names the stage', async () => {
    await changeCluster((cluster) => {
      cluster.devices.L4!.count = 1;
    });
    const { code, stderr } = await plan(['solve', at('spec.yaml')]);
    expect(code).toBe(3);
    expect(stderr).toContain('detect needs more replicas than there are, of L4, whatever the others have');
  });

  it('ends with 5 or 4 where its work is limited: without a plan, or with one that may be too dear', async () => {
    await changeSpec((spec) => {
      spec.load = LONGER;
    });
    expect((await plan(['solve', at('spec.yaml'), '--work', '1'])).code).toBe(5);
    const { code } = await plan(['solve', at('spec.yaml'), '--work', '25', '-o', at('plan.json')]);
    expect(code).toBe(4);
    expect((await validateFiles([at('plan.json')]))[0]).toMatchObject({ ok: true });
  });

  inWholeRun('explains what changes of the plan would bring, where asked', async () => {
    const { code, stdout } = await plan(['solve', at('spec.yaml'), '--explain', '--json']);
    expect(code).toBe(0);
    const { explanation, stages } = JSON.parse(stdout) as PipelinePlan & {
      explanation: { stages: unknown[]; path: unknown[] };
    };
    expect(explanation.stages).toHaveLength(stages.length);
    expect(explanation.path.length).toBeGreaterThan(0);
    const shown = await plan(['solve', at('spec.yaml'), '--explain']);
    expect(shown.stdout).toMatch(/in time, one less/);
  });

  inWholeRun('refuses a sample without a request, and one that is too long', async () => {
    for (const [rps, told] of [
      [0.01, /brings no request/],
      [6e6, /brings more than 10,000,000 requests/],
    ] as const) {
      await changeSpec((spec) => {
        spec.load = { arrivals: 'poisson', rps, duration: '2s' };
      });
      const { code, stderr } = await plan(['solve', at('spec.yaml')]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(told)]);
    }
  });

  it('reports at once everything that a method does not plan with', async () => {
    await changeSpec((spec) => {
      spec.planner = { method: 'coarse-mean' };
      spec.shared = [{ device: 'T4', stages: ['plate', 'face'], replicas: 2 }];
      spec.stages[0]!.standby = 2;
      spec.stages[1]!.replicas = 3;
      delete spec.load;
    });
    const error = (await solveSpec(at('spec.yaml')).catch((thrown: unknown) => thrown)) as InputError;
    expect(error).toBeInstanceOf(InputError);
    expect(error.faults.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      '/load: is needed: coarse-mean plans for a sample of the load',
      '/shared: is for planner.method given',
      '/stages/0/standby: is for planner.method given',
      '/stages/1/replicas: is chosen by coarse-mean, for all stages alike; leave it out',
    ]);
  });
});
