import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ToldFaults } from '../../src/formats/index.js';
import { plannedScheduler } from '../../src/plans/index.js';
import type { ChosenScheduler } from '../../src/serving/index.js';
// The timeline's size limit is not exported by the room.
import { runSimulation } from '../../src/simulation/run.js';
import { prepareSimulation } from '../../src/simulation/setup.js';
import { pipelineOf } from '../pipeline-plans.js';
import { affine, planOf } from '../serving/plans.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-timeline-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const PLAN = planOf(
  [
    {
      sloMs: 80,
      pipelines: [
        {
          throughputRps: 300,
          parts: [
            { batch: 4, virtualGpus: 2, latencyUs: affine(4000, 1000), transferBytes: 400_000 },
            { batch: 2, virtualGpus: 3, latencyUs: affine(5000, 1200), device: 'fast' },
          ],
        },
      ],
    },
  ],
  10,
);

interface TraceEvent {
  ph: 'X' | 'M' | 's' | 'f';
  pid: number;
  tid: number;
  ts: number;
  dur: number;
  name: string;
  cat: string;
  id: number;
  args: { name: string; requests: number };
}

async function timelineOf(scheduler: string, mostBytes?: number) {
  const plan = join(folder, 'plan.json');
  await writeFile(plan, JSON.stringify(PLAN));
  const path = join(folder, `${scheduler}.json`);
  const { setup } = await prepareSimulation(plan, { scheduler, duration: 3, load: 0.8, jitter: 0.1 });
  const run = await runSimulation(setup, {
    timeline: { path, ...(mostBytes === undefined ? {} : { mostBytes }) },
  });
  const text = await readFile(path, 'utf8');
  return { run, text, events: (JSON.parse(text) as { traceEvents: TraceEvent[] }).traceEvents };
}

const rowOf = ({ pid, tid }: TraceEvent) => `${pid}/${tid}`;
const US = 1e-6;

function byRow(events: readonly TraceEvent[]): Map<string, TraceEvent[]> {
  const rows = new Map<string, TraceEvent[]>();
  for (const event of events) rows.set(rowOf(event), [...(rows.get(rowOf(event)) ?? []), event]);
  return rows;
}

describe('TimelineWriter', () => {
  it.each(['reservation', 'stage-local'])(
    'writes a slice for every batch on its row without overlaps (%s)',
    async (scheduler) => {
      const { run, events, text } = await timelineOf(scheduler);
      const slices = events.filter(({ ph }) => ph === 'X');
      const batches = run.figures.pools.reduce((sum, pool) => sum + pool.batches, 0);
      expect(slices.filter(({ cat }) => cat === 'execute')).toHaveLength(batches);
      expect(run.timeline).toEqual({
        slices: slices.length,
        bytes: Buffer.byteLength(text),
      });
      const names = new Map(
        events.filter(({ name }) => name === 'thread_name').map((e) => [rowOf(e), e.args.name]),
      );
      expect([...names.values()].filter((name) => name.startsWith('gpu'))).toHaveLength(5);
      const rows = byRow(slices);
      expect([...rows.keys()].every((row) => names.has(row))).toBe(true);
      for (const [row, own] of rows) {
        const wanted = names.get(row)?.startsWith('gpu') ? 'execute' : 'transfer';
        own.sort((a, b) => a.ts - b.ts);
        own.forEach((slice, i) => {
          expect(slice.cat).toBe(wanted);
          const before = own[i - 1];
          if (before) expect(slice.ts - (before.ts + before.dur)).toBeGreaterThan(-1e3 * US);
        });
      }
    },
  );

  it.each(['reservation', 'stage-local'])(
    'writes a flow from every batch to the next batches of its requests (%s)',
    async (scheduler) => {
      const { run, events } = await timelineOf(scheduler);
      const slices = byRow(events.filter(({ ph }) => ph === 'X'));
      const sliceAt = (event: TraceEvent) => slices.get(rowOf(event))?.find(({ ts }) => ts === event.ts);
      const starts = new Map(events.filter(({ ph }) => ph === 's').map((e) => [e.id, e]));
      const ends = events.filter(({ ph }) => ph === 'f');
      expect(new Set(ends.map(({ id }) => id)).size).toBe(ends.length);
      expect(starts.size).toBe(ends.length);
      const ids = [...starts.keys()].map(Number);
      expect(Math.min(...ids)).toBeGreaterThanOrEqual(0);
      // Devices that are in use throughout have no spans of it.
      expect(events.some(({ name }) => name === 'in use')).toBe(false);
      const reached = new Set<TraceEvent>();
      for (const end of ends) {
        const from = sliceAt(starts.get(end.id)!);
        const to = sliceAt(end);
        expect(from && to && from.ts <= to.ts).toBe(true);
        reached.add(to!);
      }
      const second = [...slices.values()]
        .flat()
        .filter(({ name, cat }) => cat === 'execute' && name.includes(' 0/1 '));
      expect(second.length).toBe(run.figures.pools[1]?.batches);
      expect(second.every((slice) => reached.has(slice))).toBe(true);
    },
  );

  it('stops at its size limit, stays readable, and says where it stopped', async () => {
    const { run, events, text } = await timelineOf('reservation', 20_000);
    expect(run.timeline?.cutAtNs).toBeGreaterThan(0);
    expect(run.timeline?.cutAtNs).toBeLessThan(3e9);
    expect(text.length).toBeLessThan(25_000);
    const last = Math.max(...events.filter(({ ph }) => ph === 'X').map(({ ts }) => ts));
    expect(last).toBeLessThanOrEqual((run.timeline?.cutAtNs as number) / 1000);
    expect(run.figures.overall.arrived).toBeGreaterThan(500);
  });

  it('shows when devices are in use and come up, in spans that end in their turn', async () => {
    const wide = pipelineOf([{ name: 'a' }], [['a'], ['a'], ['a']]);
    const plan = {
      ...wide,
      placement: wide.placement.map((place, i) => (i === 2 ? { ...place, standby: true as const } : place)),
      stages: wide.stages.map((stage) => ({ ...stage, replicas: 2, standby: 1 })),
    };
    const scaling = {
      schedule: [
        { atS: 2, pool: 'a', devices: 3 },
        { atS: 8, pool: 'a', devices: 1 },
      ],
    };
    const policy = [{ at: '', choices: { scaling } }];
    const scheduler = plannedScheduler({}, { options: { policy }, leastSloNs: 1e9 }, new ToldFaults());
    const path = join(folder, 'scaled.json');
    await runSimulation(
      {
        plan,
        transfers: 'links',
        execution: { slow: 1 },
        seed: 3,
        exact: true,
        scheduler: scheduler as ChosenScheduler,
        workload: { kind: 'drawn', process: 'poisson', durationNs: 10e9, rps: [50] },
      },
      { timeline: { path } },
    );
    const { traceEvents } = JSON.parse(await readFile(path, 'utf8')) as {
      traceEvents: (Omit<TraceEvent, 'ph'> & { ph: string })[];
    };
    const spans = new Map<string, { name: string; fromS: number; toS: number }[]>();
    const open = new Map<string, { name: string; fromS: number }[]>();
    for (const { ph, pid, tid, name, ts } of traceEvents) {
      const row = `${pid}/${tid}`;
      if (ph === 'B') open.set(row, [...(open.get(row) ?? []), { name, fromS: ts * US }]);
      if (ph !== 'E') continue;
      const ended = open.get(row)?.pop() as { name: string; fromS: number };
      spans.set(row, [...(spans.get(row) ?? []), { ...ended, toS: ts * US }]);
    }
    expect([...open.values()].flat()).toEqual([]);
    const rows = [...spans.values()].map((row) => row.map(({ name, fromS }) => [name, Math.round(fromS)]));
    const inUse = [...spans.values()].flat().filter(({ name }) => name === 'in use');
    // Two devices are in use from the start and the third one from 2 s on; two of them leave at 8 s.
    expect(rows.map((row) => row.map(([name]) => name)).sort()).toEqual(
      [['in use'], ['in use'], ['comes up', 'in use']].sort(),
    );
    expect(inUse.map(({ fromS }) => fromS).sort()).toEqual([0, 0, 2]);
    expect(inUse.map(({ toS }) => Math.round(toS)).sort((a, b) => a - b)).toEqual([8, 8, 10]);
    for (const { fromS, toS } of [...spans.values()].flat()) expect(toS).toBeGreaterThanOrEqual(fromS);
  });

  it('keeps the earlier file, and leaves nothing beside it, when the run fails', async () => {
    const plan = join(folder, 'plan.json');
    const path = join(folder, 'kept.json');
    await writeFile(path, 'before');
    const { setup } = await prepareSimulation(plan, { duration: 3 });
    const broken = { ...setup, workload: { ...setup.workload, rps: [Number.NaN] } } as typeof setup;
    await expect(runSimulation(broken, { timeline: { path } })).rejects.toThrow();
    const failing = { ...setup, execution: { slow: Number.NaN } };
    await expect(runSimulation(failing, { timeline: { path } })).rejects.toThrow();
    expect(await readFile(path, 'utf8')).toBe('before');
    expect((await readdir(folder)).filter((name) => name.startsWith('.'))).toEqual([]);
  });
});
