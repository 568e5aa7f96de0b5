import { NONE as SHARED_NONE } from '../../collections/index.js';
import type { Stream } from '../../random/index.js';
import type { Pool } from '../topology.js';
import type { Allocation, AllocationParts } from './allocation.js';
import { ComponentLoads } from './component-loads.js';
import { areInputsThere, bytesOfInputs, OutputRoom } from './output-room.js';
import { ReplicaScaling, type ScalingSettings } from './replica-scaling.js';
import { type ComponentReplica, Replicas } from './replicas.js';
import { type Chance, StrandedTasks } from './stranded-tasks.js';
import type { Task } from './work.js';

const NONE = SHARED_NONE;

const S = 1e9;

/** RayLikePolicy is how Ray Serve is configured; times are in nanoseconds. */
export interface RayLikePolicy extends ScalingSettings {
  /** How many tasks a replica has at most. */
  readonly mostOngoing: number;
  /** How long a batch waits for more tasks after its first. */
  readonly batchWaitNs: number;
}

/**
 * RAY_LIKE_POLICY has the defaults of Ray Serve 2.32 and later, with `num_replicas="auto"` and `@serve.batch` (docs.ray.io,
 * AutoscalingConfig and ray.serve.batch). The largest batch is that of the pool.
 */
export const RAY_LIKE_POLICY: RayLikePolicy = {
  targetOngoing: 2,
  mostOngoing: 5,
  metricsIntervalNs: 10 * S,
  lookBackNs: 30 * S,
  upscaleDelayNs: 30 * S,
  downscaleDelayNs: 600 * S,
  leastReplicas: 1,
  mostReplicas: 100,
  batchWaitNs: 0.01 * S,
};

/**
 * RayLikeAllocation serves components as Ray Serve does (DyOrc §8). A component is a deployment with replicas
 * on devices, whose number follows the number of its tasks (ReplicaScaling). A task goes to one of two
 * replicas that are drawn, the one with fewer tasks, and stays with it. Where replicas have as many tasks as
 * they take, tasks wait before them in their order. The inputs that a replica needs from other devices are
 * sent to it as soon as it has the task, and it puts its tasks into batches as their inputs come.
 *
 * A device executes one batch at a time, of its replicas in turn.
 */
export class RayLikeAllocation implements Allocation {
  private readonly room: OutputRoom;
  private readonly loads: ComponentLoads;
  private readonly stranded: StrandedTasks;
  private readonly replicas: Replicas;
  private readonly scaling: ReplicaScaling;
  private readonly draws: Stream;
  /** By component, the tasks that no replica has. */
  private readonly waiting: readonly Set<Task>[];
  /** By device, the tasks that its replicas have and that are in no batch, in the order in which they got them. */
  private readonly given: readonly Set<Task>[];
  /** By device, the component whose replica executed last. */
  private readonly lastTurn: Int32Array;
  private readonly toServe = new Set<number>();
  private isDraining = false;
  private seenVersion = 0;

  constructor(
    private readonly parts: AllocationParts,
    private readonly policy: RayLikePolicy,
  ) {
    const { table, topology, outputs, residency, placeable, decisions, streams } = parts;
    const { devices, components } = table;
    const { batchWaitNs, leastReplicas, mostReplicas } = policy;
    const room = new OutputRoom(outputs, residency);
    const loads = new ComponentLoads(devices.length, { decisions, residency, placeable, room });
    const touched = (device: number) => this.touched(device);
    const replicas = new Replicas({
      topology,
      table,
      placeable,
      residency,
      decisions,
      loads,
      batchWaitNs,
      touched,
    });
    const scaled = components.map((_, component) => {
      const held = devices.filter((_, device) => residency.holds(device, component)).length;
      const most = Math.min(mostReplicas, replicas.most(component));
      return { first: Math.max(leastReplicas, held), most };
    });
    this.room = room;
    this.loads = loads;
    this.replicas = replicas;
    this.scaling = new ReplicaScaling(scaled, policy);
    this.stranded = new StrandedTasks(parts.drop);
    this.draws = streams('routing');
    this.waiting = components.map(() => new Set());
    this.given = devices.map(() => new Set());
    this.lastTurn = new Int32Array(devices.length).fill(NONE);
  }

  ready(task: Task): void {
    this.waitingFor(task.component).add(task);
    this.stranded.tell(task, this.chanceOf(task));
  }

  left(task: Task): void {
    const { component, device } = task;
    this.waitingFor(component).delete(task);
    this.stranded.left(task);
    if (device === NONE) return;
    const { ongoing, batches } = this.replicaOf(task);
    ongoing.delete(task);
    batches.leave(task);
    this.givenTo(device).delete(task);
    this.toServe.add(device);
  }

  touched(device: number): void {
    this.toServe.add(device);
  }

  ended(device: number, tasks: readonly Task[]): void {
    for (const task of tasks) this.replicaOf(task).ongoing.delete(task);
    this.toServe.add(device);
  }

  fetched(): void {
    for (const device of this.room.takeFull()) this.toServe.add(device);
  }

  loaded(device: number, component: number): void {
    this.loads.loaded(device);
    this.replicas.loaded(device, component);
    this.toServe.add(device);
  }

  loadFailed(device: number, component: number): void {
    this.loads.loaded(device);
    this.replicas.loadFailed(device, component);
    this.toServe.add(device);
  }

  deviceUp(device: number): void {
    this.replicas.deviceUp(device);
    this.toServe.add(device);
  }

  deviceDown(device: number): readonly Task[] {
    this.loads.deviceDown(device);
    const given = this.replicas.deviceDown(device);
    this.givenTo(device).clear();
    // An output that was on its way to the device need not stay any longer where it lies.
    this.fetched();
    return given;
  }

  drain(): void {
    this.isDraining = true;
    for (const device of this.given.keys()) this.toServe.add(device);
  }

  relieve(): void {
    for (const device of this.toServe)
      if (this.room.isOverfull(device)) this.room.relieve(device, this.besideBatches(device));
  }

  decide(at: number): number {
    const scaledNs = this.scaling.decide(at, this.counts());
    for (const { device, batches } of this.everyReplica()) if (batches.dueNs <= at) this.toServe.add(device);
    let strandedNs: number;
    do {
      this.scale();
      strandedNs = this.stranded.dropLate(at);
      for (const component of this.waiting.keys()) this.route(component);
      const devices = [...this.toServe].sort((a, b) => a - b);
      this.toServe.clear();
      for (const device of devices) if (this.replicas.isDeviceUp(device)) this.serve(at, device);
    } while (this.toServe.size > 0);
    let nextNs = Math.min(scaledNs, strandedNs);
    for (const { batches } of this.everyReplica()) nextNs = Math.min(nextNs, batches.dueNs);
    return nextNs;
  }

  /** counts counts the tasks of each component that wait for a replica or that one has. */
  private counts(): number[] {
    return this.waiting.map(({ size }, component) => {
      let count = size;
      for (const { ongoing } of this.replicas.all(component)) count += ongoing.size;
      return count;
    });
  }

  /** scale makes and ends replicas, and looks again at the tasks that wait where there are others than before. */
  private scale(): void {
    for (const [component, target] of this.scaling.targets.entries()) this.replicas.bring(component, target);
    if (this.replicas.version === this.seenVersion) return;
    this.seenVersion = this.replicas.version;
    for (const waiting of this.waiting)
      for (const task of waiting) this.stranded.tell(task, this.chanceOf(task));
  }

  /** route gives the tasks of a component that wait to its replicas, in their order, as long as some replica takes more. */
  private route(component: number): void {
    const waiting = this.waitingFor(component);
    if (waiting.size === 0) return;
    const running = [...this.replicas.all(component)].filter(({ state }) => state === 'running');
    for (const task of waiting) {
      if (running.every((replica) => this.isFull(replica))) return;
      const chosen = this.choose(running.filter(({ device }) => this.fits(device, task)));
      if (chosen === undefined) continue;
      waiting.delete(task);
      task.device = chosen.device;
      chosen.ongoing.add(task);
      this.givenTo(chosen.device).add(task);
      this.toServe.add(chosen.device);
    }
  }

  /** choose draws two replicas, again where both are full, and gives the one with fewer tasks; undefined where all are full. */
  private choose(replicas: readonly ComponentReplica[]): ComponentReplica | undefined {
    if (replicas.every((replica) => this.isFull(replica))) return undefined;
    if (replicas.length === 1) return replicas[0];
    for (;;) {
      const place = this.draws.integer(replicas.length);
      const other = this.draws.integer(replicas.length - 1);
      const first = replicas[place] as ComponentReplica;
      const second = replicas[other < place ? other : other + 1] as ComponentReplica;
      const chosen = second.ongoing.size < first.ongoing.size ? second : first;
      if (!this.isFull(chosen)) return chosen;
    }
  }

  /** serve begins what a device can load, fetch and execute now. */
  private serve(at: number, device: number): void {
    this.replicas.evictEnded(device);
    // A load that finds no room comes first, since what takes the room comes to an end.
    if (this.loads.begin(at, device, this.besideBatches(device))) this.gather(at, device);
    for (const { batches } of this.replicas.on(device))
      if (this.isDraining) batches.seal();
      else batches.sealDue(at);
    if (!this.parts.isExecuting(device)) this.execute(at, device);
  }

  /**
   * gather sends the inputs of tasks to their device, and puts those into batches whose inputs are there. For the first
   * task all may leave that no batch takes, for others only what no task on the device takes. So the first always comes
   * into a batch in the end.
   */
  private gather(at: number, device: number): void {
    let isFirst = true;
    for (const task of this.givenTo(device)) {
      const mayGo = isFirst
        ? this.besideBatches(device, task)
        : ({ readers }: Task) => ![...readers].some((reader) => reader.device === device);
      if (!this.room.fetch(device, task, mayGo)) return;
      if (!areInputsThere(task, device)) isFirst = false;
      else {
        this.givenTo(device).delete(task);
        this.replicaOf(task).batches.add(at, task);
      }
    }
  }

  /** execute has a device execute a batch of the next of its replicas that has one. */
  private execute(at: number, device: number): void {
    const last = this.lastTurn[device] as number;
    const withBatches = [...this.replicas.on(device)].filter(({ batches }) => batches.hasNext);
    withBatches.sort((a, b) => a.component - b.component);
    const next = withBatches.find(({ component }) => component > last) ?? withBatches[0];
    if (next === undefined) return;
    this.lastTurn[device] = next.component;
    this.parts.execute(at, device, next.batches.take());
  }

  /**
   * besideBatches makes the test whether an output is taken neither by a task nor by the batches of a device.
   */
  private besideBatches(device: number, task?: Task): (output: Task) => boolean {
    const spared = new Set(task?.inputs);
    for (const { batches } of this.replicas.on(device))
      for (const { inputs } of batches.tasks) for (const input of inputs) spared.add(input);
    return (output) => !spared.has(output);
  }

  private chanceOf(task: Task): Chance {
    const { component, rows } = task;
    for (const { device, state } of this.replicas.all(component))
      if (state !== 'stopping' && this.fits(device, task)) return 'now';
    const inputBytes = bytesOfInputs([task]);
    const could = this.parts.topology.devices.some(
      (_, device) =>
        this.replicas.couldHold(device, component, inputBytes) && rows <= this.largest(device, component),
    );
    return could ? 'later' : 'never';
  }

  /** fits returns whether a device can execute a task of one of its replicas, beside the others. */
  private fits(device: number, task: Task): boolean {
    return (
      task.rows <= this.largest(device, task.component) &&
      bytesOfInputs([task]) <= this.replicas.freeBytes(device)
    );
  }

  private largest(device: number, component: number): number {
    const { topology, placeable } = this.parts;
    return (topology.pools[placeable.poolOf(device, component)] as Pool).batch;
  }

  private isFull({ ongoing }: ComponentReplica): boolean {
    return ongoing.size >= this.policy.mostOngoing;
  }

  private replicaOf({ device, component }: Task): ComponentReplica {
    return this.replicas.find(device, component) as ComponentReplica;
  }

  private everyReplica(): ComponentReplica[] {
    return this.waiting.flatMap((_, component) => [...this.replicas.all(component)]);
  }

  private waitingFor(component: number): Set<Task> {
    return this.waiting[component] as Set<Task>;
  }

  private givenTo(device: number): Set<Task> {
    return this.given[device] as Set<Task>;
  }
}
