/**
 * This benchmark measures the scheduling of dynamic workflows, on a synthetic mix of a chat, a question for experts and
 * a debate: what it costs, how requests fare under searches that are cut short and one that is not, and what each rule
 * of a policy changes:
 *
 *     node dist/bench/workflow.js [--devices 8,32,128,512] [--load 0.7] [--requests 30] [--only costs,searches,rules] [--json file]
 *
 * `--requests` is their number for each device. Costs are processor time of whole runs in virtual time, the driver
 * included. A run before them warms up the code, and tells what programs do.
 */
import type { WorkflowPolicy } from '../src/serving/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { type Measure, measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';
import { type MixResult, runMix } from './workflow/run.js';

const USAGE =
  'node dist/bench/workflow.js [--devices 8,32,128,512] [--load 0.7] [--requests 30] [--only costs,searches,rules] [--json file]';
const { values } = benchArguments(USAGE, {
  devices: { type: 'string', default: '8,32,128,512' },
  load: { type: 'string', default: '0.7' },
  requests: { type: 'string', default: '30' },
  only: { type: 'string', default: 'costs,searches,rules' },
  json: { type: 'string' },
});

/** Shorter runs say more about how code is compiled than about what it does. */
const LEAST_REQUESTS = 2000;
/** The cluster on which rules are compared, its loads, and how often. */
const SMALL = { devices: 8, seeds: 3, requests: 1500, loads: [0.3, 0.7, 1.2, 1.5] };
const AHEAD = { kind: 'end-to-end', draws: 32 } as const;

/** RULES are the changes of the policy that are compared with it. */
const RULES: Readonly<Record<string, Partial<WorkflowPolicy>>> = {
  'as it is': {},
  'counts what is expected': { reserving: { kind: 'work' } },
  'moves to idle': { moving: { kind: 'to-idle' } },
  'evicts by worth': { evicting: { kind: 'least-worth' } },
  greedy: { placing: { kind: 'greedy' }, prediction: { kind: 'none' } },
  'drops expired': { dropping: { kind: 'expired' } },
  'drops ahead, 0.1': { dropping: { ...AHEAD, quantile: 0.1 } },
  'drops ahead, 0.5': { dropping: { ...AHEAD, quantile: 0.5 } },
};

const load = benchNumber(USAGE, 'load', values.load);
const requests = benchNumber(USAGE, 'requests', values.requests);
const sizes = values.devices.split(',').map((text) => benchNumber(USAGE, 'devices', text));
const parts: Readonly<Record<string, () => Measure[]>> = { costs, searches, rules };
const asked = values.only.split(',');
const { frequencies } = runMix({ devices: 8, load, requests: LEAST_REQUESTS, seed: 1 }).core;
const measures = asked.flatMap((part) => parts[part]?.() ?? []);
saveResult(values.json, {
  bench: 'workflow',
  options: { load, requests, devices: sizes, only: asked },
  measures,
  rows: [],
});

function costs(): Measure[] {
  const rows = sizes.map((devices) => {
    const count = Math.max(LEAST_REQUESTS, requests * devices);
    const result = runMix({ devices, load, requests: count, seed: 2, frequencies });
    const { made, right } = result.summary.guesses;
    return {
      devices,
      usPerTask: result.cpuUs / result.tasks,
      usPerRequest: result.cpuUs / count,
      meanMs: meanMsOf(result),
      lookedPerTask: result.summary.schedulesLookedAt / result.tasks,
      rightPercent: (100 * right) / made,
    };
  });
  print(
    ['devices', 'CPU µs/task', 'CPU µs/request', 'schedules/task', 'guesses right %', 'mean latency ms'],
    rows.map((row) => [
      ...[`${row.devices}`, row.usPerTask.toFixed(0), row.usPerRequest.toFixed(0)],
      ...[row.lookedPerTask.toFixed(1), row.rightPercent.toFixed(0), row.meanMs.toFixed(0)],
    ]),
  );
  return measuresOf(rows, ({ devices }) => `${devices} devices`, {
    'CPU µs/task': ({ usPerTask }) => usPerTask,
    'CPU µs/request': ({ usPerRequest }) => usPerRequest,
    'mean latency ms': ({ meanMs }) => meanMs,
  });
}

/** searches compares searches that are cut short with one that tries all, on four devices. */
function searches(): Measure[] {
  const rows = [undefined, 64, 32, 8].map((beam) => {
    const kind = 'dynamic-program' as const;
    const placing = beam === undefined ? { kind } : { kind, candidates: 8, beam };
    const prediction = { kind: 'likeliest', most: 3 } as const;
    const results = seeds().map((seed) =>
      runMix({ devices: 4, load, requests: 300, seed, frequencies, policy: { placing, prediction } }),
    );
    const looked = results.map(({ summary, tasks }) => summary.schedulesLookedAt / tasks);
    return { beam: beam ?? 'all', meanMs: mean(results.map(meanMsOf)), lookedPerTask: mean(looked) };
  });
  print(
    ['schedules kept', 'schedules/task', 'mean latency ms'],
    rows.map(({ beam, meanMs, lookedPerTask }) => [`${beam}`, lookedPerTask.toFixed(1), meanMs.toFixed(0)]),
  );
  return measuresOf(rows, ({ beam }) => `${beam} schedules kept`, {
    'mean latency ms': ({ meanMs }) => meanMs,
    'schedules/task': ({ lookedPerTask }) => lookedPerTask,
  });
}

/** rules compares rules of the policy under loads that devices bear, and some that they do not. */
function rules(): Measure[] {
  const rows = SMALL.loads.flatMap((each) =>
    Object.entries(RULES).map(([rule, policy]) => {
      const { devices, requests: count } = SMALL;
      const results = seeds().map((seed) =>
        runMix({ devices, load: each, requests: count, seed, frequencies, policy, sloFactor: 5 }),
      );
      return {
        load: each,
        rule,
        meanMs: mean(results.map(meanMsOf)),
        inTimePercent: mean(results.map(({ summary }) => (100 * summary.inTime) / summary.requests)),
        loadsPerRequest: mean(results.map(({ summary }) => summary.loads / summary.requests)),
      };
    }),
  );
  print(
    ['load', 'rule', 'in time %', 'mean latency ms', 'loads/request'],
    rows.map((row) => [
      ...[`${row.load}`, row.rule, row.inTimePercent.toFixed(1)],
      ...[row.meanMs.toFixed(0), row.loadsPerRequest.toFixed(3)],
    ]),
  );
  return measuresOf(rows, (row) => `load ${row.load}, ${row.rule}`, {
    'in time %': ({ inTimePercent }) => inTimePercent,
    'mean latency ms': ({ meanMs }) => meanMs,
  });
}

function seeds(): number[] {
  return Array.from({ length: SMALL.seeds }, (_, i) => 10 + i);
}

function meanMsOf({ latenciesNs }: MixResult): number {
  return mean(latenciesNs) / 1e6;
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}

function print(names: readonly string[], lines: readonly (readonly string[])[]): void {
  if (values.json !== '-') process.stdout.write(`${tableText([names, ...lines])}\n`);
}
