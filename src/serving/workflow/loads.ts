import { NONE } from '../../collections/index.js';
import { type Decisions, Decision as SharedDecision } from '../decisions.js';
import type { DeviceWork } from './device-work.js';
import type { Outputs } from './outputs.js';
import type { Queues } from './queues.js';
import { Held, type Residency } from './residency.js';
import type { Placeable } from './table.js';
import { areInputsMade, isQueued } from './work.js';

const Decision = SharedDecision;

/** LoadsOptions holds the parts of Loads. */
export interface LoadsOptions {
  readonly decisions: Decisions;
  readonly residency: Residency;
  readonly work: DeviceWork;
  readonly placeable: Placeable;
  readonly queues: Queues;
  readonly outputs: Outputs;
}

/** Wanted is a component that is to be loaded, and what it must not replace. */
interface Wanted {
  readonly component: number;
  readonly spares: (other: number) => boolean;
  /** Whether outputs make room for it too. */
  readonly spills: boolean;
}

/**
 * Loads decides what devices load, and what leaves their memory (DyOrc §5.4). A device loads one component at a time, while it
 * executes others: first that of the first task whose inputs are there, then those of other known tasks, then those of expected
 * ones.
 *
 * What is evicted was used longest ago, among what may go: for an expected task nothing that the device has to do needs, for a
 * known one also what only expected tasks need, and for one whose inputs are there also what only needs to be there later, and
 * outputs that no task takes here now.
 */
export class Loads {
  constructor(private readonly options: LoadsOptions) {}

  /** begin begins the load that a device should do now, if any. */
  begin(at: number, device: number): void {
    const { work, residency, decisions } = this.options;
    if (work.copyingUntilNs(device) > 0) return;
    const wanted = this.wanted(device);
    if (wanted === undefined || !this.makeRoom(device, wanted)) return;
    const { component } = wanted;
    const fromDisk = !residency.isOnHost(device, component);
    work.copies(device, at + residency.loadNs(device, component));
    residency.load(at, device, component);
    const pool = this.options.placeable.poolOf(device, component);
    decisions.push(Decision.load, device, pool, fromDisk ? 1 : 0);
  }

  /**
   * relieve makes room for outputs that have come: by components that nothing needs, then by outputs that no task takes here now, then
   * by components that are needed later.
   */
  relieve(device: number): void {
    const { residency, work, queues } = this.options;
    const isIdle = (component: number) => component !== work.executing(device);
    while (residency.free(device) < 0) {
      const least = (mayGo: (component: number) => boolean) =>
        residency.leastRecent(device, (one) => isIdle(one) && mayGo(one));
      const unneeded = least((one) => work.rowsOf(device, one) === 0);
      if (unneeded !== NONE) this.evict(device, unneeded);
      else if (!this.spill(device)) {
        const expected = least((one) => !queues.needs(device, one));
        const other = expected === NONE ? least(() => true) : expected;
        if (other === NONE) return;
        this.evict(device, other);
      }
    }
  }

  private wanted(device: number): Wanted | undefined {
    const { residency, work, queues, placeable } = this.options;
    const isAbsent = (component: number) => residency.stateOf(device, component) === Held.absent;
    // What a ready task before this one needs is spared.
    const before = new Set<number>();
    for (const { component } of queues.readyOn(device)) {
      if (isAbsent(component)) return { component, spares: (other) => before.has(other), spills: true };
      before.add(component);
    }
    for (let component = 0; component < placeable.components; component++)
      if (queues.needs(device, component) && isAbsent(component))
        return { component, spares: (other) => queues.needs(device, other), spills: false };
    const expected = work.planned(device).find(({ component }) => isAbsent(component));
    if (expected === undefined) return undefined;
    return { component: expected.component, spares: (other) => work.rowsOf(device, other) > 0, spills: false };
  }

  /**
   * makeRoom evicts what may go until there is room.
   * @returns whether there is
   */
  private makeRoom(device: number, { component, spares, spills }: Wanted): boolean {
    const { residency, work } = this.options;
    const mayGo = (other: number) => other !== work.executing(device) && !spares(other);
    const bytes = residency.bytesOf(device, component);
    let could = residency.free(device);
    for (let other = 0; could < bytes && other < this.options.placeable.components; other++)
      if (residency.holds(device, other) && mayGo(other)) could += residency.bytesOf(device, other);
    for (; could < bytes && spills; ) {
      const before = residency.free(device);
      if (!this.spill(device)) break;
      could += residency.free(device) - before;
    }
    if (could < bytes) return false;
    while (residency.free(device) < bytes) this.evict(device, residency.leastRecent(device, mayGo));
    return true;
  }

  /** spill moves an output to the front that no task of the device takes which could be executed now or is. */
  private spill(device: number): boolean {
    const task = this.options.outputs.spill(device, ({ readers }) =>
      [...readers].every((reader) => reader.device !== device || (isQueued(reader) && !areInputsMade(reader))),
    );
    if (task === undefined) return false;
    for (const reader of task.readers)
      if (reader.device === device) {
        reader.missing += 1;
        this.options.queues.changed(reader);
      }
    return true;
  }

  private evict(device: number, component: number): void {
    const { residency, decisions, placeable } = this.options;
    residency.evict(device, component);
    decisions.push(Decision.evict, device, placeable.poolOf(device, component));
  }
}
