import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  compareSchedulers,
  deployPlan,
  diffPlanFiles,
  simulatePlan,
  sweepPlan,
  validateFiles,
} from '../../src/api/index.js';
import { InputError, MissingError, type RunTask, type WorkflowPlan } from '../../src/formats/index.js';
import { inWholeRun } from '../cases.js';
import { madePlan } from '../plans/workflow/made-workflows.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-workflows-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function written(name: string, plan: WorkflowPlan): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, JSON.stringify(plan));
  return path;
}

const runText = (application: string, tasks: readonly Partial<RunTask>[]) =>
  JSON.stringify({
    kind: 'run',
    version: '1.0',
    application,
    requestBytes: 10,
    tasks: tasks.map((task) => ({
      component: 'answer',
      inputs: ['request'],
      after: [],
      outputBytes: 5,
      rows: 1,
      ...task,
    })),
  });

/** withRuns is `madePlan` where searches are recorded runs in a file of the folder, which has these lines. */
async function withRuns(name: string, lines: readonly string[]): Promise<string> {
  await writeFile(join(folder, `${name}.jsonl`), lines.join('\n'));
  const plan = madePlan();
  const { chain: _, ...search } = plan.workflows[1]!;
  plan.workflows[1] = { ...search, runs: `${name}.jsonl` };
  return written(`${name}.json`, plan);
}

/** faultsOf gives the faults of an InputError, as the place and what is said. */
async function faultsOf(work: Promise<unknown>): Promise<string[]> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    // Files are named by their last part, and options without their marks.
    return error.faults.map(
      ({ path, message }) => `${path.replace(/^.*\/(?=[\w-]+\.json)|`/g, '')}: ${message}`,
    );
  }
  return [];
}

const SHORT = { duration: 2 };

describe('simulatePlan() of workflows', () => {
  it('replays the load of the plan, and gives a report without contradictions, the same again', async () => {
    const path = await written('plan.json', madePlan());
    const output = join(folder, 'report.json');
    const { report, warnings } = await simulatePlan(path, { seed: 3, output });
    expect(warnings).toEqual([]);
    expect(report.workload).toMatchObject({
      arrivals: 'poisson',
      durationS: 10,
      models: [
        { name: 'chat', rps: 15, loadFactor: 1 },
        { name: 'search', rps: 5, loadFactor: 1 },
      ],
    });
    expect(report.scheduler).toEqual({ name: 'dyorc', policy: {} });
    expect(report.models.map(({ name, sloMs }) => [name, sloMs])).toEqual([
      ['chat', 200],
      ['search', undefined],
    ]);
    expect(report.workflows?.tasks).toBeGreaterThan(report.overall.arrived);
    expect(report.links).toBeUndefined();
    const { report: again } = await simulatePlan(path, { seed: 3, output });
    expect(JSON.stringify(again)).toBe(JSON.stringify(report));
    expect(await validateFiles([output])).toMatchObject([
      { ok: true, what: expect.stringContaining('chat, search') },
    ]);
  });

  it('takes another rate, length and scheduler, and judges the shares in time', async () => {
    const path = await written('plan.json', madePlan());
    const { report } = await simulatePlan(path, {
      ...SHORT,
      rps: ['chat=40'],
      scheduler: 'round-robin',
      failUnder: 0.99,
      exact: true,
    });
    expect(report.workload.models.map(({ rps }) => rps)).toEqual([40, 0]);
    expect([report.workload.durationS, report.scheduler.name, report.percentileError]).toEqual([
      ...[2, 'round-robin', 0],
    ]);
    expect(report.workflows?.rightGuesses).toBeUndefined();
    expect(report.checks).toContainEqual(expect.objectContaining({ held: false }));
  });

  inWholeRun('simulates several seeds, each as by itself', async () => {
    const path = await written('plan.json', madePlan());
    const options = { ...SHORT, exact: true };
    const { report } = await simulatePlan(path, { ...options, runs: 2, seed: 5 });
    const alone = await Promise.all([5, 6].map((seed) => simulatePlan(path, { ...options, seed })));
    const p99s = alone.map((one) => one.report.overall.latencyMs?.p99 as number);
    expect(report.overall).toEqual(alone[0]!.report.overall);
    expect(report.runs?.overall.p99Ms).toMatchObject({ least: Math.min(...p99s), most: Math.max(...p99s) });
  });

  it('replays recorded runs of each workflow, which may share a file with those of others', async () => {
    const path = await withRuns('recorded', [
      runText('search', [{}, {}, {}]),
      runText('other', [{ component: 'sing' }]),
    ]);
    const { report } = await simulatePlan(path, { ...SHORT, rps: ['search=10'] });
    expect(report.workflows?.tasks).toBe(3 * report.overall.arrived);
    expect(report.inputs?.map(({ role }) => role)).toEqual(['plan', 'runs']);
  });

  it('reports what is wrong with recorded runs, and with all else at once', async () => {
    const missing = madePlan();
    missing.workflows[0] = { ...missing.workflows[0]!, runs: 'gone.jsonl' };
    delete missing.workflows[0]!.chain;
    await expect(simulatePlan(await written('missing.json', missing))).rejects.toThrow(MissingError);
    const faults = (lines: readonly string[], options = {}) =>
      withRuns('wrong', lines).then((path) => faultsOf(simulatePlan(path, { ...SHORT, ...options })));
    expect(await faults([runText('other', [{}])])).toEqual(['wrong.jsonl: has no runs of search']);
    expect(await faults([runText('search', [{}]), runText('search', [{ component: 'sing' }])])).toEqual([
      'wrong.jsonl: run 2 of search calls sing, which is no component of the plan',
    ]);
    expect(await faults([runText('search', [{ rows: 3 }])], { rps: ['draw=1'] })).toEqual([
      expect.stringContaining('has no model "draw"'),
      'wrong.jsonl: run 1 of search calls answer with 3 rows; a batch of it has 2 at most',
    ]);
  });

  it('refuses runs that are not those that the plan was made from', async () => {
    const text = runText('search', [{}]);
    const path = await withRuns('changed', [text]);
    const plan = madePlan();
    const { chain: _, ...search } = plan.workflows[1]!;
    plan.workflows[1] = { ...search, runs: 'changed.jsonl' };
    const sha256 = createHash('sha256').update(text).digest('hex');
    plan.inputs = [{ role: 'runs', path: 'changed.jsonl', sha256 }];
    await written('changed.json', plan);
    expect(await faultsOf(simulatePlan(path, SHORT))).toEqual([]);
    plan.inputs = [{ role: 'runs', path: 'changed.jsonl', sha256: 'b'.repeat(64) }];
    await written('changed.json', plan);
    expect(await faultsOf(simulatePlan(path, SHORT))).toEqual([
      expect.stringMatching(/^changed.jsonl: has changed since the plan was made/),
    ]);
  });

  it('refuses a plan that contradicts itself, a scheduler of stages, and each option that is for plans of stages', async () => {
    const path = await written('plan.json', madePlan());
    const broken = madePlan();
    broken.workflows[0]!.share = 0.5;
    expect(await faultsOf(simulatePlan(await written('broken.json', broken)))).toEqual([
      '/workflows: have shares that sum to 0.75, and not to 1',
    ]);
    const faults = await faultsOf(
      simulatePlan(path, {
        scheduler: 'fifo',
        tuner: 'none',
        priorities: '1=1',
        windows: 1,
        jitter: 0.1,
        slow: 2,
        timeline: join(folder, 'timeline.json'),
        verdicts: 'v.csv',
        records: 'r.csv',
        engine: 'e.json',
        preset: 'published',
      }),
    );
    expect(faults.map((said) => said.split(':')[0]).sort()).toEqual([
      ...['engine', 'jitter', 'preset', 'priorities', 'records', 'scheduler', 'slow'],
      ...['timeline', 'tuner', 'verdicts', 'windows'],
    ]);
    expect(faults.find((said) => said.startsWith('scheduler'))).toContain(
      'which serves plans of stages; valid names for workflows are dyorc, greedy',
    );
  });

  inWholeRun('serves by choices of the plan, of options and of a file, and says which', async () => {
    const path = await written('plan.json', madePlan());
    const options = { duration: 2, rps: ['chat=400'], seed: 2, exact: true };
    const dropped = async (more: object, from = path) => {
      const { report } = await simulatePlan(from, { ...options, ...more });
      return { ...report.scheduler, dropped: report.overall.dropped, report };
    };
    const own = await dropped({});
    const never = await dropped({ policy: ['dropping=never'] });
    expect([own.policy, never.policy]).toEqual([{}, { dropping: { kind: 'never' } }]);
    expect(own.dropped).toBeGreaterThan(0);
    expect(never.dropped).toBe(0);
    const choices = join(folder, 'choices.yaml');
    await writeFile(choices, 'kind: policy\nscheduler: dyorc\ndropping: never\n');
    const byFile = await dropped({ policy: [choices] });
    expect(byFile.report.inputs?.map(({ role }) => role)).toContain('policy');
    const planned = madePlan();
    planned.serving.policy = { dropping: 'never' };
    const byPlan = await dropped({}, await written('choosing.json', planned));
    for (const { report } of [byFile, byPlan]) expect(report.overall).toEqual(never.report.overall);
    // Compared schedulers have the plan's choices where they are its own.
    const { comparison } = await compareSchedulers(join(folder, 'choosing.json'), {
      ...options,
      schedulers: 'dyorc,greedy',
    });
    expect(comparison.rows.map(({ policy }) => policy)).toEqual([{ dropping: { kind: 'never' } }, {}]);
    expect(comparison.rows[0]?.meanMs?.mean).toBe(never.report.overall.latencyMs?.mean);
  });

  it('reports every choice that is none, with all else at once, and where several schedulers are compared', async () => {
    const path = await written('plan.json', madePlan());
    expect(
      await faultsOf(simulatePlan(path, { policy: ['drop=never', 'dropping.quantile=7'], jitter: 0.1 })),
    ).toEqual([
      'jitter: is of plans of stages; executions of workflows take the planned time, and this is a workflow plan',
      expect.stringContaining('there is no drop; there are prediction'),
      expect.stringContaining('it must be at most 1'),
    ]);
    expect(await faultsOf(simulatePlan(path, { scheduler: 'static', policy: ['moving=to-idle'] }))).toEqual([
      expect.stringContaining('there is no moving; there are mostTasks, mostTries'),
    ]);
    expect(
      await faultsOf(compareSchedulers(path, { schedulers: 'all', policy: ['dropping=never'] })),
    ).toEqual([expect.stringContaining('several are compared: simulate each with its own')]);
  });

  it('refuses to serve by static what devices do not hold', async () => {
    const plan = madePlan();
    plan.placement[1]!.static = [];
    const path = await written('unheld.json', plan);
    expect(await faultsOf(simulatePlan(path, { ...SHORT, scheduler: 'static' }))).toEqual([
      'scheduler: is static, which cannot serve the plan: no device holds draw',
    ]);
  });
});

describe('compareSchedulers() of workflows', () => {
  inWholeRun(
    'compares all schedulers with the same requests, each as when it is simulated alone',
    async () => {
      const path = await written('plan.json', madePlan());
      const options = { ...SHORT, exact: true, seed: 2 };
      const output = join(folder, 'schedulers.json');
      const { comparison } = await compareSchedulers(path, { ...options, schedulers: 'all', output });
      expect(comparison.rows.map(({ scheduler }) => scheduler)).toEqual([
        ...['dyorc', 'greedy', 'round-robin', 'static', 'ray-like'],
      ]);
      expect([comparison.planned, comparison.skipped]).toEqual(['dyorc', []]);
      for (const { scheduler, meanMs, p95Ms, attainment, loads, applications } of comparison.rows) {
        const { report } = await simulatePlan(path, { ...options, scheduler });
        const { latencyMs } = report.overall;
        expect([meanMs?.mean, p95Ms?.mean, attainment?.mean, loads?.mean]).toEqual([
          ...[latencyMs?.mean, latencyMs?.p95, report.overall.attainment, report.workflows?.loads],
        ]);
        expect(applications?.map(({ name, p50Ms }) => [name, p50Ms?.mean])).toEqual(
          report.models.map(({ name, requests }) => [name, requests.latencyMs?.p50]),
        );
      }
      expect(await validateFiles([output])).toMatchObject([{ ok: true }]);
    },
  );

  it('leaves out of all those that cannot serve the plan, and refuses them by name, and names that are none', async () => {
    const plan = madePlan();
    plan.placement[1]!.static = [];
    const path = await written('unheld.json', plan);
    const { comparison } = await compareSchedulers(path, { ...SHORT, schedulers: 'all' });
    expect(comparison.skipped).toEqual([{ scheduler: 'static', reason: 'no device holds draw' }]);
    expect(comparison.rows).toHaveLength(4);
    const faults = (schedulers: string) => faultsOf(compareSchedulers(path, { ...SHORT, schedulers }));
    expect(await faults('greedy,static')).toEqual([
      'schedulers: names static, which cannot serve the plan: no device holds draw',
    ]);
    expect(await faults('greedy,fifo')).toEqual([
      expect.stringContaining('is fifo, which serves plans of stages'),
    ]);
    expect(await faults('greedi')).toEqual([expect.stringContaining('did you mean greedy')]);
    expect(await faults(',')).toEqual([expect.stringContaining('names no scheduler; take all')]);
  });
});

describe('A workflow plan', () => {
  it('is validated and compared as plans of other kinds are', async () => {
    const path = await written('plan.json', madePlan());
    const changed = madePlan();
    changed.workflows[0]!.sloMs = 100;
    const other = await written('other.json', changed);
    expect(await validateFiles([path])).toMatchObject([
      { ok: true, what: expect.stringContaining('workflow plan of chat, search') },
    ]);
    expect((await diffPlanFiles(path, path)).same).toBe(true);
    const { checks } = await diffPlanFiles(path, other, {
      tolerance: { slo: { most: 0, isShare: false } },
      check: true,
    });
    // The other has no SLO in either plan.
    expect(checks).toMatchObject([{ model: 'chat', held: false }]);
  });

  it('cannot be deployed without programs or in several groups, or swept yet, which is said', async () => {
    const path = await written('plan.json', madePlan());
    expect(await faultsOf(deployPlan(path, { output: join(folder, 'bundle') }))).toEqual(
      expect.arrayContaining([
        expect.stringContaining('chat has no program'),
        expect.stringContaining('search has no program'),
        expect.stringContaining('it names 0 profiles for 2 components'),
      ]),
    );
    const grouped = { ...madePlan(), subclusters: 2 };
    grouped.placement[2]!.subcluster = 1;
    const inGroups = await written('grouped.json', grouped);
    expect(await faultsOf(deployPlan(inGroups, { output: join(folder, 'bundle') }))).toContain(
      '/subclusters: is 2; a server serves one group of devices, with one scheduler',
    );
    expect(await faultsOf(sweepPlan(path, { sweep: 'load=0.5..1' }))).toEqual([
      'plan.json: is a workflow plan, and workflow plans cannot be simulated like this yet',
    ]);
  });
});
