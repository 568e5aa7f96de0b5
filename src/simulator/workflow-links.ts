import { NONE as SHARED_NONE } from '../collections/index.js';
import { passTimes, type WorkflowTable } from '../serving/index.js';
import type { EventQueue } from './events.js';
import { WorkflowEvent as SharedWorkflowEvent } from './workflow-events.js';

const NONE = SHARED_NONE;
const WorkflowEvent = SharedWorkflowEvent;

/** SentOutput is the output of a task on its way from a place to another: a device, or NONE for the front. */
export interface SentOutput {
  readonly task: number;
  readonly from: number;
  readonly to: number;
}

/**
 * WorkflowLinks lets outputs be on their way. An output between servers takes the sender's uplink and the
 * receiver's downlink together, in the order in which outputs are sent; an output between devices of a server
 * takes no link that others use. The front has a link for every output.
 */
export class WorkflowLinks {
  private readonly going: ((SentOutput & { readonly endNs: number }) | undefined)[] = [];
  private readonly uplinkFreeAt: Float64Array;
  private readonly downlinkFreeAt: Float64Array;
  private readonly passNs: (bytes: number, from: number, to: number) => number;
  /** How many outputs have been sent. */
  count = 0;

  constructor(
    private readonly table: WorkflowTable,
    private readonly events: EventQueue,
  ) {
    this.passNs = passTimes(table);
    this.uplinkFreeAt = new Float64Array(table.hosts.length);
    this.downlinkFreeAt = new Float64Array(table.hosts.length);
  }

  /** send sends an output of a given number of bytes, as a fetch of a number. */
  send(at: number, fetch: number, { bytes, ...output }: SentOutput & { readonly bytes: number }): void {
    const { from, to } = output;
    const [sender, receiver] = [this.hostOf(from), this.hostOf(to)];
    const tookNs = this.passNs(bytes, from, to);
    let startNs = at;
    if (sender !== receiver) {
      if (sender !== NONE) startNs = Math.max(startNs, this.uplinkFreeAt[sender] as number);
      if (receiver !== NONE) startNs = Math.max(startNs, this.downlinkFreeAt[receiver] as number);
      if (sender !== NONE) this.uplinkFreeAt[sender] = startNs + tookNs;
      if (receiver !== NONE) this.downlinkFreeAt[receiver] = startNs + tookNs;
    }
    this.count += 1;
    this.going[fetch] = { ...output, endNs: startNs + tookNs };
    this.events.schedule(startNs + tookNs, WorkflowEvent.fetchEnds, fetch);
  }

  /** arrived gives the output that a fetch has brought; undefined where it was lost, and its number may be that of another. */
  arrived(at: number, fetch: number): SentOutput | undefined {
    const output = this.going[fetch];
    if (output?.endNs !== at) return undefined;
    this.going[fetch] = undefined;
    return output;
  }

  /** lose lets outputs be no more that are on their way. */
  lose(isLost: (output: SentOutput) => boolean): void {
    for (const [fetch, output] of this.going.entries())
      if (output !== undefined && isLost(output)) this.going[fetch] = undefined;
  }

  private hostOf(device: number): number {
    return device === NONE ? NONE : (this.table.devices[device] as WorkflowTable['devices'][number]).host;
  }
}
