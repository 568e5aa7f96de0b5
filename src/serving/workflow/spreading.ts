import { NONE } from '../../collections/index.js';
import type { ComponentDemand } from './component-demand.js';
import type { PlannedWork } from './planned-work.js';
import type { SpreadingRule } from './policy.js';
import { Held, type Residency } from './residency.js';
import type { Placeable } from './table.js';

/** SpreadingOptions holds the parts of Spreading. */
export interface SpreadingOptions {
  readonly rule: SpreadingRule;
  readonly halfLifeNs: number;
  readonly demand: ComponentDemand;
  readonly residency: Residency;
  readonly work: PlannedWork;
  readonly placeable: Placeable;
}

/** SpreadComponent is a component that a device is to hold too, and those that may leave for it. */
export interface SpreadComponent {
  readonly component: number;
  readonly mayGo: (component: number) => boolean;
}

/**
 * Spreading says what a device without anything to do should hold: the component whose devices have most to do of it,
 * if those that leave for it have less to do on each of the devices that keep them. Each task finds it cheaper to wait
 * than to bring back what left; all together would not.
 */
export class Spreading {
  constructor(private readonly options: SpreadingOptions) {}

  /** next gives what a device should load, undefined where it holds what it should. */
  next(device: number): SpreadComponent | undefined {
    const { rule, halfLifeNs, residency, placeable, work } = this.options;
    if (rule.kind === 'never') return undefined;
    let most = NONE as number;
    let mostNs = rule.least * halfLifeNs;
    for (let component = 0; component < placeable.components; component++) {
      if (placeable.poolOf(device, component) === NONE) continue;
      if (residency.stateOf(device, component) !== Held.absent) continue;
      // The disk of a server is left to what tasks wait for.
      if (!residency.isOnHost(device, component)) continue;
      const onEachNs = this.workNs(device, component) / Math.max(1, residency.holders(component));
      if (onEachNs <= mostNs) continue;
      most = component;
      mostNs = onEachNs;
    }
    if (most === NONE) return undefined;
    const mayGo = (component: number) => {
      if (work.rowsOf(device, component) > 0) return false;
      const others = residency.holders(component) - 1;
      const workNs = this.workNs(device, component);
      return others === 0 ? workNs === 0 : workNs / others < rule.ratio * mostNs;
    };
    return { component: most, mayGo };
  }

  /** workNs is how long a device would take for the calls of a component of late. */
  private workNs(device: number, component: number): number {
    return this.options.demand.of(component) * this.options.work.executionNs(device, component, 1);
  }
}
