/**
 * ComponentDemand says how much each component is called: how often it was of late, each call counting half after a
 * half-life, and how often the programs of open requests are expected to call it.
 */
export class ComponentDemand {
  private readonly called: Float64Array;
  private readonly calledAt: Float64Array;
  private readonly awaited: Int32Array;
  private nowNs = 0;

  constructor(
    components: number,
    private readonly halfLifeNs: number,
  ) {
    this.called = new Float64Array(components);
    this.calledAt = new Float64Array(components);
    this.awaited = new Int32Array(components);
  }

  /** saw counts a call. */
  saw(at: number, component: number): void {
    this.called[component] = this.ofLate(at, component) + 1;
    this.calledAt[component] = at;
    this.nowNs = at;
  }

  /** expects counts calls that are expected, or not any more. */
  expects(component: number, more: number): void {
    this.awaited[component]! += more;
  }

  /** of is how much a component is called, as of the last call. */
  of(component: number): number {
    return this.ofLate(this.nowNs, component) + (this.awaited[component] as number);
  }

  private ofLate(at: number, component: number): number {
    const ageNs = at - (this.calledAt[component] as number);
    return (this.called[component] as number) * Math.exp((-Math.LN2 * ageNs) / this.halfLifeNs);
  }
}
