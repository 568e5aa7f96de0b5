import { NONE } from '../../collections/index.js';
import { type Decisions, Decision as SharedDecision } from '../decisions.js';
import type { ComponentWorth } from './component-worth.js';
import type { Outputs } from './outputs.js';
import type { PlannedWork } from './planned-work.js';
import type { Queues } from './queues.js';
import type { Residency } from './residency.js';
import type { Placeable } from './table.js';
import { areInputsMade, isAtRest, isQueued, isTakenNow, type OutputPlace, type Task } from './work.js';

const Decision = SharedDecision;

/** MemoryParts holds what decides and knows what devices hold. */
export interface MemoryParts extends MemoryRules {
  readonly decisions: Decisions;
  readonly residency: Residency;
  readonly work: PlannedWork;
  readonly placeable: Placeable;
  readonly queues: Queues;
  readonly outputs: Outputs;
}

/** MemoryRules say which components leave first, and for what. */
export interface MemoryRules {
  readonly worth: ComponentWorth;
  /** isByWorth says whether what is worth least leaves first; else it is what was used longest ago. */
  readonly isByWorth: boolean;
  /** isSparing says whether what is expected pushes out only what is worth less. */
  readonly isSparing: boolean;
}

/** Room says what may leave a device for something else: first all of the first step, then all of the second, and so on. */
export type Room = readonly Step[];

/** Step is some components that may be evicted, or some outputs that may go, the oldest first. */
type Step =
  | { readonly kind: 'components'; readonly mayGo: (component: number) => boolean }
  | { readonly kind: 'outputs'; readonly mayGo: (task: Task) => boolean };

/**
 * Rooms makes room in the memory of devices. Neither the component that a device executes nor the inputs of what it
 * executes go, nor what is on its way to it or from it.
 */
export class Rooms {
  constructor(private readonly options: MemoryParts) {}

  /** forMade gives what may leave for outputs that have been made: all, those outputs too. */
  forMade(device: number): Room {
    const head = this.options.queues.head(device);
    const ofHead: readonly Task[] = head?.inputs ?? [];
    return [...this.upTo(device, head?.component ?? NONE, ofHead), { kind: 'outputs', mayGo: () => true }];
  }

  /** forHead gives what may leave for the head of a device: all but what the head needs. */
  forHead(device: number, { component, inputs }: Task): Room {
    return this.upTo(device, component, inputs);
  }

  /**
   * forReady gives what may leave for a task whose inputs are there: components that no such task before it needs, nor
   * the head.
   */
  forReady(device: number, before: ReadonlySet<number>): Room {
    const head = this.options.queues.head(device)?.component;
    return [
      ...this.forKnown(device),
      { kind: 'components', mayGo: (component) => component !== head && !before.has(component) },
    ];
  }

  /** forKnown gives what may leave for a known task: components that no known task needs. */
  forKnown(device: number): Room {
    const { queues } = this.options;
    return [
      ...this.besideNeeded(device),
      { kind: 'components', mayGo: (component) => !queues.needs(device, component) },
    ];
  }

  /** forExpected gives what may leave for the component of an expected task. */
  forExpected(device: number, expected: number): Room {
    const { worth, work, isSparing } = this.options;
    if (!isSparing) return this.besideNeeded(device);
    const gainedNs = worth.gainedNs(device, expected);
    const mayGo = (component: number) =>
      work.rowsOf(device, component) === 0 && worth.heldNs(device, component) < gainedNs;
    return [{ kind: 'components', mayGo }];
  }

  /** besideNeeded gives what may leave for anything else: components that the device needs for nothing, known or expected. */
  besideNeeded(device: number): Room {
    const { work } = this.options;
    return [{ kind: 'components', mayGo: (component) => work.rowsOf(device, component) === 0 }];
  }

  /**
   * make lets things leave a device until there are so many bytes of room.
   * @returns whether there are. Where all that may leave is too little, nothing leaves, unless no bytes are asked for.
   */
  make(device: number, bytes: number, room: Room): boolean {
    const { residency } = this.options;
    if (residency.free(device) >= bytes) return true;
    if (bytes > 0 && this.could(device, room) < bytes) return false;
    for (const step of room)
      while (this.leaves(device, step)) if (residency.free(device) >= bytes) return true;
    return residency.free(device) >= bytes;
  }

  private upTo(device: number, spared: number, ofHead: readonly Task[]): Room {
    const { queues } = this.options;
    const takenHere = ({ readers }: Task, isMade: boolean) => {
      for (const reader of readers)
        if (reader.device === device && isQueued(reader) && (!isMade || areInputsMade(reader))) return true;
      return false;
    };
    return [
      ...this.besideNeeded(device),
      { kind: 'outputs', mayGo: (task) => !takenHere(task, false) },
      { kind: 'components', mayGo: (component) => !queues.needs(device, component) },
      { kind: 'outputs', mayGo: (task) => !takenHere(task, true) },
      { kind: 'components', mayGo: (component) => component !== spared },
      { kind: 'outputs', mayGo: (task) => !ofHead.includes(task) },
    ];
  }

  /** could is how much room there would be if all left that may. */
  private could(device: number, room: Room): number {
    const { residency, placeable, outputs } = this.options;
    let free = residency.free(device);
    const components = room.filter((step) => step.kind === 'components');
    for (let component = 0; component < placeable.components; component++)
      if (this.isIdle(device, component) && components.some(({ mayGo }) => mayGo(component)))
        free += residency.bytesOf(device, component);
    const ofOutputs = room.filter((step) => step.kind === 'outputs');
    if (ofOutputs.length === 0) return free;
    outputs.some(device, (task, place) => {
      if (this.isUnused(device, task, place) && ofOutputs.some(({ mayGo }) => mayGo(task)))
        free += task.bytes;
      return false;
    });
    return free;
  }

  /** leaves lets the next thing of a step leave, and returns whether there was one. */
  private leaves(device: number, step: Step): boolean {
    const { residency, decisions, placeable, outputs, worth, isByWorth } = this.options;
    if (step.kind === 'outputs') {
      const task = outputs.some(device, (one, place) => this.isUnused(device, one, place) && step.mayGo(one));
      if (task !== undefined) this.spill(device, task);
      return task !== undefined;
    }
    const component = residency.least(
      device,
      (one) => this.isIdle(device, one) && step.mayGo(one),
      (one) => (isByWorth ? worth.heldNs(device, one) : 0),
    );
    if (component === NONE) return false;
    residency.evict(device, component);
    decisions.push(Decision.evict, device, placeable.poolOf(device, component));
    return true;
  }

  private spill(device: number, task: Task): void {
    const { outputs, queues } = this.options;
    outputs.spill(device, task);
    for (const reader of task.readers)
      if (reader.device === device && isQueued(reader)) queues.changed(reader);
  }

  private isIdle(device: number, component: number): boolean {
    const { residency, work } = this.options;
    return residency.holds(device, component) && component !== work.executing(device);
  }

  private isUnused(device: number, task: Task, place: OutputPlace): boolean {
    return task.bytes > 0 && isAtRest(place) && !isTakenNow(task, device);
  }
}
