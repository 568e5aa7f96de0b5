import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { parseArtifact } from '../../../src/artifacts/index.js';
import { InputError, type PipelineSpec } from '../../../src/formats/index.js';
import { compareSpec, solveSpec } from '../../../src/specs/index.js';
import { inWholeRun, whole } from '../../cases.js';
import { plan } from '../../cli/plan.js';

const EXAMPLE = new URL('../../../examples/pipeline', import.meta.url).pathname;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-compared-'));
  await cp(EXAMPLE, folder, { recursive: true });
  await writeSpec({});
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);
const MIXES = ['L4=4,T4=4', 'L4=8,T4=12', 'L4=1,T4=12'];

type ClusterFile = { devices: Record<string, { count?: number }>; networkGbps?: number };

async function writeSpec(change: Partial<PipelineSpec>, counts?: Record<string, number>): Promise<void> {
  const spec = parse(await readFile(join(EXAMPLE, 'spec.yaml'), 'utf8')) as PipelineSpec;
  delete spec.shared;
  for (const stage of spec.stages)
    for (const key of ['device', 'batch', 'replicas', 'standby'] as const) delete stage[key];
  const load = { arrivals: 'gamma' as const, rps: 600, cv: 2, duration: whole('1s', '5s') };
  // Where a link can be waited for, or another scheduler serves, the exact method proves nothing.
  const serving = { scheduler: 'inferline' };
  await writeFile(
    at('spec.yaml'),
    stringify({ ...spec, planner: { method: 'exact' }, serving, load, ...change }),
  );
  const { networkGbps: _, ...cluster } = parse(
    await readFile(join(EXAMPLE, 'cluster.yaml'), 'utf8'),
  ) as ClusterFile;
  if (counts !== undefined)
    for (const [name, device] of Object.entries(cluster.devices)) device.count = counts[name] ?? 0;
  await writeFile(at('cluster.yaml'), stringify(cluster));
}

describe('compareSpec() of a pipeline', () => {
  inWholeRun('gives for each cluster and SLO what solving it alone gives, and proves it', async () => {
    const counted = whole(
      [{ L4: 8, T4: 12 }],
      [
        { L4: 4, T4: 4 },
        { L4: 8, T4: 12 },
        { L4: 1, T4: 12 },
      ],
    );
    const mixes = counted.map(({ L4, T4 }) => `L4=${L4},T4=${T4}`);
    const { document } = await compareSpec(at('spec.yaml'), {
      mixes,
      sweeps: [`slo=${whole(100, 60)}ms..140ms:2`],
    });
    parseArtifact(JSON.stringify(document), 'comparison', ['comparison']);
    expect(document).toMatchObject({ complete: true, cases: 2 * mixes.length });
    const alone: object[] = [];
    for (const counts of counted)
      for (const sloMs of [whole(100, 60), 140]) {
        await writeSpec({ sloMs }, counts);
        const solved = await solveSpec(at('spec.yaml'));
        if (solved.outcome === 'pipeline-plan') {
          const { status, objective, hourlyCost, sample } = solved.plan;
          alone.push({ sloMs: [sloMs], status, objective, hourlyCost, attainment: sample?.attainment });
        } else if (solved.outcome === 'infeasible')
          alone.push({ sloMs: [sloMs], status: 'infeasible', reasons: solved.reasons });
      }
    expect(document.rows).toMatchObject(alone);
    expect(new Set(document.rows.map(({ status }) => status))).toEqual(
      new Set(whole(['optimal'], ['optimal', 'infeasible'])),
    );
  });

  inWholeRun(
    'never costs more as the SLO grows, by the greedy method too, and says what any plan costs at least',
    async () => {
      await writeSpec({ planner: { method: 'inferline' } });
      const { document } = await compareSpec(at('spec.yaml'), {
        sweeps: whole(['slo=2x..14x:4'], ['slo=2x..14x:7']),
      });
      const slos = whole(['2x', '6x', '10x', '14x'], ['2x', '4x', '6x', '8x', '10x', '12x', '14x']);
      expect(document.rows.map(({ slo }) => slo)).toEqual(slos);
      expect(document.rows[1]!.sloMs[0]).toBeCloseTo(whole(3, 2) * document.rows[0]!.sloMs[0]!, 9);
      const costs = document.rows.map(({ hourlyCost }) => hourlyCost ?? Number.POSITIVE_INFINITY);
      const bounds = document.rows.map(({ objective }) => objective?.bound ?? Number.POSITIVE_INFINITY);
      expect(costs.filter((cost) => cost < Number.POSITIVE_INFINITY).length).toBeGreaterThan(whole(2, 4));
      expect(costs).toEqual(costs.toSorted((a, b) => b - a));
      expect(bounds).toEqual(bounds.toSorted((a, b) => b - a));
      for (const { attainment = 1 } of document.rows) expect(attainment).toBeGreaterThanOrEqual(0.99);
    },
  );

  inWholeRun('says of a cluster without a plan why, and which SLO could be met', async () => {
    const { document } = await compareSpec(at('spec.yaml'), { sweeps: ['slo=5ms'] });
    const [row] = document.rows;
    expect(row).toMatchObject({ status: 'infeasible', sloMs: [5] });
    expect(row?.smallestFeasibleSloMs).toBeGreaterThan(5);
    expect(row?.reasons?.join()).toMatch(
      /the longest path, detect -> face -> match, takes .* can be met, at/,
    );
  });

  it('refuses at once what only pooled specs have, mixes of other classes, and a comparison of nothing', async () => {
    const faults = async (options: object): Promise<string[]> => {
      const error = await compareSpec(at('spec.yaml'), options).catch((thrown: unknown) => thrown);
      return error instanceof InputError ? error.faults.map(({ message }) => message) : [String(error)];
    };
    expect(await faults({ mixes: ['L4=1'], gap: 0.1, hold: 0.99 })).toEqual(['is for pooled specs']);
    expect(await faults({ mixes: ['H9=1'], budget: 5, sweeps: ['margin=0..0.5'] })).toEqual([
      'is for pooled specs: a pipeline costs as little as it can',
      'sweeps margins, which only pooled specs have',
      expect.stringContaining('the cluster has no class H9'),
    ]);
    expect(await faults({})).toEqual([expect.stringContaining('nothing to compare')]);
    await writeSpec({ planner: { method: 'coarse-mean' } });
    expect((await compareSpec(at('spec.yaml'), { mixes: MIXES.slice(1, 2) })).document.rows).toHaveLength(1);
  });

  it('is shown as a table, with classes that have no limit, and ends with 4 where its work is limited', async () => {
    const shown = await plan(['compare', at('spec.yaml'), '--sweep', 'slo=100ms..200ms:2']);
    expect(shown.code).toBe(0);
    expect(shown.stdout).toMatch(
      /^mix +SLO +plan +devices used +requests\/s +cost\/h +cost\/million +in time +p99 ms +gap$/m,
    );
    expect(shown.stdout).toMatch(/^6 L4 \+ any T4.* +200 ms +optimal +\d+ L4 \+ \d+ T4 +\d/m);
    const short = await plan([
      'compare',
      at('spec.yaml'),
      '--sweep',
      'slo=100ms',
      '--work',
      '25',
      '-o',
      at('x.csv'),
    ]);
    expect(short.code).toBe(4);
    const [head, line] = (await readFile(at('x.csv'), 'utf8')).split('\n');
    expect(head).toContain('attainment');
    expect(line).toContain('100 ms');
  });
});
