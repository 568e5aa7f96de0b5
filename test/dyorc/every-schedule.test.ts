import { describe, expect, it } from 'vitest';
import { boundSample, leastTimes } from '../../src/dyorc/bounds.js';
import type { Run } from '../../src/formats/index.js';
import { type Stream, streamOf } from '../../src/random/index.js';
import { cases } from '../cases.js';
import { type Asked, anyScheduleServes, type BatchTimes } from './every-schedule.js';

const NS_PER_MS = 1e6;
const MOST_TASKS = 5;

/** Tiny is a few requests of two workflows, of which the second may have no SLO. */
interface Tiny {
  readonly times: BatchTimes;
  readonly workflows: readonly { readonly sloMs?: number }[];
  readonly attainment: number;
  readonly atMs: readonly number[];
  readonly of: readonly number[];
  readonly runs: readonly Run[];
}

function tiny(seed: number): Tiny {
  const stream = streamOf(seed, 'tiny');
  const times = Object.fromEntries(
    ['a', 'b'].map((name) => {
      const base = 2 + stream.integer(8);
      return [name, Array.from({ length: 1 + stream.integer(3) }, (_, b) => base + b * stream.integer(6))];
    }),
  );
  const runs: Run[] = [];
  for (let left = MOST_TASKS - stream.integer(2); left > 0; ) {
    const run = drawnRun(stream, times, 1 + stream.integer(Math.min(left, 3)));
    left -= run.tasks.length;
    runs.push(run);
  }
  const gaps = runs.map(() => stream.integer(12));
  return {
    times,
    runs,
    attainment: [1, 0.6][stream.integer(2)] as number,
    workflows: [
      { sloMs: 8 + stream.integer(30) },
      stream.integer(2) === 0 ? {} : { sloMs: 8 + stream.integer(20) },
    ],
    atMs: gaps.map((_, r) => gaps.slice(0, r + 1).reduce((sum, gap) => sum + gap, 0)),
    of: runs.map(() => stream.integer(2)),
  };
}

function drawnRun(stream: Stream, times: BatchTimes, count: number): Run {
  const tasks = Array.from({ length: count }, (_, t) => {
    const component = ['a', 'b'][stream.integer(2)] as string;
    const before = Array.from({ length: t }, (__, other) => other);
    return {
      component,
      rows: 1 + stream.integer(times[component]?.length ?? 1),
      outputBytes: 0,
      inputs: before.filter(() => stream.integer(2) === 0),
      after: before.filter(() => stream.integer(3) === 0),
      ...(stream.integer(3) === 0 ? { thinkMs: stream.integer(5) } : {}),
    };
  });
  return { kind: 'run', version: '1.0', application: 'w', requestBytes: 0, tasks };
}

function boundsOf({ times, workflows, attainment, atMs, of, runs }: Tiny) {
  const components = Object.entries(times).map(([name, ms]) => ({
    name,
    model: name,
    memoryBytes: 1,
    classes: [
      {
        device: 'one',
        batch: ms.length,
        latencyUsByBatch: ms.map((one) => 1000 * one),
        loadUs: 0,
        diskUs: 0,
      },
    ],
  }));
  return boundSample(
    { atNs: atMs.map((ms) => ms * NS_PER_MS), workflows: of, runs },
    { workflows, attainment, least: leastTimes(components, { devices: { one: { count: 9 } } }) },
  );
}

/** fewestInTime tries every choice of requests that are in time, on one device more after the other. */
function fewestInTime({ times, workflows, attainment, atMs, of, runs }: Tiny, most: number): number {
  const promised = runs.flatMap((_, r) => (workflows[of[r] as number]?.sloMs === undefined ? [] : [r]));
  const wanted = workflows.map(({ sloMs }, w) =>
    sloMs === undefined ? 0 : Math.ceil(attainment * of.filter((one) => one === w).length),
  );
  const sets = Array.from({ length: 2 ** promised.length }, (_, set) =>
    promised.filter((__, i) => (set >> i) % 2 === 1),
  ).filter((set) => wanted.every((count, w) => set.filter((r) => of[r] === w).length >= count));
  for (let devices = 0; devices <= most; devices++)
    if (
      sets.some((set) => {
        const asked = set.map((r): Asked => {
          const at = atMs[r] as number;
          const { sloMs = 0 } = workflows[of[r] as number] ?? {};
          return { atMs: at, byMs: at + sloMs, tasks: (runs[r] as Run).tasks };
        });
        return anyScheduleServes(asked, times, devices);
      })
    )
      return devices;
  return Number.POSITIVE_INFINITY;
}

describe('the bounds of a sample, beside every schedule of it', () => {
  const CASES = cases(150, 6000);

  it('no plan has enough requests in time on fewer devices than the bound', () => {
    let reached = 0;
    let impossible = 0;
    for (let seed = 1; seed <= CASES; seed++) {
      const case_ = tiny(seed);
      const { sloDevices } = boundsOf(case_);
      const fewest = fewestInTime(case_, MOST_TASKS);
      if (sloDevices === undefined) {
        expect({ seed, fewest }).toEqual({ seed, fewest: Number.POSITIVE_INFINITY });
        impossible += 1;
        continue;
      }
      expect({ seed, sloDevices, fewest }).toSatisfy(() => fewest >= sloDevices);
      if (fewest === sloDevices && fewest > 1) reached += 1;
    }
    // Bounds that no schedule reaches would say little, and so would specs that are all impossible.
    expect(reached).toBeGreaterThan(0);
    expect(impossible).toBeLessThan(CASES / 2);
  });

  it('nobody ends the work of requests without an SLO as soon as can be on fewer devices than the bound', () => {
    let tried = 0;
    for (let seed = 1; seed <= CASES; seed++) {
      const { atMs, ...rest } = tiny(seed);
      // Requests that come at once need most devices.
      const case_: Tiny = { ...rest, workflows: [{}, {}], atMs: atMs.map((ms) => Math.floor(ms / 4)) };
      const { devices, latencyNs } = boundsOf(case_);
      const endsMs = [...latencyNs].map((ns, r) => (case_.atMs[r] as number) + ns / NS_PER_MS);
      const asked = case_.runs.map(({ tasks }, r): Asked => {
        return { atMs: case_.atMs[r] as number, byMs: Math.max(...endsMs), tasks };
      });
      for (let fewer = 1; fewer < devices; fewer++) {
        tried += 1;
        expect({ seed, fewer, serves: anyScheduleServes(asked, case_.times, fewer) }).toEqual({
          seed,
          fewer,
          serves: false,
        });
      }
    }
    expect(tried).toBeGreaterThan(CASES / 50);
  });

  it('requests take their least latency by some schedule with a device for each task, and none takes less', () => {
    for (let seed = 1; seed <= CASES; seed++) {
      const { times, runs, ...rest } = tiny(seed);
      const isSteady = Object.values(times).every((ms) => ms.every((one, b) => one >= (ms[b - 1] ?? 0)));
      // Where a larger batch takes less, the bound is that of a batch with other requests.
      if (!isSteady) continue;
      const { latencyNs } = boundsOf({ times, runs, ...rest });
      for (const [r, { tasks }] of runs.entries()) {
        const leastMs = (latencyNs[r] as number) / NS_PER_MS;
        const serves = (byMs: number) => anyScheduleServes([{ atMs: 0, byMs, tasks }], times, tasks.length);
        expect({ seed, r, sooner: serves(leastMs - 0.5), asBound: serves(leastMs) }).toEqual({
          seed,
          r,
          sooner: false,
          asBound: true,
        });
      }
    }
  });
});
