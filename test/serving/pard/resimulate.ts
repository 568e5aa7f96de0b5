/**
 * An independent re-simulation of PARD and its baselines, written from the paper and docs/pard.md alone: the core must
 * agree with it request for request. It is slow and plain. What both must do alike, where neither the paper nor
 * docs/pard.md says it, is fixed here:
 *
 * - Time is in whole nanoseconds. Transfers take none. Devices are counted through the stages, from the first stage on.
 * - An event is the end of a batch, an arrival, the giving up of a request, or an instant at which the state is shared while a
 *   request is in flight. At an instant with events, first the state is shared if such an instant has come since it was.
 *   Then batches end, in the order in which they began. Then requests arrive. Then each device is looked at, in the order
 *   of their numbers. Then the tasks of the batches that ended come to their next stage, batch by batch, edge by edge, and
 *   in the order in which they were collected, each is dispatched at once, and each device is looked at again.
 * - To look at a device is: to give up what is hopeless, to top up the batch, and, if the device is idle and has one, to
 *   start it and to do the same again for the next; at last to give up what is hopeless at the new low end. A device that
 *   lost a task because its request was dropped at another is looked at again, after those of higher numbers.
 * - Where the most budget goes first, those of whose row a parallel stage has put its part into a batch go before all others: of
 *   them the one with the most budget, and of equal ones the last of which that was so while it waited.
 * - Hopeless is now + d_k > deadline, and the low end is the least budget, or the head of a queue by arrival. Requests
 *   are given up under Eq. 3 in all its forms and under `nexus`. The time of it is an event: deadline − d_k + 1 of the
 *   present low end of each device. Whoever is not at the low end is not given up.
 * - Stages without an edge into them are entries. The rows of a request come to the first entry, and then, row by row, to the
 *   others. An edge that a row does not go along has spoken as soon as the batch before it has ended; one that it goes along
 *   has when the row comes. A stage begins for a row when all edges into it have spoken, and is left out, as if its own edges
 *   were not gone along, where the row has come by none. At the end of a batch, edges that are not gone along speak task by
 *   task. A request ends when nothing of it is left.
 * - A request that is dropped is taken out of all queues and batches that have not begun. One that has begun goes on, and its
 *   results are thrown away. What was collected counts for q and F all the same.
 * - State: 0 is a multiple, at which the state is made before anything else, with draws. Afterwards a multiple counts only
 *   where an event comes at it or before the next; the state then is as of it. What happens at the very instant of a
 *   multiple is not in its state: T_in counts the tasks that came in [T − period, T), whether that multiple counts or not. No
 *   period has passed at 0, so there is no T_in. T_s and ε are over the last five periods, as many as there are, and each
 *   period has the T_s of its end. ε is 0 where nothing came.
 * - With a period of 0, only q of Eq. 3 is of the moment (d never changes here). The rest is shared every 0.1 s, and the order
 *   every second, by the T_in of that second.
 * - q and `pard-wcl`'s longest latency are over the buckets that have weight. q is a quotient of two whole numbers: the
 *   weights are counted in fiftieths.
 * - Draws: every stage with an edge into it in order, M each, whichever the scheduler. A sum is that of the same draw of all
 *   stages of a path; after the last stage it is 0. F⁻¹(λ) is of each path by itself.
 * - `two-choices` draws twice for every task, from one stream for all stages, even where the stage has one device.
 * - What is longer than its share of the SLO by less than a thousandth of a nanosecond is as long as it: shares are rounded.
 * - `pard-oc` has one count of α a stage, kept while there is no overload.
 * - Where the devices of a stage are unlike, d_k is that of the device which a request is bound to, and d of other stages and of
 *   all that is shared is the mean of the stage (`durationNs`). By turns, the next is the device whose turn would end first if
 *   each of its turns took its d; of equal ones, the first after the last one that was chosen.
 * - `nexus`: the window is the room, or what is left of the queue where that is shorter. The requests in it are put into
 *   the batch together.
 */
import { chosenDevice, type Dispatching } from './dispatch.js';
import {
  areParallel,
  type Device,
  type Edge,
  edgesInto,
  edgesOf,
  type Fate,
  type Pipeline,
  type Request,
  type Row,
  type Settings,
  sloOf,
  sum,
  type Task,
  type Visit,
} from './pipeline.js';
import { type Paths, pathsOf, type Question, RULES, type Rule } from './rules.js';
import {
  type Decided,
  type History,
  mostFirstAt,
  queueingAt,
  type Shared,
  type Sharing,
  sharedAt,
} from './shared-state.js';

interface Run {
  pipeline: Pipeline;
  edges: Edge[][];
  into: number[];
  paths: Paths;
  /** By stage, those that are parallel to it. */
  parallel: number[][];
  rule: Rule;
  sharing: Sharing;
  /** How often the state is shared, and how often the order is. */
  everyNs: number;
  orderEveryNs: number;
  devices: Device[];
  dispatchings: Dispatching[];
  histories: History[];
  overloads: { count: number }[];
  shared: Shared;
  sharedNs: number;
  mostFirst: boolean[];
  orderedNs: number;
  arrived: number;
  begun: number;
  besides: number;
  open: Set<number>;
  /** Whether a device has lost a task because its request was dropped at another. */
  isDisturbed: boolean;
  fates: Fate[];
}

/** Sent is a row on its way to a stage. */
interface Sent {
  to: number;
  row: Row;
}

/** resimulated tells the fate of each request, in the order of the arrivals. */
export function resimulated(pipeline: Pipeline, settings: Settings): Fate[] {
  const run = newRun(pipeline, settings);
  for (let nowNs = nextEventNs(run); nowNs < Infinity; nowNs = nextEventNs(run)) {
    share(run, nowNs);
    const ending = run.devices.filter(({ running }) => running?.endNs === nowNs);
    const sent = ending.toSorted(byBegin).flatMap((device) => endBatch(run, device, nowNs));
    while (pipeline.arrivalsNs[run.arrived] === nowNs) arrive(run, run.arrived++, nowNs);
    lookAtAll(run, nowNs);
    for (const { to, row } of sent) if (isOpen(run, row)) comeAlong(run, to, row, nowNs);
    if (sent.length > 0) lookAtAll(run, nowNs);
  }
  return run.fates;
}

function byBegin(a: Device, b: Device): number {
  return a.running!.number - b.running!.number;
}

function newRun(pipeline: Pipeline, settings: Settings): Run {
  const { stages } = pipeline;
  const { scheduler, dispatch = 'turns', waits, choices, periodNs = 1e9, windowNs = 5e9 } = settings;
  const { lambda = 0.1, draws = 10_000 } = settings;
  const rule: Rule = RULES[scheduler];
  const sharing = { pipeline, order: rule.order, waits, periodNs, windowNs, lambda, draws };
  const devices = stages
    .flatMap(({ devices: count, latencyNs, unlikeNs }, stage) =>
      Array.from({ length: count }, (_, i) => ({ stage, latencyNs: unlikeNs?.[i] ?? latencyNs })),
    )
    .map((own, number): Device => ({ ...own, number, turnedNs: 0, queue: [], collected: [] }));
  const dispatchings = stages.map((stage, k) => {
    const own = devices.filter((device) => device.stage === k);
    return { rule: dispatch, stage, devices: own, dispatched: 0, choices };
  });
  const histories = stages.map((): History => ({ receivedNs: [], decided: [] }));
  const orderEveryNs = periodNs === 0 ? 1e9 : periodNs;
  return {
    pipeline,
    rule,
    sharing,
    devices,
    dispatchings,
    histories,
    orderEveryNs,
    edges: edgesOf(pipeline),
    into: edgesInto(pipeline),
    paths: pathsOf(pipeline),
    everyNs: periodNs === 0 ? 1e8 : periodNs,
    parallel: stages.map((_, k) => stages.flatMap((_stage, b) => (areParallel(pipeline, k, b) ? [b] : []))),
    overloads: stages.map(() => ({ count: 0 })),
    shared: sharedAt(0, sharing, histories),
    mostFirst: mostFirstAt(0, { ...sharing, intervalNs: orderEveryNs }, histories, []),
    sharedNs: 0,
    orderedNs: 0,
    arrived: 0,
    begun: 0,
    besides: 0,
    open: new Set(),
    isDisturbed: false,
    fates: [],
  };
}

function nextEventNs(run: Run): number {
  const { pipeline, rule, devices, arrived, sharedNs, everyNs, orderedNs, orderEveryNs, open } = run;
  const times = devices.flatMap((device) => {
    const low = rule.givesUp ? lowEnd(rule, device) : undefined;
    const hopelessNs = low && low.deadlineNs - ownNs(run, device) + 1;
    return [device.running?.endNs ?? Infinity, hopelessNs ?? Infinity];
  });
  const sharesNs = open.size > 0 ? Math.min(sharedNs + everyNs, orderedNs + orderEveryNs) : Infinity;
  return Math.min(pipeline.arrivalsNs[arrived] ?? Infinity, sharesNs, ...times);
}

function share(run: Run, nowNs: number): void {
  const { sharing, histories, everyNs, orderEveryNs } = run;
  const orderedNs = Math.floor(nowNs / orderEveryNs) * orderEveryNs;
  if (orderedNs > run.orderedNs) {
    run.orderedNs = orderedNs;
    run.mostFirst = mostFirstAt(
      orderedNs,
      { ...sharing, intervalNs: orderEveryNs },
      histories,
      run.mostFirst,
    );
  }
  const sharedNs = Math.floor(nowNs / everyNs) * everyNs;
  if (sharedNs <= run.sharedNs) return;
  run.sharedNs = sharedNs;
  run.shared = sharedAt(sharedNs, sharing, histories);
}

function isOpen({ open }: Run, { request }: Row): boolean {
  return open.has(request.number);
}

/** arrive lets the rows of a request come to the entries. */
function arrive(run: Run, number: number, nowNs: number): void {
  const { pipeline, into } = run;
  const entries = into.flatMap((edges, k) => (edges === 0 ? [k] : []));
  const count = pipeline.rows?.[number] ?? 1;
  const left = count * entries.length;
  const request: Request = { number, sentNs: nowNs, deadlineNs: nowNs + sloOf(pipeline, number), left };
  run.open.add(number);
  run.fates[number] = { outcome: 'dropped', endNs: Infinity, visits: [] };
  const rows = Array.from({ length: count }, (_, row): Row => {
    return { request, row, spoken: into.map(() => 0), isReached: into.map(() => false), taken: [] };
  });
  for (const row of rows) receive(run, entries[0]!, row, nowNs);
  for (const row of rows) for (const entry of entries.slice(1)) receive(run, entry, row, nowNs);
}

/** endBatch gives the rows that go on to other stages. */
function endBatch(run: Run, device: Device, nowNs: number): Sent[] {
  const tasks = device.running!.tasks.filter(({ row }) => isOpen(run, row));
  const edges = run.edges[device.stage]!;
  device.running = undefined;
  const goesAlong = tasks.map(({ row }) => takenBy(run, device.stage, row));
  const sent = edges.flatMap(({ to }, e) =>
    tasks.flatMap(({ row }, i) => (goesAlong[i]![e] ? [{ to, row }] : [])),
  );
  tasks.forEach(({ row }, i) => {
    row.request.left += sum(goesAlong[i]!.map(Number)) - 1;
    edges.forEach(({ to }, e) => {
      if (!goesAlong[i]![e]) speak(run, to, row, nowNs);
    });
  });
  for (const { row } of tasks) if (row.request.left === 0) finish(run, row.request, nowNs);
  return sent;
}

/** takenBy tells for each edge of a stage whether a row goes along it. */
function takenBy({ pipeline, edges }: Run, stage: number, { request, row }: Row): boolean[] {
  const verdict = pipeline.verdict?.(request.number, row, stage) ?? 0;
  let asked = 0;
  return edges[stage]!.map(({ isConditional }) => !isConditional || ((verdict >> asked++) & 1) === 1);
}

/** comeAlong lets a row come to a stage along an edge. Where it has come there by another one, they are one from then on. */
function comeAlong(run: Run, stage: number, row: Row, nowNs: number): void {
  if (row.isReached[stage]) row.request.left -= 1;
  row.isReached[stage] = true;
  speak(run, stage, row, nowNs);
}

/** speak counts one more edge into a stage that has spoken. */
function speak(run: Run, stage: number, row: Row, nowNs: number): void {
  row.spoken[stage]! += 1;
  if (row.spoken[stage]! < run.into[stage]!) return;
  if (row.isReached[stage]) receive(run, stage, row, nowNs);
  else for (const { to } of run.edges[stage]!) speak(run, to, row, nowNs);
}

function receive(run: Run, stage: number, row: Row, nowNs: number): void {
  const device = chosenDevice(run.dispatchings[stage]!, nowNs);
  const visit: Visit = { device: device.number, receivedNs: nowNs };
  const { sentNs, deadlineNs, number } = row.request;
  run.histories[stage]!.receivedNs.push(nowNs);
  run.fates[number]!.visits.push(visit);
  const task: Task = { row, sentNs, deadlineNs, receivedNs: nowNs, visit };
  if (run.parallel[stage]!.some((beside) => row.taken.includes(beside))) task.beside = run.besides++;
  device.queue.push(task);
}

function finish(run: Run, { number, deadlineNs }: Request, nowNs: number): void {
  if (!run.open.delete(number)) return;
  Object.assign(run.fates[number]!, { outcome: nowNs <= deadlineNs ? 'inTime' : 'late', endNs: nowNs });
}

/** drop ends a request at all its stages. */
function drop(run: Run, at: Device, { row }: Task, nowNs: number): void {
  const { number } = row.request;
  run.open.delete(number);
  Object.assign(run.fates[number]!, { outcome: 'dropped', endNs: nowNs, droppedAt: at.stage });
  for (const device of run.devices) {
    const isLeft = (task: Task) => task.row.request.number !== number;
    if (device.queue.every(isLeft) && device.collected.every(isLeft)) continue;
    device.queue = device.queue.filter(isLeft);
    device.collected = device.collected.filter(isLeft);
    if (device !== at) run.isDisturbed = true;
  }
}

function lookAtAll(run: Run, nowNs: number): void {
  do {
    run.isDisturbed = false;
    for (const device of run.devices) lookAt(run, device, nowNs);
  } while (run.isDisturbed);
}

function lookAt(run: Run, device: Device, nowNs: number): void {
  const { latencyNs } = device;
  giveUp(run, device, nowNs);
  topUp(run, device, nowNs);
  if (device.running === undefined && device.collected.length > 0) {
    const tasks = device.collected;
    device.collected = [];
    for (const { visit } of tasks) visit.startNs = nowNs;
    device.running = { number: run.begun++, tasks, endNs: nowNs + latencyNs[tasks.length - 1]! };
    giveUp(run, device, nowNs);
    topUp(run, device, nowNs);
  }
  giveUp(run, device, nowNs);
}

function giveUp(run: Run, device: Device, nowNs: number): void {
  const { rule } = run;
  if (!rule.givesUp) return;
  const dNs = ownNs(run, device);
  for (;;) {
    const low = lowEnd(rule, device);
    if (low === undefined || nowNs + dNs <= low.deadlineNs) return;
    drop(run, device, low, nowNs);
  }
}

function topUp(run: Run, device: Device, nowNs: number): void {
  const { batch } = run.pipeline.stages[device.stage]!;
  if (run.rule.scans) {
    const window = Math.min(batch - device.collected.length, device.queue.length);
    for (const task of inFirstWindow(run, device, window, nowNs)) collect(run, device, task, nowNs);
    return;
  }
  while (device.queue.length > 0 && device.collected.length < batch) {
    const task = firstOf(run, device);
    const question = questionOf(run, device, task, nowNs);
    if (run.rule.drops(question)) {
      run.histories[device.stage]!.decided.push(decidedBy(question, nowNs, false));
      drop(run, device, task, nowNs);
    } else collect(run, device, task, nowNs);
  }
}

/** inFirstWindow drops all before the first window in which every request would be in time, and gives that window. */
function inFirstWindow(run: Run, device: Device, window: number, nowNs: number): Task[] {
  const areKept = (tasks: Task[]) => tasks.every((t) => !run.rule.drops(questionOf(run, device, t, nowNs)));
  const windowed = () => device.queue.slice(0, Math.min(window, device.queue.length));
  while (window > 0 && device.queue.length > 0 && !areKept(windowed()))
    drop(run, device, device.queue[0]!, nowNs);
  return windowed();
}

function questionOf(run: Run, device: Device, task: Task, nowNs: number): Question {
  const { pipeline, shared, overloads, paths, sharing, histories } = run;
  const { stages } = pipeline;
  const sloNs = sloOf(pipeline, task.row.request.number);
  const { stage: k } = device;
  const startNs = device.running?.endNs ?? nowNs;
  const atOnceNs = (stage: number) => {
    const kept = histories[stage]!.decided.filter(({ isKept }) => isKept);
    return queueingAt(nowNs, sharing.windowNs, kept);
  };
  const queueingNs = (stage: number) =>
    sharing.periodNs === 0 ? atOnceNs(stage) : shared.queueingNs[stage]!;
  const dNs = ownNs(run, device);
  return { task, k, startNs, dNs, stages, sloNs, paths, shared, queueingNs, overload: overloads[k]! };
}

function decidedBy({ task, startNs, dNs }: Question, nowNs: number, isKept: boolean): Decided {
  const { receivedNs } = task;
  const [queueingNs, waitNs] = [nowNs - receivedNs, startNs - nowNs];
  return { isKept, batchedNs: nowNs, queueingNs, waitNs, latencyNs: startNs + dNs - receivedNs };
}

/** ownNs is d of the device itself. */
function ownNs({ pipeline }: Run, { stage, latencyNs }: Device): number {
  return latencyNs[pipeline.stages[stage]!.batch - 1]!;
}

function collect(run: Run, device: Device, task: Task, nowNs: number): void {
  const question = questionOf(run, device, task, nowNs);
  run.histories[device.stage]!.decided.push(decidedBy(question, nowNs, true));
  device.queue.splice(device.queue.indexOf(task), 1);
  device.collected.push(task);
  task.visit.batchedNs = nowNs;
  takenOn(run, device.stage, task.row);
}

/** takenOn tells the parallel stages that a row was put into a batch. */
function takenOn(run: Run, stage: number, row: Row): void {
  row.taken.push(stage);
  for (const beside of run.parallel[stage]!)
    for (const device of run.devices)
      for (const task of device.queue)
        if (device.stage === beside && task.row === row) task.beside ??= run.besides++;
}

/** byBudget sorts a queue from the least budget to the most; of equal ones, the first to come has the least. */
function byBudget(queue: readonly Task[]): Task[] {
  return queue.toSorted((a, b) => a.deadlineNs - b.deadlineNs);
}

function firstOf({ rule, mostFirst }: Run, { queue, stage }: Device): Task {
  if (rule.order === 'arrival') return queue[0]!;
  if (!mostFirst[stage]) return byBudget(queue)[0]!;
  const beside = queue.filter((task) => task.beside !== undefined);
  if (beside.length === 0) return byBudget(queue).at(-1)!;
  return byBudget(beside.toSorted((a, b) => a.beside! - b.beside!)).at(-1)!;
}

function lowEnd({ order }: Rule, { queue }: Device): Task | undefined {
  return order === 'arrival' ? queue[0] : byBudget(queue)[0];
}
