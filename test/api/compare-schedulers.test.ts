import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type CompareSchedulersOptions,
  compareSchedulers,
  diffPlanFiles,
  simulatePlan,
  validateFiles,
} from '../../src/api/index.js';
import { loadArtifact } from '../../src/artifacts/index.js';
import type {
  ComparedFigure,
  ComparedScheduler,
  SchedulerComparison,
  SimulatedWindow,
  SimulationReport,
} from '../../src/formats/index.js';
import { SCHEDULER_NAMES } from '../../src/serving/index.js';
import type { SimulationSettings } from '../../src/simulation/index.js';
import { inWholeRun, inWholeRunOnly, whole } from '../cases.js';

/** One scheduler of each family of choices, and the one that serves pooled plans alone. */
const FEW = ['reservation', 'reactive', 'stage-local', 'pard', 'naive', 'triton'] as const;

let folder: string;
/** The example plans stand alone: beside their specs, each simulation would have them solved again. */
let POOLED: string;
let PIPELINE: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-schedulers-'));
  [POOLED, PIPELINE] = (await Promise.all(
    ['pooled', 'pipeline'].map(async (example) => {
      const alone = join(folder, `${example}.json`);
      await copyFile(new URL(`../../examples/${example}/expected-plan.json`, import.meta.url), alone);
      return alone;
    }),
  )) as [string, string];
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const compared = async (plan: string, options: CompareSchedulersOptions): Promise<SchedulerComparison> =>
  (await compareSchedulers(plan, options)).comparison;

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** dropsOf adds up the drops of a report by place, those of pooled plans with the model's name before it. */
function dropsOf({ drops, overall }: SimulationReport): Record<string, number> {
  const shares: Record<string, number> = {};
  for (const { model, place, count } of drops) {
    const name = place.includes('/') ? `${model}/${place}` : place;
    shares[name] = (shares[name] ?? 0) + count / overall.arrived;
  }
  return shares;
}

/** windowsOf joins the windows of a second of a report to whole ones of so many seconds in which requests came. */
function windowsOf({ windows, workload }: SimulationReport, seconds: number) {
  const rows = windows?.rows ?? [];
  const windowsHeld = Array.from({ length: Math.floor(workload.durationS / seconds) }, (_, i) =>
    rows.slice(i * seconds, (i + 1) * seconds),
  );
  const sum = (of: typeof rows, name: 'inTime' | 'late' | 'dropped' | 'arrived') =>
    of.reduce((total, row) => total + row[name], 0);
  return windowsHeld
    .filter((of) => sum(of, 'arrived') > 0)
    .map((of) => ({
      goodputRps: sum(of, 'inTime') / seconds,
      attainment: sum(of, 'inTime') / sum(of, 'arrived'),
      dropRate: (sum(of, 'late') + sum(of, 'dropped')) / sum(of, 'arrived'),
    }));
}

/** figuresOf gives what a row should have of one run, found in a report of `simulatePlan`. */
function figuresOf(report: SimulationReport): Record<string, number | undefined> {
  const { overall } = report;
  const worst = [1, 10].map((seconds) => {
    const windows = windowsOf(report, seconds);
    return {
      [`least ${seconds}`]: Math.min(...windows.map(({ goodputRps }) => goodputRps)),
      [`attainment ${seconds}`]: Math.min(...windows.map(({ attainment }) => attainment)),
      [`dropped ${seconds}`]: Math.max(...windows.map(({ dropRate }) => dropRate)),
    };
  });
  return {
    goodputRps: overall.goodputRps,
    attainment: overall.attainment,
    dropRate: overall.dropRate,
    invalidRate: overall.invalidRate,
    meanMs: overall.latencyMs?.mean,
    p50Ms: overall.latencyMs?.p50,
    p95Ms: overall.latencyMs?.p95,
    p99Ms: overall.latencyMs?.p99,
    ...worst[0],
    ...worst[1],
    ...Object.fromEntries(Object.entries(dropsOf(report)).map(([place, share]) => [`at ${place}`, share])),
  };
}

/** figuresIn gives the same of a row. Places without drops are left out, as reports do. */
function figuresIn(row: ComparedScheduler): Record<string, ComparedFigure | undefined> {
  const { goodputRps, attainment, dropRate, invalidRate, meanMs, p50Ms, p95Ms, p99Ms } = row;
  const drops = Object.entries(row.dropsByStage ?? {}).filter(([, share]) => share.mean > 0);
  return {
    goodputRps,
    attainment,
    dropRate,
    invalidRate,
    meanMs,
    p50Ms,
    p95Ms,
    p99Ms,
    ...Object.fromEntries(
      row.worstWindows.flatMap(({ seconds, leastGoodputRps, leastAttainment, largestDropRate }) => [
        [`least ${seconds}`, leastGoodputRps],
        [`attainment ${seconds}`, leastAttainment],
        [`dropped ${seconds}`, largestDropRate],
      ]),
    ),
    ...Object.fromEntries(drops.map(([place, share]) => [`at ${place}`, share])),
  };
}

/** alone simulates a row by itself: with its scheduler and those of the choices that applied to it. */
async function alone(
  plan: string,
  row: ComparedScheduler,
  { schedulers: _, ...options }: Omit<SimulationSettings, 'signal'> & { readonly schedulers: string },
): Promise<Record<string, number | undefined>> {
  const { scheduler } = row;
  const one = { ...options, scheduler };
  const { report } = await simulatePlan(plan, { ...one, windows: 1 });
  expect(report.scheduler).toEqual({
    name: scheduler,
    policy: row.policy,
    ...(row.tuner === undefined ? {} : { tuner: row.tuner }),
  });
  return figuresOf(report);
}

describe('compareSchedulers()', () => {
  const LOADS: [string, () => string, object][] = [
    ['a pooled plan with jitter', () => POOLED, { load: 0.95, duration: 11, jitter: 0.2, exact: true }],
    ['a pooled plan', () => POOLED, { load: 1.1, duration: 12.5, seed: 7 }],
    ['a pipeline with a tuner', () => PIPELINE, { load: 0.9, duration: 11, tuner: 'hpa' }],
    ['a pipeline', () => PIPELINE, { load: 1.2, duration: 11 }],
  ];
  it.each(inWholeRunOnly(LOADS))(
    'gives for each scheduler of %s what it has alone',
    async (_, planOf, given) => {
      const plan = planOf();
      // A tuner changes how many devices there are, which the reservation scheduler cannot have.
      const few = FEW.filter((name) => !('tuner' in given) || name !== 'reservation');
      const options = { ...given, schedulers: whole(few.join(), 'all') };
      const { rows, skipped } = await compared(plan, options);
      expect(rows.length).toBeGreaterThan(3);
      expect([...rows, ...skipped].map(({ scheduler }) => scheduler).sort()).toEqual(
        [...whole<readonly string[]>(few, SCHEDULER_NAMES)].sort(),
      );
      for (const row of rows) {
        const found = figuresIn(row);
        for (const figure of Object.values(found)) {
          expect(figure?.low).toBe(figure?.mean);
          expect(figure?.high).toBe(figure?.mean);
        }
        const expected = await alone(plan, row, options);
        expect(Object.keys(found).sort()).toEqual(Object.keys(expected).sort());
        for (const [name, figure] of Object.entries(found))
          expect([name, figure?.mean]).toEqual([name, expect.closeTo(expected[name] as number, 9)]);
      }
    },
  );

  inWholeRun(
    'gives of several runs the means of single ones, with intervals as reports have them',
    async () => {
      const alike = { load: 1.05, duration: whole(2, 10), seed: 3 };
      const options = { ...alike, schedulers: 'fifo,reactive' };
      const comparison = await compared(POOLED, { ...options, runs: 3 });
      expect(comparison).toMatchObject({ seed: 3, runs: 3, confidence: 0.95, complete: true });
      for (const row of comparison.rows) {
        const single = await Promise.all([3, 4, 5].map((seed) => alone(POOLED, row, { ...options, seed })));
        for (const [name, figure] of Object.entries(figuresIn(row))) {
          const values = single.map((one) => one[name] ?? 0);
          expect([name, figure?.mean]).toEqual([name, expect.closeTo(mean(values), 9)]);
          expect(figure?.low).toBeLessThanOrEqual(Math.min(...values));
          expect(figure?.high).toBeGreaterThanOrEqual(Math.max(...values));
        }
        const { report } = await simulatePlan(POOLED, { ...alike, scheduler: row.scheduler, runs: 3 });
        const { attainment, goodputRps, p99Ms } = report.runs?.overall ?? {};
        for (const [mine, theirs] of [
          [row.attainment, attainment],
          [row.goodputRps, goodputRps],
          [row.p99Ms, p99Ms],
        ] as const)
          expect(mine).toEqual({
            mean: theirs?.mean,
            low: Math.max(0, theirs?.low as number),
            high: theirs?.high,
          });
      }
    },
  );

  inWholeRun('applies a choice where it exists, as that scheduler alone would have it', async () => {
    const policy = ['drop=expired', 'tables=gaps', 'mostTries=1'];
    const options = { schedulers: 'reservation,stage-local', load: 1.1, duration: whole(3, 10) };
    const { rows, choices } = await compared(POOLED, { ...options, policy });
    expect(choices).toEqual([
      { choice: 'drop=expired', applied: ['stage-local'], notApplied: ['reservation'] },
      { choice: 'tables=gaps', applied: ['reservation'], notApplied: ['stage-local'] },
      { choice: 'mostTries=1', applied: ['reservation', 'stage-local'], notApplied: [] },
    ]);
    for (const row of rows) {
      const own = (choices ?? []).filter(({ applied }) => applied.includes(row.scheduler));
      const expected = await alone(POOLED, row, { ...options, policy: own.map(({ choice }) => choice) });
      expect(row.attainment?.mean).toBe(expected.attainment);
    }
    const plain = await compared(POOLED, options);
    expect(plain.choices).toBeUndefined();
    expect(rows[1]?.dropsByStage).not.toEqual(plain.rows[1]?.dropsByStage);
  });

  inWholeRun(
    'gives the same requests to all: as many arrive in every window, whoever serves them',
    async () => {
      const comparison = await compared(PIPELINE, {
        schedulers: 'all',
        load: 1.1,
        duration: 5.5,
        windows: 1,
        runs: 2,
      });
      expect(comparison.windowS).toBe(1);
      const offered = comparison.rows.map(({ windows }) =>
        windows?.map(({ fromS, offeredRps }) => [fromS, offeredRps]),
      );
      expect(offered[0]).toHaveLength(6);
      for (const one of offered) expect(one).toEqual(offered[0]);
      const [row] = comparison.rows as [ComparedScheduler];
      const { report } = await simulatePlan(PIPELINE, {
        scheduler: row.scheduler,
        load: 1.1,
        duration: 5.5,
        windows: 1,
        seed: 1,
      });
      const second = report.windows?.rows ?? [];
      const { report: first } = await simulatePlan(PIPELINE, {
        scheduler: row.scheduler,
        load: 1.1,
        duration: 5.5,
        windows: 1,
      });
      row.windows?.forEach((window, i) => {
        const both = [first.windows?.rows[i], second[i]] as SimulatedWindow[];
        expect(window.goodputRps.mean).toBeCloseTo(mean(both.map(({ goodputRps }) => goodputRps)), 9);
        expect(window.attainment?.mean).toBeCloseTo(mean(both.map((one) => one.attainment as number)), 9);
        expect(window.p99Ms?.mean).toBeCloseTo(
          mean(both.map(({ latencyMs }) => latencyMs?.p99 as number)),
          9,
        );
      });
    },
  );

  inWholeRun(
    'gives the same bytes whatever the number of threads, and writes a file that is valid',
    async () => {
      const files = await Promise.all(
        [1, 2, 3].map(async (threads) => {
          const output = join(folder, `threads-${threads}.json`);
          const options = { schedulers: 'all', duration: 2, runs: 3, jitter: 0.1, windows: 1 };
          const comparison = await compared(POOLED, { ...options, threads, output });
          expect((await loadArtifact(output, ['scheduler-comparison'])).value).toEqual(comparison);
          return readFile(output, 'utf8');
        }),
      );
      expect(files[1]).toBe(files[0]);
      expect(files[2]).toBe(files[0]);
      const path = join(folder, 'threads-1.json');
      expect(await validateFiles([path])).toEqual([
        {
          path,
          ok: true,
          what: expect.stringMatching(/^comparison of the schedulers reservation, .*: 3 runs each, seed 0$/),
        },
      ]);
      await expect(diffPlanFiles(path, POOLED)).rejects.toThrow('its kind is "scheduler-comparison"');
    },
  );

  it('is valid of a hundredth of a second too, in which few requests come or many', async () => {
    const output = join(folder, 'short.json');
    for (let seed = 1; seed <= 3; seed++) {
      await compared(PIPELINE, { schedulers: 'stage-local', duration: 0.01, seed, output });
      expect(await validateFiles([output])).toMatchObject([{ ok: true }]);
    }
  });

  inWholeRun('has no figures where no request came, in one run or several', async () => {
    for (const runs of [1, 3]) {
      const { rows } = await compared(POOLED, { schedulers: 'all', duration: 1e-6, windows: 1, runs });
      for (const { scheduler: _, policy: __, ...figures } of rows)
        expect(figures).toEqual({
          goodputRps: { mean: 0, low: 0, high: 0 },
          worstWindows: [],
          windows: [
            {
              fromS: 0,
              offeredRps: { mean: 0, low: 0, high: 0 },
              goodputRps: { mean: 0, low: 0, high: 0 },
            },
          ],
        });
    }
  });

  inWholeRun(
    'gives up what runs when it is interrupted, and counts the seeds that are done for all',
    async () => {
      const abort = new AbortController();
      const options = { schedulers: 'fifo,stage-local,reactive', duration: 5, threads: 1 };
      const output = join(folder, 'interrupted.json');
      const { comparison } = await compareSchedulers(POOLED, {
        ...options,
        output,
        runs: 1000,
        signal: abort.signal,
        onProgress: ({ done, of }) => {
          expect(of).toBe(3000);
          if (done === 7) abort.abort();
        },
      });
      expect(comparison).toMatchObject({ complete: false, runs: 2, skipped: [] });
      const whole = await compared(POOLED, { ...options, runs: 2 });
      expect(comparison.rows).toEqual(whole.rows);
      expect((await loadArtifact(output, ['scheduler-comparison'])).value).toEqual(comparison);
    },
  );

  it('has the rows of those that are done where it is interrupted in the first seed', async () => {
    const abort = new AbortController();
    const { comparison } = await compareSchedulers(POOLED, {
      schedulers: 'fifo,stage-local',
      duration: 5,
      threads: 1,
      runs: 2,
      signal: abort.signal,
      onProgress: ({ done }) => {
        if (done === 1) abort.abort();
      },
    });
    expect(comparison).toMatchObject({
      complete: false,
      runs: 1,
      rows: [{ scheduler: 'fifo' }],
      skipped: [{ scheduler: 'stage-local', reason: 'the comparison was interrupted before it' }],
    });
    abort.abort();
    const none = await compared(POOLED, { schedulers: 'fifo', duration: 5, signal: abort.signal });
    expect(none).toMatchObject({ complete: false, runs: 0, rows: [], skipped: [{ scheduler: 'fifo' }] });
  });

  inWholeRun('takes the settings of a load and warns of it as a single run does', async () => {
    const trace = join(folder, 'trace.csv');
    await writeFile(trace, '1,50\n1,90\n');
    const options = { schedulers: 'fifo', traces: [trace], duration: 4 };
    const { comparison, warnings } = await compareSchedulers(POOLED, options);
    const single = await simulatePlan(POOLED, { scheduler: 'fifo', traces: [trace], duration: 4 });
    expect(comparison.workload).toEqual(single.report.workload);
    expect(comparison.inputs?.map(({ role }) => role)).toEqual(['plan', 'trace']);
    expect(warnings).toEqual(single.warnings);
    expect(warnings).toHaveLength(1);
  });

  it('names the scheduler that drops nothing where drop=never is refused under the default of pipelines', async () => {
    const refused = simulatePlan(POOLED, { duration: 1, scheduler: 'room-first', policy: ['drop=never'] });
    await expect(refused).rejects.toThrow(/deadline and never; the scheduler inferline drops nothing/);
    const { report } = await simulatePlan(POOLED, { load: 3, duration: 1, scheduler: 'inferline' });
    expect(report.overall).toMatchObject({
      dropped: 0,
      arrived: report.overall.inTime + report.overall.late,
    });
  });

  it('skips a scheduler with whose own choices a choice cannot be combined, and refuses it where it is named', async () => {
    const options = { duration: 1, policy: ['drop=expired'] };
    const { comparison } = await compareSchedulers(POOLED, { ...options, schedulers: 'all' });
    const of = ({ scheduler }: { scheduler: string }) => scheduler === 'room-first';
    expect(comparison.rows.some(of)).toBe(false);
    expect(comparison.skipped.find(of)?.reason).toMatch(/^room-first needs .* and drop=end-to-end/);
    const named = compareSchedulers(POOLED, { ...options, schedulers: 'fifo,room-first' });
    await expect(named).rejects.toThrow(
      /names room-first, which cannot serve the plan: .*; .*, naive, ray-serve, ray-serve-batch, triton can$/m,
    );
  });

  it('reports all faults at once, and writes nothing', async () => {
    const before = await readdir(folder);
    const output = join(folder, 'not.json');
    const wrong = { schedulers: 'nope', runs: 0, slow: 0, windows: -1, output };
    const refused = compareSchedulers(POOLED, wrong);
    for (const said of ['`schedulers`: names "nope"', '`runs`: is 0', '`slow`: is 0', '`windows`: is less'])
      await expect(refused).rejects.toThrow(said);
    await expect(
      compareSchedulers(POOLED, { schedulers: 'fifo,reactive', duration: 100, windows: 0.001, runs: 10 }),
    ).rejects.toThrow(/gives 2000000 windows over 10 runs of 2 schedulers; at most 400000 are compared/);
    await expect(compareSchedulers(POOLED, { schedulers: 'all', output: POOLED })).rejects.toThrow(
      'the plan',
    );
    expect(await readdir(folder)).toEqual(before);
  });
});
