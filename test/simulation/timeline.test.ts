import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
// The timeline's size limit is not exported by the room.
import { runSimulation } from '../../src/simulation/run.js';
import { prepareSimulation } from '../../src/simulation/setup.js';
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
  it.each([
    'reservation',
    'stage-local',
  ])('writes a slice for every batch on its row without overlaps (%s)', async (scheduler) => {
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
  });

  it.each([
    'reservation',
    'stage-local',
  ])('writes a flow from every batch to the next batches of its requests (%s)', async (scheduler) => {
    const { run, events } = await timelineOf(scheduler);
    const slices = byRow(events.filter(({ ph }) => ph === 'X'));
    const sliceAt = (event: TraceEvent) => slices.get(rowOf(event))?.find(({ ts }) => ts === event.ts);
    const starts = new Map(events.filter(({ ph }) => ph === 's').map((e) => [e.id, e]));
    const ends = events.filter(({ ph }) => ph === 'f');
    expect(new Set(ends.map(({ id }) => id)).size).toBe(ends.length);
    expect(starts.size).toBe(ends.length);
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
  });

  it('stops at its size limit, stays readable, and says where it stopped', async () => {
    const { run, events, text } = await timelineOf('reservation', 20_000);
    expect(run.timeline?.cutAtNs).toBeGreaterThan(0);
    expect(run.timeline?.cutAtNs).toBeLessThan(3e9);
    expect(text.length).toBeLessThan(25_000);
    const last = Math.max(...events.filter(({ ph }) => ph === 'X').map(({ ts }) => ts));
    expect(last).toBeLessThanOrEqual((run.timeline?.cutAtNs as number) / 1000);
    expect(run.figures.overall.arrived).toBeGreaterThan(500);
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
