import { NONE } from '../../collections/index.js';
import { Decision as SharedDecision } from '../decisions.js';
import { Held } from './residency.js';
import { type MemoryParts, type Room, Rooms } from './rooms.js';
import type { Spreading } from './spreading.js';
import { placeOn, type Task } from './work.js';

const Decision = SharedDecision;

/** Wanted is a component that is to be loaded, and what may leave for it. */
interface Wanted {
  readonly component: number;
  readonly room: Room;
}

/** LoadsOptions holds the parts of Loads. */
export interface LoadsOptions extends MemoryParts {
  readonly spreading: Spreading;
}

/**
 * Loads decides what devices take into their memory: components (DyOrc §5.4) and the inputs of tasks. A device loads one component
 * at a time, while it executes others: first that of the head of its queue, then those of other tasks whose inputs are there,
 * then those of other known tasks, then those of expected ones.
 *
 * The head may push out all that nothing works with. Where even that gives no room for its inputs or its component, the
 * device takes in nothing else until it has. So a device always comes to execute its head.
 */
export class Loads {
  private readonly rooms: Rooms;

  constructor(private readonly options: LoadsOptions) {
    this.rooms = new Rooms(options);
  }

  /** relieve makes room for outputs that have come, if there is too little. */
  relieve(device: number): void {
    if (this.options.residency.free(device) < 0) this.rooms.make(device, 0, this.rooms.forMade(device));
  }

  /** begin begins the fetches and the load that a device should do now. */
  begin(at: number, device: number): void {
    const { work, queues } = this.options;
    const head = queues.head(device);
    if (head !== undefined && !this.serveHead(at, device, head)) return;
    this.fetchOthers(device);
    if (work.copyingUntilNs(device) > 0) return;
    const wanted = this.wanted(device);
    if (wanted !== undefined) this.load(at, device, wanted);
    else if (head === undefined && work.executing(device) === NONE) this.spread(at, device);
  }

  /** serveHead fetches and loads what the head of a device needs, and returns whether there was room for it. */
  private serveHead(at: number, device: number, head: Task): boolean {
    const { work, residency, queues } = this.options;
    const room = this.rooms.forHead(device, head);
    if (!this.fetch(device, head, room)) return false;
    const isAbsent = residency.stateOf(device, head.component) === Held.absent;
    if (!isAbsent || work.copyingUntilNs(device) > 0 || !queues.readyOn(device).has(head)) return true;
    return this.load(at, device, { component: head.component, room });
  }

  /** fetchOthers fetches inputs for the other tasks of a device, in their order, as long as there is room beside what is needed. */
  private fetchOthers(device: number): void {
    const room = this.rooms.besideNeeded(device);
    for (const task of [...this.options.queues.unsentTo(device)]) if (!this.fetch(device, task, room)) return;
  }

  /** fetch sends the inputs of a task to its device that are not there yet, and returns whether there was room for all of them. */
  private fetch(device: number, task: Task, room: Room): boolean {
    const { outputs, queues } = this.options;
    for (const input of task.inputs) {
      if (placeOn(input, device) !== undefined) continue;
      if (!this.rooms.make(device, input.bytes, room)) return false;
      outputs.bring(input, device);
    }
    queues.changed(task);
    return true;
  }

  /** load begins to load a component, and returns whether there was room for it. */
  private load(at: number, device: number, { component, room }: Wanted): boolean {
    const { work, residency, decisions, placeable } = this.options;
    if (!this.rooms.make(device, residency.bytesOf(device, component), room)) return false;
    const fromDisk = !residency.isOnHost(device, component);
    work.copies(device, at + residency.loadNs(device, component));
    residency.load(at, device, component);
    decisions.push(Decision.load, device, placeable.poolOf(device, component), fromDisk ? 1 : 0);
    return true;
  }

  /** spread lets a device that has nothing to do load what others have much to do of. */
  private spread(at: number, device: number): void {
    const spread = this.options.spreading.next(device);
    if (spread === undefined) return;
    const { component, mayGo } = spread;
    this.load(at, device, { component, room: [{ kind: 'components', mayGo }] });
  }

  private wanted(device: number): Wanted | undefined {
    const { residency, work, queues } = this.options;
    const isAbsent = (component: number) => residency.stateOf(device, component) === Held.absent;
    // The inputs of a ready task before this one are spared.
    const before = new Set<number>();
    for (const { component } of queues.readyOn(device)) {
      if (isAbsent(component)) return { component, room: this.rooms.forReady(device, before) };
      before.add(component);
    }
    const needed = work.needed(device).filter(isAbsent);
    const known = needed.find((component) => queues.needs(device, component));
    if (known !== undefined) return { component: known, room: this.rooms.forKnown(device) };
    const [expected] = needed;
    if (expected === undefined) return undefined;
    return { component: expected, room: this.rooms.forExpected(device, expected) };
  }
}
