/**
 * This benchmark measures what PARD's decisions cost in time and memory (§5.4 of the paper, overheads):
 *
 *     node dist/bench/pard/overhead.js [--seconds 120] [--rounds 7] [--schedulers pard,nexus,naive] [--requests 100000]
 *
 * - A decision is one request at one stage, collected or dropped. All that the core heard of a run of lv-tweet is told again
 *   to fresh cores, without devices or links around them, and the CPU time of this process is divided by the decisions.
 * - The update of F is timed by the wall, as often as the state is shared; the median is told, by stage.
 * - Memory is that of the core's typed arrays, and of the heap after a collection of garbage, when so many requests and ten
 *   times as many have come at a steady rate of 1.2 times what is planned.
 */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { planTopologyOf } from '../../src/plans/index.js';
import { streamsOf } from '../../src/random/index.js';
import {
  type ChosenScheduler,
  Decisions,
  makeCore,
  type ServingCore,
  StageLocalCore,
  type StageTopology,
} from '../../src/serving/index.js';
import { traceWorkload } from '../../src/simulation/index.js';
import { benchArguments, benchNumber } from '../arguments.js';
import { tableText } from '../results/table.js';
import { quantileOf } from './sensitivity/section.js';
import { heardOf, told } from './sensitivity/told-again.js';
import { watchedRun } from './watched-run.js';
import { applicationPlan, countTrace, pardWorkload, servedWorkload } from './workloads.js';

const USAGE =
  'node dist/bench/pard/overhead.js [--seconds 120] [--rounds 7] [--schedulers pard,nexus,naive] [--requests 100000]';
const { values } = benchArguments(USAGE, {
  seconds: { type: 'string', default: '120' },
  rounds: { type: 'string', default: '7' },
  schedulers: { type: 'string', default: 'pard,pard-fcfs,pard-lower,nexus,clipper++,naive' },
  requests: { type: 'string', default: '100000' },
});
const seconds = benchNumber(USAGE, '--seconds', values.seconds);
const rounds = benchNumber(USAGE, '--rounds', values.rounds);
const requests = benchNumber(USAGE, '--requests', values.requests);
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const lines = [
  ['scheduler', 'decisions', 'ns/decision', 'least', 'without updates', 'update, ms/stage', 'p95'],
];
for (const scheduler of values.schedulers.split(',')) lines.push(await costOf(scheduler));
process.stdout.write(`${tableText(lines)}\n`);
const memory = [['scheduler', 'requests', 'bytes in typed arrays of the core', 'bytes on the heap']];
for (const scheduler of ['pard', 'naive'])
  for (const count of [requests, 10 * requests]) memory.push(await memoryOf(scheduler, count));
process.stdout.write(tableText(memory));

/** costOf tells the core of a scheduler again what it heard, and says what its decisions took. */
async function costOf(scheduler: string): Promise<string[]> {
  const asked = await pardWorkload({ application: 'lv', trace: 'tweet', durationS: seconds });
  const chosen = servedWorkload(asked, { scheduler }).scheduler;
  const topology = planTopologyOf(servedWorkload(asked, { scheduler }).plan, {
    transfers: 'links',
    rules: 'own',
  });
  const heard = heardOf(asked, { scheduler });
  const spent: number[] = [];
  const updates: number[] = [];
  let decided = 0;
  for (let round = 0; round <= rounds; round++) {
    const { core, decisions } = freshCore(chosen, topology);
    const before = process.cpuUsage();
    decided = told(core, decisions, heard);
    const { user, system } = process.cpuUsage(before);
    if (round > 0) spent.push((1e3 * (user + system)) / decided);
  }
  const { core, decisions } = freshCore(chosen, topology);
  timeUpdates(core, updates);
  told(core, decisions, heard);
  spent.sort((a, b) => a - b);
  updates.sort((a, b) => a - b);
  const median = quantileOf(spent, 0.5);
  const updatesNs = updates.length === 0 ? 0 : 1e6 * quantileOf(updates, 0.5) * updates.length;
  const perStage = (share: number) =>
    updates.length === 0 ? '–' : (quantileOf(updates, share) / topology.pools.length).toFixed(3);
  return [
    ...[scheduler, `${decided}`, median.toFixed(0), (spent[0] as number).toFixed(0)],
    ...[(median - updatesNs / decided).toFixed(0), perStage(0.5), perStage(0.95)],
  ];
}

function freshCore(
  chosen: ChosenScheduler,
  topology: StageTopology,
): { core: ServingCore; decisions: Decisions } {
  const decisions = new Decisions();
  return { core: makeCore(chosen, topology, { decisions, streams: streamsOf(0, 'core') }), decisions };
}

/** timeUpdates adds to `updates` how many milliseconds each sharing of the state takes. */
function timeUpdates(core: ServingCore, updates: number[]): void {
  const planner = core instanceof StageLocalCore ? core.planner : undefined;
  if (planner === undefined) return;
  const passed = planner.passed.bind(planner);
  planner.passed = (at) => {
    const start = performance.now();
    passed(at);
    updates.push(performance.now() - start);
  };
}

async function memoryOf(scheduler: string, count: number): Promise<string[]> {
  const plan = await applicationPlan('lv');
  const rps = 1.2 * (plan.rps as number);
  const workload = traceWorkload(countTrace(new Float64Array(Math.ceil(count / rps) + 10).fill(1), rps));
  let core: ServingCore | undefined;
  let arrived = 0;
  let found: string[] = [];
  watchedRun(
    { plan, workload, seed: 0 },
    { scheduler },
    {
      made: (made) => {
        core = made;
      },
      arrived: () => {
        arrived += 1;
        if (arrived !== count) return;
        collectGarbage();
        found = [`${typedBytes(core)}`, `${process.memoryUsage().heapUsed}`];
      },
    },
  );
  return [scheduler, `${count}`, ...found];
}

/** typedBytes adds up the typed arrays that can be reached from a value. */
function typedBytes(value: unknown): number {
  const seen = new Set<unknown>();
  const open = [value];
  let bytes = 0;
  while (open.length > 0) {
    const one = open.pop();
    if (typeof one !== 'object' || one === null || seen.has(one)) continue;
    seen.add(one);
    if (ArrayBuffer.isView(one)) bytes += one.byteLength;
    else open.push(...Object.values(one));
  }
  return bytes;
}
