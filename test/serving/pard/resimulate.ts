/**
 * An independent re-simulation of PARD and its baselines, written from the paper and docs/pard.md alone: the core must
 * agree with it request for request. It is slow and plain. What both must do alike, where neither the paper nor
 * docs/pard.md says it, is fixed here:
 *
 * - Time is in whole nanoseconds. Transfers take none. Devices are counted through the stages, from the first stage on.
 * - An event is the end of a batch, an arrival, the giving up of a request, or a multiple of the period at which a request
 *   is in flight. At an instant with events, first the state is shared if a multiple of the period has come since it was.
 *   Then batches end, in the order in which they began. Then requests arrive. Then each device is looked at, in the order
 *   of their numbers. Then the tasks of the batches that ended come to their next stage, in the order in which they were
 *   collected, each is dispatched at once, and each device is looked at again.
 * - To look at a device is: to give up what is hopeless, to top up the batch, and, if the device is idle and has one, to
 *   start it and to do the same again for the next; at last to give up what is hopeless at the new low end.
 * - Hopeless is now + d_k > deadline, and the low end is the least budget, or the head of a queue by arrival. Requests
 *   are given up under Eq. 3 in all its forms and under `nexus`. The time of it is an event: deadline − d_k + 1 of the
 *   present low end of each device. Whoever is not at the low end is not given up.
 * - State: 0 is a multiple, at which the state is made before anything else, with draws. Afterwards a multiple counts only
 *   where an event comes at it or before the next; the state then is as of it. What happens at the very instant of a
 *   multiple is not in its state: T_in counts the tasks that came in [T − period, T), whether that multiple counts or not. No
 *   period has passed at 0, so there is no T_in. T_s and ε are over the last five periods, as many as there are, and each
 *   period has the T_s of its end. ε is 0 where nothing came.
 * - q and `pard-wcl`'s longest latency are over the buckets that have weight. q is a quotient of two whole numbers: the
 *   weights are counted in fiftieths.
 * - Draws: every stage but the first in order, M each, whichever the scheduler. A sum is that of the same draw of all later stages; after
 *   the last stage it is 0.
 * - `two-choices` draws twice for every task, from one stream for all stages, even where the stage has one device.
 * - `pard-oc` has one count of α a stage, kept while there is no overload.
 * - `nexus`: the window is the room, or what is left of the queue where that is shorter. The requests in it are put into
 *   the batch together.
 */
import {
  type Chain,
  type Device,
  durationNs,
  type Fate,
  type Settings,
  type Task,
  type Visit,
} from './chain.js';
import { chosenDevice, type Dispatching } from './dispatch.js';
import { type Question, RULES, type Rule } from './rules.js';
import { type Decided, type History, type Shared, type Sharing, sharedAt } from './shared-state.js';

interface Run {
  chain: Chain;
  rule: Rule;
  sharing: Sharing;
  devices: Device[];
  dispatchings: Dispatching[];
  histories: History[];
  overloads: { count: number }[];
  shared: Shared;
  sharedNs: number;
  arrived: number;
  begun: number;
  fates: Fate[];
}

/** resimulated tells the fate of each request, in the order of the arrivals. */
export function resimulated(chain: Chain, settings: Settings): Fate[] {
  const run = newRun(chain, settings);
  for (let nowNs = nextEventNs(run); nowNs < Infinity; nowNs = nextEventNs(run)) {
    share(run, nowNs);
    const ending = run.devices.filter(({ running }) => running?.endNs === nowNs);
    const moved = ending.toSorted(byBegin).flatMap((device) => endBatch(run, device, nowNs));
    while (chain.arrivalsNs[run.arrived] === nowNs) {
      const [request, sentNs] = [run.arrived++, nowNs];
      run.fates[request] = { outcome: 'dropped', endNs: Infinity, visits: [] };
      receive(run, 0, { request, sentNs, deadlineNs: sentNs + chain.sloNs }, nowNs);
    }
    for (const device of run.devices) lookAt(run, device, nowNs);
    for (const { stage, task } of moved) receive(run, stage, task, nowNs);
    if (moved.length > 0) for (const device of run.devices) lookAt(run, device, nowNs);
  }
  return run.fates;
}

function byBegin(a: Device, b: Device): number {
  return a.running!.number - b.running!.number;
}

function newRun(chain: Chain, settings: Settings): Run {
  const { stages } = chain;
  const { scheduler, dispatch = 'turns', waits, choices, periodNs = 1e9, windowNs = 5e9 } = settings;
  const { lambda = 0.1, draws = 10_000 } = settings;
  const rule: Rule = RULES[scheduler];
  const sharing = { stages, order: rule.order, waits, periodNs, windowNs, lambda, draws };
  const devices = stages
    .flatMap((stage, k) => new Array<number>(stage.devices).fill(k))
    .map((stage, number): Device => ({ number, stage, queue: [], collected: [] }));
  const dispatchings = stages.map((stage, k) => {
    const own = devices.filter((device) => device.stage === k);
    return { rule: dispatch, stage, devices: own, dispatched: 0, choices };
  });
  const histories = stages.map((): History => ({ receivedNs: [], decided: [] }));
  const overloads = stages.map(() => ({ count: 0 }));
  const shared = sharedAt(0, sharing, histories, undefined);
  return {
    ...{ chain, rule, sharing, devices, dispatchings, histories, overloads, shared },
    ...{ sharedNs: 0, arrived: 0, begun: 0, fates: [] },
  };
}

function nextEventNs(run: Run): number {
  const { chain, rule, devices, arrived, sharing, sharedNs } = run;
  const times = devices.flatMap((device) => {
    const low = rule.givesUp ? lowEnd(rule, device) : undefined;
    const hopelessNs = low && low.deadlineNs - durationNs(chain.stages[device.stage]!) + 1;
    return [device.running?.endNs ?? Infinity, hopelessNs ?? Infinity];
  });
  const isInFlight = devices.some(
    ({ queue, collected, running }) => queue.length + collected.length > 0 || running !== undefined,
  );
  const sharesNs = isInFlight ? sharedNs + sharing.periodNs : Infinity;
  return Math.min(chain.arrivalsNs[arrived] ?? Infinity, sharesNs, ...times);
}

function share(run: Run, nowNs: number): void {
  const { sharing, histories, shared } = run;
  const multipleNs = Math.floor(nowNs / sharing.periodNs) * sharing.periodNs;
  if (multipleNs <= run.sharedNs) return;
  run.sharedNs = multipleNs;
  run.shared = sharedAt(multipleNs, sharing, histories, shared);
}

/** endBatch gives the tasks that go on to another stage. */
function endBatch(run: Run, device: Device, nowNs: number): { stage: number; task: Task }[] {
  const { tasks } = device.running!;
  const stage = device.stage + 1;
  device.running = undefined;
  if (stage < run.chain.stages.length) return tasks.map((task) => ({ stage, task }));
  for (const task of tasks) end(run, task, nowNs <= task.deadlineNs ? 'inTime' : 'late', nowNs);
  return [];
}

function receive(
  run: Run,
  stage: number,
  request: Pick<Task, 'request' | 'sentNs' | 'deadlineNs'>,
  nowNs: number,
): void {
  const device = chosenDevice(run.dispatchings[stage]!, nowNs);
  const visit: Visit = { device: device.number, receivedNs: nowNs };
  run.histories[stage]!.receivedNs.push(nowNs);
  run.fates[request.request]!.visits.push(visit);
  device.queue.push({ ...request, receivedNs: nowNs, visit });
}

function end({ fates }: Run, { request }: Task, outcome: Fate['outcome'], nowNs: number): void {
  Object.assign(fates[request]!, { outcome, endNs: nowNs });
}

function drop(run: Run, device: Device, task: Task, nowNs: number): void {
  device.queue.splice(device.queue.indexOf(task), 1);
  end(run, task, 'dropped', nowNs);
  run.fates[task.request]!.droppedAt = device.stage;
}

function lookAt(run: Run, device: Device, nowNs: number): void {
  const { latencyNs } = run.chain.stages[device.stage]!;
  giveUp(run, device, nowNs);
  topUp(run, device, nowNs);
  if (device.running === undefined && device.collected.length > 0) {
    const tasks = device.collected;
    device.collected = [];
    device.running = { number: run.begun++, tasks, endNs: nowNs + latencyNs[tasks.length - 1]! };
    giveUp(run, device, nowNs);
    topUp(run, device, nowNs);
  }
  giveUp(run, device, nowNs);
}

function giveUp(run: Run, device: Device, nowNs: number): void {
  const { rule, chain } = run;
  if (!rule.givesUp) return;
  const dNs = durationNs(chain.stages[device.stage]!);
  for (;;) {
    const low = lowEnd(rule, device);
    if (low === undefined || nowNs + dNs <= low.deadlineNs) return;
    drop(run, device, low, nowNs);
  }
}

function topUp(run: Run, device: Device, nowNs: number): void {
  const { batch } = run.chain.stages[device.stage]!;
  if (run.rule.scans) {
    const window = Math.min(batch - device.collected.length, device.queue.length);
    for (const task of inFirstWindow(run, device, window, nowNs)) collect(device, task, nowNs);
    return;
  }
  while (device.queue.length > 0 && device.collected.length < batch) {
    const task = firstOf(run, device);
    const question = questionOf(run, device, task, nowNs);
    const isKept = !run.rule.drops(question);
    run.histories[device.stage]!.decided.push(decidedBy(question, nowNs, isKept));
    if (isKept) collect(device, task, nowNs);
    else drop(run, device, task, nowNs);
  }
}

/** inFirstWindow drops all before the first window in which every request would be in time, and gives that window. */
function inFirstWindow(run: Run, device: Device, window: number, nowNs: number): Task[] {
  if (window === 0) return [];
  const queue = [...device.queue];
  const areKept = (tasks: Task[]) => tasks.every((t) => !run.rule.drops(questionOf(run, device, t, nowNs)));
  let from = 0;
  while (from < queue.length && !areKept(queue.slice(from, from + window))) from += 1;
  for (const task of queue.slice(0, from)) drop(run, device, task, nowNs);
  return queue.slice(from, from + window);
}

function questionOf(run: Run, device: Device, task: Task, nowNs: number): Question {
  const { chain, shared, overloads } = run;
  const { stage: k } = device;
  const startNs = device.running?.endNs ?? nowNs;
  return { task, k, startNs, stages: chain.stages, sloNs: chain.sloNs, shared, overload: overloads[k]! };
}

function decidedBy({ task, startNs, stages, k }: Question, nowNs: number, isKept: boolean): Decided {
  const { receivedNs } = task;
  const [queueingNs, waitNs] = [nowNs - receivedNs, startNs - nowNs];
  return {
    ...{ isKept, batchedNs: nowNs, queueingNs, waitNs },
    latencyNs: startNs + durationNs(stages[k]!) - receivedNs,
  };
}

function collect(device: Device, task: Task, nowNs: number): void {
  device.queue.splice(device.queue.indexOf(task), 1);
  device.collected.push(task);
  task.visit.batchedNs = nowNs;
  task.visit.startNs = device.running?.endNs ?? nowNs;
}

/** byBudget sorts a queue from the least budget to the most; of equal ones, the first to come has the least. */
function byBudget(queue: readonly Task[]): Task[] {
  return queue.toSorted((a, b) => a.deadlineNs - b.deadlineNs);
}

function firstOf({ rule, shared }: Run, { queue, stage }: Device): Task {
  if (rule.order === 'arrival') return queue[0]!;
  return byBudget(queue).at(shared.mostFirst[stage] ? -1 : 0)!;
}

function lowEnd({ order }: Rule, { queue }: Device): Task | undefined {
  return order === 'arrival' ? queue[0] : byBudget(queue)[0];
}
