import { Counter, Gauge, type Registry } from 'prom-client';
import type { KeptCounts } from './live-outputs.js';

/** WorkflowCounters counts what devices load, forget, send and keep; docs/metrics.md defines the figures. */
export class WorkflowCounters {
  private readonly loads: Counter<'device' | 'component'>;
  private readonly loadFailures: Counter<'device' | 'component'>;
  private readonly evictions: Counter<'device' | 'component'>;
  private readonly fetches: Counter<'from' | 'to'>;
  private readonly fetchedBytes: Counter<'from' | 'to'>;
  private readonly spills: Counter<'device'>;
  private readonly unneededOutputs: Counter;

  /** @param kept counts what devices keep when it is asked */
  constructor(registry: Registry, kept: () => KeptCounts) {
    const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
      new Counter({ name, help, labelNames, registers: [registry] });
    const ofComponent = ['device', 'component'] as const;
    const ofWay = ['from', 'to'] as const;
    this.loads = counter(
      'inferplan_component_loads_total',
      'Components that devices have loaded',
      ofComponent,
    );
    this.loadFailures = counter('inferplan_component_load_failures_total', 'Loads that failed', ofComponent);
    this.evictions = counter(
      'inferplan_component_evictions_total',
      'Components that devices forgot',
      ofComponent,
    );
    this.fetches = counter('inferplan_output_fetches_total', 'Outputs sent to where they are needed', ofWay);
    this.fetchedBytes = counter('inferplan_output_fetched_bytes_total', 'Bytes of the outputs sent', ofWay);
    this.spills = counter('inferplan_output_spills_total', 'Outputs that left a device for want of room', [
      'device',
    ] as const);
    this.unneededOutputs = counter(
      'inferplan_outputs_unneeded_total',
      'Outputs dropped before their request ended, as nobody could ask for them any more',
      [],
    );
    gauge(registry, 'inferplan_kept_outputs', 'Outputs that devices keep', () => kept().outputs);
    gauge(
      registry,
      'inferplan_kept_output_bytes',
      'Bytes of the outputs that devices keep',
      () => kept().bytes,
    );
  }

  loaded(device: string, component: string): void {
    this.loads.inc({ device, component });
  }

  loadFailed(device: string, component: string): void {
    this.loadFailures.inc({ device, component });
  }

  evicted(device: string, component: string): void {
    this.evictions.inc({ device, component });
  }

  fetched(way: { readonly from: string; readonly to: string }, bytes: number): void {
    this.fetches.inc(way);
    this.fetchedBytes.inc(way, bytes);
  }

  unneeded(): void {
    this.unneededOutputs.inc();
  }

  spilled(device: string): void {
    this.spills.inc({ device });
  }
}

function gauge(registry: Registry, name: string, help: string, value: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(value());
    },
  });
}
