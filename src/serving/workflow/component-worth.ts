import type { ComponentDemand } from './component-demand.js';
import type { Residency } from './residency.js';

/** ComponentWorth says what it is worth that devices hold components: the time that loading them again would take. */
export class ComponentWorth {
  constructor(
    private readonly demand: ComponentDemand,
    private readonly residency: Residency,
  ) {}

  /** heldNs is what a component is worth where it is: its part of the calls, times its load. */
  heldNs(device: number, component: number): number {
    return this.uses(component, this.residency.holders(component)) * this.residency.loadNs(device, component);
  }

  /** gainedNs is what a component would be worth on one device more. */
  gainedNs(device: number, component: number): number {
    return (
      this.uses(component, this.residency.holders(component) + 1) * this.residency.loadNs(device, component)
    );
  }

  /** lostNs is what it costs that a component leaves a device: it is loaded again so many times at most. */
  lostNs(device: number, component: number, mostLoads: number): number {
    const uses = this.uses(component, this.residency.holders(component));
    return Math.min(mostLoads, uses) * this.residency.loadNs(device, component);
  }

  private uses(component: number, holders: number): number {
    return this.demand.of(component) / holders;
  }
}
