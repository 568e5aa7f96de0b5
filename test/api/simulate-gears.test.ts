import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simulatePlan } from '../../src/api/index.js';
import type { GearPlan } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { FAMILY, FAMILY_SAMPLES, familyAnswers, writeFamily } from '../cascade-specs.js';
import { whole } from '../cases.js';
import { PlainGears, type PlainRun } from '../simulator/plain-gears.js';

const DURATION_S = 6;
const WINDOW_S = 2;

let folder: string;
const at = (file: string): string => join(folder, file);
/** When each request comes, in ns: bursts above the plan's highest rate, and lulls. */
let arrivalsNs: number[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-gears-'));
  const path = await writeFamily(folder, { load: { maxRps: 900, ranges: whole(3, 6) } });
  await solveSpec(path, { output: at('plan.json') });
  const { exponential } = streamOf(2, 'arrivals');
  arrivalsNs = [];
  for (let ns = 0; ns < 5.5e9; ) {
    const rps = [60, 950, 300, 20, 1200, 100][Math.floor(ns / 1e9)] as number;
    ns += 1000 * Math.round((1e6 * exponential()) / rps);
    arrivalsNs.push(ns);
  }
  await writeTrace('trace.csv');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function writeTrace(file: string): Promise<void> {
  const lines = arrivalsNs.map((ns) => (ns / 1e9).toFixed(6));
  await writeFile(at(file), `arrival_s\n${lines.join('\n')}\n`);
}

async function plan(): Promise<GearPlan> {
  return JSON.parse(await readFile(at('plan.json'), 'utf8')) as GearPlan;
}

/** plainly serves the trace by the rules of the documents. */
function plainly(plan: GearPlan): PlainRun {
  const answers = familyAnswers();
  const model = plan.stages.map(({ name }) => FAMILY.indexOf(name as (typeof FAMILY)[number]));
  return new PlainGears(plan, {
    arrivalsNs,
    certainty: (request, stage) => answers[model[stage]!]![request % FAMILY_SAMPLES]!.certainty,
  }).run();
}

/** figuresOf computes the figures of a report from what became of each request and batch. */
function figuresOf(plan: GearPlan, { requests, batches, shifts }: PlainRun) {
  const answers = familyAnswers();
  const isRight = requests.map(({ stage }, request) => {
    const model = FAMILY.indexOf(plan.stages[stage]!.name as (typeof FAMILY)[number]);
    return answers[model]![request % FAMILY_SAMPLES]!.isRight;
  });
  const latencies = requests.map(({ endedNs }, request) => endedNs - arrivalsNs[request]!);
  const late = latencies.filter((ns) => ns > 1e6 * plan.sloMs).length;
  const gearAt = [{ atNs: 0, gear: 0 }, ...shifts];
  const gearShares = plan.gears.map((_, gear) => {
    const ns = gearAt.map(({ atNs, gear: of }, i) =>
      of === gear ? (gearAt[i + 1]?.atNs ?? 1e9 * DURATION_S) - atNs : 0,
    );
    return sum(ns) / (1e9 * DURATION_S);
  });
  return {
    late,
    inTime: requests.length - late,
    shifts: shifts.length,
    gearShares,
    meanMs: sum(latencies) / requests.length / 1e6,
    maxMs: Math.max(...latencies) / 1e6,
    accuracy: isRight.filter(Boolean).length / requests.length,
    answeredBy: plan.stages.map(({ name }, stage) => {
      const own = isRight.filter((_, request) => requests[request]!.stage === stage);
      return {
        stage: name,
        share: expect.closeTo(own.length / requests.length, 12),
        accuracy: expect.closeTo(own.filter(Boolean).length / own.length, 12),
      };
    }),
    pools: plan.stages.map(({ batch }, stage) =>
      Array.from(
        { length: batch },
        (_, i) => batches.filter((one) => one.stage === stage && one.requests.length === i + 1).length,
      ),
    ),
    windowed: [0, 1, 2].map((window) => {
      const own = isRight.filter((_, i) => Math.floor(arrivalsNs[i]! / 1e9 / WINDOW_S) === window);
      return own.filter(Boolean).length / own.length;
    }),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

interface TraceEvent {
  readonly ph: string;
  readonly pid: number;
  readonly name: string;
  readonly ts: number;
  readonly dur: number;
  readonly cat: string;
  readonly args: { readonly name: string };
}

/** drawnIn gives the names of a timeline's rows, and its slices as device, name, start and length in µs. */
async function drawnIn(file: string): Promise<{ rows: string[]; slices: string[] }> {
  const { traceEvents } = JSON.parse(await readFile(file, 'utf8')) as { traceEvents: TraceEvent[] };
  const rows = traceEvents.filter(({ name }) => name === 'thread_name').map(({ args }) => args.name);
  const slices = traceEvents
    .filter(({ ph, cat }) => ph === 'X' && cat === 'execute')
    .map(({ pid, name, ts, dur }) => `${pid - 1} ${name} ${ts} ${dur}`);
  return { rows, slices: slices.sort() };
}

describe('plan simulate of a gear plan', () => {
  it('reports what a plain simulator of the same rules gives, and draws each of its batches', async () => {
    const planned = await plan();
    const plain = plainly(planned);
    const wanted = figuresOf(planned, plain);
    expect(wanted.shifts).toBeGreaterThan(10);
    const { report } = await simulatePlan(at('plan.json'), {
      traces: [at('trace.csv')],
      duration: DURATION_S,
      windows: WINDOW_S,
      exact: true,
      // The plain simulator answers all, late or not.
      timeline: at('timeline.json'),
      policy: ['drop=never'],
    });
    const { overall, pools, cascade } = report;
    expect(overall).toMatchObject({ arrived: arrivalsNs.length, inTime: wanted.inTime, late: wanted.late });
    expect(overall.latencyMs?.mean).toBeCloseTo(wanted.meanMs, 9);
    expect(overall.latencyMs?.max).toBeCloseTo(wanted.maxMs, 9);
    expect(pools.map(({ sizes }) => sizes)).toEqual(wanted.pools);
    expect(cascade).toMatchObject({ shifts: wanted.shifts, samples: FAMILY_SAMPLES });
    expect(cascade?.accuracy).toBeCloseTo(wanted.accuracy, 12);
    expect(cascade?.answeredBy).toEqual(wanted.answeredBy);
    cascade?.gears.forEach(({ share }, gear) => {
      expect(share, `gear ${gear}`).toBeCloseTo(wanted.gearShares[gear] as number, 9);
    });
    cascade?.windows?.forEach(({ accuracy }, i) => {
      expect(accuracy, `window ${i}`).toBeCloseTo(wanted.windowed[i] as number, 12);
    });
    const slices = plain.batches.map(({ stage, device, startNs, endNs, requests }) => {
      const name = `family ${planned.stages[stage]?.name} ×${requests.length}`;
      return `${device} ${name} ${startNs / 1e3} ${(endNs - startNs) / 1e3}`;
    });
    const drawn = await drawnIn(at('timeline.json'));
    expect(drawn.slices).toEqual(slices.sort());
    expect(drawn.rows).toContain('gpu 0: family small, family middle, family large');
  });
});
