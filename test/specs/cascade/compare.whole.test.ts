import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseArtifact } from '../../../src/artifacts/index.js';
import { type CascadeSpec, type CompareRow, InputError } from '../../../src/formats/index.js';
import { compareSpec, solveSpec } from '../../../src/specs/index.js';
import { FAMILY, FAMILY_SPEC, familyProfile, writeFamily } from '../../cascade-specs.js';
import { inWholeRun, whole } from '../../cases.js';
import { plan } from '../../cli/plan.js';

let folder: string;
let spec: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-compared-'));
  spec = await writeFamily(folder, FEW_RANGES);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Each range of a plan is confirmed by simulations of its own: fewer are as good where nothing is asked of them. */
const FEW_RANGES = whole({ load: { maxRps: 400, ranges: 1 } }, {});

const at = (name: string): string => join(folder, name);

/** setCluster writes the devices of each class, and measures the family on K80s too: half as fast as V100s. */
async function setCluster(counts: Readonly<Record<string, number>>): Promise<void> {
  const prices: Record<string, number> = { V100: 3, K80: 1 };
  const devices = Object.entries(counts).map(([name, count]) => [name, { count, hourlyCost: prices[name] }]);
  await writeFile(at('cluster.yaml'), JSON.stringify({ devices: Object.fromEntries(devices) }));
  for (const [model, name] of FAMILY.entries()) {
    const { devices: measured, ...profile } = familyProfile(model);
    const [{ blockLatencyUs } = { blockLatencyUs: {} }] = Object.values(measured);
    const slower = Object.entries(blockLatencyUs['1'] ?? {}).map(([batch, us]) => [
      batch,
      us.map((one) => 2 * (one as number)),
    ]);
    const K80 = { blockLatencyUs: { 1: Object.fromEntries(slower) } };
    await writeFile(at(`${name}.json`), JSON.stringify({ ...profile, devices: { ...measured, K80 } }));
  }
}

/** aloneRow solves the spec with an SLO by itself, and gives what its row must have. */
async function aloneRow(slo: CascadeSpec['slo'], head: object): Promise<object> {
  await writeFile(spec, JSON.stringify({ ...FAMILY_SPEC, ...FEW_RANGES, slo }));
  const solved = await solveSpec(spec);
  if (solved.outcome === 'gear-plan') {
    const { status, objective, accuracy, p95Ms, hourlyCost } = solved.plan;
    return { ...head, status, objective, accuracy, p95Ms, hourlyCost };
  }
  return { ...head, status: 'infeasible', reasons: 'reasons' in solved ? solved.reasons : [] };
}

function gapOf({ objective }: CompareRow): number {
  const { value, bound } = objective as NonNullable<CompareRow['objective']>;
  return Math.max(value, bound) / Math.min(value, bound) - 1;
}

describe('compareSpec() of a cascade', () => {
  it('gives the reasons of classes that a mix has before those of classes that it has none of', async () => {
    await setCluster({ V100: 1, K80: 1 });
    const { document } = await compareSpec(spec, { mixes: ['V100=0,K80=1'], sweeps: ['slo=0.01ms'] });
    const { reasons = [] } = document.rows[0] as CompareRow;
    expect(reasons.length).toBeGreaterThan(1);
    expect(reasons.slice(0, -1).filter((reason) => reason.startsWith('V100: '))).toEqual([]);
    expect(reasons.at(-1)).toMatch(/^V100: /);
  });

  inWholeRun('gives for each cluster and latency what solving it alone gives', async () => {
    const latenciesMs = [0.7, 30.7, 60.7];
    const counts = [1, 2];
    const mixes = counts.map((count) => `V100=${count}`);
    const { document } = await compareSpec(spec, {
      mixes,
      sweeps: [`slo=0.7ms..60.7ms:${latenciesMs.length}`],
    });
    parseArtifact(JSON.stringify(document), 'comparison', ['comparison']);
    expect(document).toMatchObject({
      complete: true,
      cases: counts.length * latenciesMs.length,
      version: '1.5',
    });
    const alone: object[] = [];
    for (const count of counts) {
      await writeFile(at('cluster.yaml'), `devices: { V100: { count: ${count}, hourlyCost: 3 } }\n`);
      for (const latencyMs of latenciesMs)
        alone.push(
          await aloneRow({ latencyMs }, { mix: { V100: count }, slo: `${latencyMs} ms`, sloMs: [latencyMs] }),
        );
    }
    expect(document.rows).toMatchObject(alone);
    const plans = document.rows.filter(({ accuracy }) => accuracy !== undefined);
    expect(new Set(plans.map(({ accuracy }) => accuracy)).size).toBeGreaterThan(2);
    expect(new Set(document.rows.map(({ status }) => status)).has('infeasible')).toBe(true);
    for (const row of plans) {
      expect(row.throughputRps).toBe(400);
      expect(row.objective?.gap).toBeCloseTo(gapOf(row), 12);
      expect(row.costPerMillionRequests).toBeCloseTo(((row.hourlyCost as number) / 3600 / 400) * 1e6, 9);
    }
  });

  inWholeRun(
    'never is less accurate, and has no lower bound, as latencies grow and devices come',
    async () => {
      await setCluster({ V100: 1, K80: 1 });
      const mixes = ['K80=1', 'V100=1', 'V100=1,K80=2', 'V100=2,K80=2'];
      const latencies = 4;
      const { document } = await compareSpec(spec, { mixes, sweeps: [`slo=3x..90x:${latencies}`] });
      const [first] = document.rows;
      expect(first?.sloMs[0]).toBeCloseTo(3 * 0.8, 9);
      const accuracies = document.rows.map(({ accuracy }) => accuracy ?? 0);
      const bounds = document.rows.map(({ objective }) => objective?.bound ?? 0);
      for (const figures of [accuracies, bounds]) {
        expect(figures).toHaveLength(mixes.length * latencies);
        for (let row = 0; row < figures.length; row++) {
          if (row % latencies > 0) expect(figures[row]!).toBeGreaterThanOrEqual(figures[row - 1]!);
          if (row >= 2 * latencies) expect(figures[row]!).toBeGreaterThanOrEqual(figures[row - latencies]!);
        }
      }
      expect(accuracies.filter((accuracy) => accuracy > 0).length).toBeGreaterThan(9);
      for (const { status, objective } of document.rows)
        if (objective !== undefined) {
          expect(objective.bound).toBeGreaterThanOrEqual(objective.value);
          expect(status).toBe((objective.gap ?? 1) <= 1e-12 ? 'optimal' : 'feasible');
        }
    },
  );

  inWholeRun('asks for the accuracies of a sweep, where the p95 grows with what is promised', async () => {
    await writeFamily(folder, { ...FEW_RANGES, slo: { accuracy: 0.6 } });
    const { document } = await compareSpec(spec, { sweeps: ['accuracy=0.7..0.99:4'] });
    expect(document.rows.map(({ sloAccuracy }) => sloAccuracy)).toEqual([
      0.7, 0.796666666667, 0.893333333333, 0.99,
    ]);
    const planned = document.rows.filter(({ status }) => status !== 'infeasible');
    expect(planned.length).toBeGreaterThan(1);
    const values = planned.map(({ objective }) => objective?.value as number);
    expect(values).toEqual(values.toSorted((a, b) => a - b));
    for (const { accuracy, sloAccuracy, p95Ms, objective, sloMs } of planned) {
      expect(accuracy).toBeGreaterThanOrEqual(sloAccuracy as number);
      expect(objective?.kind).toBe('latency');
      // The latency that is promised is no less than what was simulated.
      expect(objective?.value).toBeGreaterThanOrEqual(p95Ms as number);
      expect(sloMs).toEqual([]);
    }
    expect(document.rows.at(-1)).toMatchObject({
      status: 'infeasible',
      reasons: [expect.stringContaining('0.99 is promised')],
    });
  });

  const MERITS: [CascadeSpec['slo'], (row: CompareRow) => number][] = [
    [{ latencyMs: 200 }, ({ accuracy }) => accuracy as number],
    [{ accuracy: 0.7 }, ({ p95Ms }) => -(p95Ms as number)],
  ];
  for (const [slo, meritOf] of MERITS)
    inWholeRun(
      `compares what a budget buys of each class, and marks mixes that are neither cheaper nor as good: ${JSON.stringify(slo)}`,
      async () => {
        await setCluster({ V100: 0, K80: 1 });
        await writeFile(spec, JSON.stringify({ ...FAMILY_SPEC, ...FEW_RANGES, slo }));
        const { document } = await compareSpec(spec, {
          budget: 6.5,
          mixes: ['V100=4', 'K80=1,V100=1'],
        });
        expect(document.rows.map(({ mix }) => mix)).toEqual([
          { V100: 4, K80: 0 },
          { V100: 1, K80: 1 },
          { V100: 2, K80: 0 },
          { V100: 0, K80: 6 },
        ]);
        const priced = document.rows.map((row) => ({ cost: row.hourlyCost as number, merit: meritOf(row) }));
        const marks = priced.map(
          (one) =>
            !priced.some(
              (other) =>
                other.cost <= one.cost &&
                other.merit >= one.merit &&
                (other.cost < one.cost || other.merit > one.merit),
            ),
        );
        expect(document.rows.map(({ frontier }) => frontier)).toEqual(marks);
        expect(new Set(marks).size).toBe(2);
      },
    );

  it('reports all options that are not for cascades at once, and what is swept wrongly', async () => {
    const asked = compareSpec(spec, {
      gap: 0.1,
      hold: 0.9,
      mixes: ['P4=1'],
      sweeps: ['margin=0.1', 'accuracy=0..1', 'slo=5'],
    });
    const error = await asked.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InputError);
    expect((error as InputError).faults.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      '`hold`: is not for specs of kind cascade',
      '`sweeps` "margin=0.1": sweeps margins, which only pooled specs have',
      '`sweeps` "accuracy=0..1": leaves the accuracies: they are above 0 and at most 1',
      '`sweeps` "slo=5": needs a unit: x (times the fastest latency), ms or s',
      '`mixes` "P4=1": the cluster has no class P4; it has V100',
    ]);
  });

  it('refuses a budget that buys nothing, classes without a price, and nothing to compare', async () => {
    await expect(compareSpec(spec, { budget: 2 })).rejects.toThrow(
      '`budget`: 2 an hour buys no device: the cheapest, V100, costs 3',
    );
    await writeFile(at('cluster.yaml'), 'devices: { V100: { count: 2 } }\n');
    await expect(compareSpec(spec, { budget: 2 })).rejects.toThrow('has no hourlyCost, which `budget` needs');
    await expect(compareSpec(spec, {})).rejects.toThrow('nothing to compare');
  });

  inWholeRun('says that the work ended the search, and gives what was found until then', async () => {
    const { code, stdout } = await plan(['compare', spec, '--mix', 'V100=2', '--work', '1', '--json']);
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({ rows: [{ mix: { V100: 2 } }] });
  });

  inWholeRun('prints accuracy, p95 and the devices that are used, and writes them as CSV', async () => {
    const mixes = whole(['V100=1'], ['V100=1', 'V100=2']);
    const command = ['compare', spec, ...mixes.flatMap((mix) => ['--mix', mix]), '-o', at('rows.csv')];
    const { code, stdout } = await plan(command);
    expect(code).toBe(0);
    expect(stdout.split('\n')[2]?.trim().split(/ {2,}/)).toEqual([
      'mix',
      'plan',
      'accuracy',
      'with 95 % confidence',
      'p95 ms',
      'devices used',
      'cost/h',
      'cost/million',
      'bound',
      'gap',
      ...whole([], ['frontier']),
    ]);
    const shown = stdout.split('\n').filter((line) => /^\d V100 /.test(line));
    expect(shown.map((line) => line.split(/ {2,}/)[5])).toEqual(mixes.map((_, i) => `${i + 1} V100`));
    const [head = '', ...rows] = (await readFile(at('rows.csv'), 'utf8')).trim().split('\n');
    const { document } = await compareSpec(spec, { mixes });
    const columns = head.split(',');
    for (const [i, { accuracy, accuracyInterval, p95Ms }] of document.rows.entries()) {
      const cells = rows[i]?.split(',') ?? [];
      expect(cells[columns.indexOf('accuracy')]).toBe(String(accuracy));
      expect(cells[columns.indexOf('accuracyLow')]).toBe(String(accuracyInterval?.low));
      expect(cells[columns.indexOf('accuracyHigh')]).toBe(String(accuracyInterval?.high));
      expect(cells[columns.indexOf('samples')]).toBe(String(accuracyInterval?.samples));
      expect(cells[columns.indexOf('p95Ms')]).toBe(String(p95Ms));
    }
    expect(rows).toHaveLength(mixes.length);
  });
});
