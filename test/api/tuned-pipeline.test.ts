import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { simulatePlan, validateFiles } from '../../src/api/index.js';
import type { InputError, PipelinePlan, PipelineSpec, SimulationReport } from '../../src/formats/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { inWholeRun } from '../cases.js';
import { plan } from '../cli/plan.js';

const EXAMPLE = new URL('../../examples/pipeline', import.meta.url).pathname;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-tuned-'));
  await cp(EXAMPLE, folder, { recursive: true });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);

/** solved changes the example's spec and solves it. */
async function solved(change: (spec: PipelineSpec) => void): Promise<PipelinePlan> {
  const spec = parse(await readFile(at('spec.yaml'), 'utf8')) as PipelineSpec;
  spec.load = { arrivals: 'poisson', rps: 600, duration: '10s' };
  change(spec);
  await writeFile(at('spec.yaml'), stringify(spec));
  await solveSpec(at('spec.yaml'), { output: at('plan.json') });
  return JSON.parse(await readFile(at('plan.json'), 'utf8')) as PipelinePlan;
}

async function simulated(...options: string[]): Promise<SimulationReport> {
  const { code, stdout } = await plan(['simulate', at('plan.json'), '--json', ...options]);
  expect(code).toBe(0);
  return JSON.parse(stdout) as SimulationReport;
}

/** A load that doubles. */
const RISE = ['--phase', '10s,rps=600', '--phase', '20s,rps=1200', '--windows', '10s'];

describe('a pipeline with a tuner', () => {
  inWholeRun('has the tuner and the envelope of its sample in its plan, which is confirmed', async () => {
    const {
      serving,
      envelope = [],
      longestPath,
    } = await solved((spec) => {
      spec.tuner = 'inferline';
    });
    expect(serving).toEqual({ scheduler: 'room-first', tuner: { kind: 'inferline' } });
    expect(envelope[0]?.windowUs).toBeCloseTo(longestPath.latencyUs, 3);
    expect(envelope.at(-1)?.windowUs).toBe(6e7);
    // The simulation with the sample's seed serves the same requests.
    const { overall } = await simulated(
      '--tuner',
      'none',
      '--rps',
      '600',
      '--duration',
      '10s',
      '--seed',
      '1',
    );
    expect(envelope.at(-1)?.requests).toBe(overall.arrived);
    expect(await validateFiles([at('plan.json')])).toMatchObject([{ ok: true }]);
  });

  it('is not confirmed where the envelope is not that of the sample', async () => {
    const made = await solved(() => undefined);
    made.envelope![2]!.requests += 1;
    await writeFile(at('plan.json'), JSON.stringify(made));
    const [found] = await validateFiles([at('plan.json')]);
    expect(found).toMatchObject({ ok: false, faults: [{ path: '/envelope/2/requests' }] });
  });

  inWholeRun(
    'has more devices in use when the load rises, and costs more, than without a tuner',
    async () => {
      await solved((spec) => {
        spec.tuner = 'inferline';
        for (const stage of spec.stages) delete stage.standby;
      });
      const tuned = await simulated(...RISE);
      const fixed = await simulated(...RISE, '--tuner', 'none');
      expect(tuned.scheduler.tuner).toEqual({ kind: 'inferline', stabilityS: 15, lookBackS: 30, windowS: 5 });
      expect(fixed.scheduler.tuner).toBeUndefined();
      for (const { inUse } of fixed.pools) expect(inUse?.most).toBe(inUse?.least);
      const share = ({ overall }: SimulationReport) => overall.attainment as number;
      expect(share(tuned)).toBeGreaterThan(share(fixed));
      const cost = ({ cost: found }: SimulationReport) => found?.perHour as number;
      expect(cost(fixed)).toBeCloseTo(3 * 0.71 + 9 * 0.35, 9);
      expect(cost(tuned)).toBeGreaterThan(cost(fixed));
      const { classes } = tuned;
      const total = Object.values(classes).reduce((sum, { cost: own = 0 }) => sum + own, 0);
      expect(tuned.cost?.total).toBeCloseTo(total, 9);
      const first = tuned.windows?.rows.map(({ inUse = [] }) => inUse[0] as number) as number[];
      expect(first[2]).toBeGreaterThan(first[0] as number);
      // Six L4 exist, of which the plan uses three.
      const detect = tuned.pools.find(({ stage }) => stage === 'detect');
      expect(detect).toMatchObject({ virtualGpus: 3, inUse: { least: 3, most: 6 } });
    },
  );

  inWholeRun('is served with every tuner, each request once', async () => {
    await solved(() => undefined);
    for (const tuner of ['coarse', 'ds2', 'hpa', 'kpa', 'by-rate', 'oracle']) {
      const { overall, scheduler } = await simulated(...RISE, '--tuner', tuner);
      expect(scheduler.tuner?.kind).toBe(tuner);
      expect(overall.inTime + overall.late + overall.dropped + overall.failed).toBe(overall.arrived);
    }
  });

  inWholeRun('shows in the timeline how long devices come up and are in use', async () => {
    await solved(() => undefined);
    await simulatePlan(at('plan.json'), {
      tuner: 'inferline',
      phases: ['1s,rps=600', '6s,rps=1200'],
      timeline: at('t.json'),
    });
    const { traceEvents } = JSON.parse(await readFile(at('t.json'), 'utf8')) as {
      traceEvents: { ph: string; name?: string; pid: number; tid: number; ts: number }[];
    };
    const rows = new Map<string, typeof traceEvents>();
    for (const event of traceEvents) {
      if (event.ph !== 'B' && event.ph !== 'E') continue;
      const row = `${event.pid}/${event.tid}`;
      rows.set(row, [...(rows.get(row) ?? []), event]);
    }
    const shapes = new Set(
      [...rows.values()].map((row) => row.map(({ ph, name = '' }) => ph + name).join(' ')),
    );
    expect(shapes).toEqual(new Set(['Bin use E', 'Bin use Bcomes up E E']));
    const raised = [...rows.values()].filter((row) => row.length === 4);
    // What would come up after the last request has ended is shown until then.
    const endUs = Math.max(...traceEvents.filter(({ ph }) => ph === 'E').map(({ ts }) => ts));
    let whole = 0;
    for (const [asked, comes, up] of raised) {
      expect(comes?.ts).toBe(asked?.ts);
      const upUs = (comes?.ts as number) + 5e6;
      expect(up?.ts).toBeCloseTo(Math.min(upUs, endUs), 3);
      if (upUs < endUs) whole++;
    }
    expect(whole).toBeGreaterThan(0);
  });

  it('is refused where the plan has no load for it, or the tuner is unknown, with all other faults', async () => {
    await solved((spec) => {
      delete spec.load;
      spec.rps = 600;
    });
    const faultsOf = async (tuner: string) => {
      const error = await simulatePlan(at('plan.json'), { tuner, slow: -1 }).catch(
        (thrown: unknown) => thrown,
      );
      return (error as InputError).faults.map(({ path }) => path);
    };
    expect(await faultsOf('inferline')).toEqual(['`tuner`', '`slow`']);
    expect(await faultsOf('magic')).toEqual(['`tuner`', '`slow`']);
  });
});
