import type { StreamedFile } from '../artifacts/index.js';
import { NS_PER_US, stageFields, stageMark } from '../formats/index.js';
import { ownerOf, poolsServedBy, type Topology } from '../serving/index.js';
import { DeviceState, type SimulationObserver, type SimulationView } from '../simulator/index.js';

/**
 * The usual limit of a timeline file: Perfetto's page reads this size in a few seconds, and hardly much more.
 */
export const MOST_TIMELINE_BYTES = 256 * 1024 * 1024;

const CHUNK_CHARACTERS = 1 << 18;

/** WrittenTimeline says how much of a timeline was written. */
export interface WrittenTimeline {
  readonly slices: number;
  readonly bytes: number;
  /**
   * The instant in nanoseconds at which the timeline was cut because its file was full. Steps that ended before it are
   * in the file.
   */
  readonly cutAtNs?: number;
}

/** Row is a row of the timeline: a virtual GPU or a link, in the process of its server. */
interface Row {
  readonly process: number;
  readonly thread: number;
}

/**
 * TimelineWriter watches a run and writes it as Chrome trace JSON, which ui.perfetto.dev and chrome://tracing
 * read. Each server is a process with a row for each virtual GPU and each link. Each batch is a slice, with a
 * flow to every slice that its requests go on in. Where devices come and go, a span shows how long each is in use, and
 * one within it how long it comes up. Times are virtual. It leaves out all steps after the first for which
 * the file has reached `mostBytes` (256 MiB by default). Memory holds one chunk of text and three numbers for each open
 * request.
 */
export class TimelineWriter implements SimulationObserver {
  private text = '{"displayTimeUnit":"ms","traceEvents":[\n';
  private first = true;
  private slices = 0;
  private flows = 0;
  private cutAtNs: number | undefined;
  private view: SimulationView | undefined;
  private readonly gpus: Row[];
  private readonly uplinks: (Row | undefined)[] = [];
  private readonly downlinks: (Row | undefined)[] = [];
  private readonly places: string[];
  /** By request: the number of its last slice (0 when there is none), that slice's row, and when it began. */
  private lastSlice = new Float64Array(1024);
  private lastRow: Row[] = [];
  private lastAtNs = new Float64Array(1024);
  private readonly sources: number[] = [];
  /** By device: how many spans are open, one while it is in use and another within it while it comes up. */
  private readonly openSpans: Uint8Array;
  private latestNs = 0;

  constructor(
    private readonly file: StreamedFile,
    topology: Topology,
    private readonly mostBytes = MOST_TIMELINE_BYTES,
  ) {
    this.places = topology.pools.map(
      (pool) => `${ownerOf(topology, pool)} ${stageMark(stageFields(pool.stage))}`,
    );
    this.gpus = this.writeRows(topology);
    const { devices } = topology;
    this.openSpans = new Uint8Array(devices.length);
    if (devices.every(({ standby }) => standby !== true)) return;
    devices.forEach(({ standby }, device) => {
      if (standby !== true) this.beginSpan(0, device, 'in use');
    });
  }

  begun(view: SimulationView): void {
    this.view = view;
  }

  arrived(_atNs: number, _model: number, request: number): void {
    if (request >= this.lastSlice.length) this.grow(request + 1);
    this.lastSlice[request] = 0;
  }

  executed(
    batch: number,
    pool: number,
    device: number,
    size: number,
    handedNs: number,
    startNs: number,
    endNs: number,
  ): void {
    if (this.isFull(endNs)) return;
    const name = `${this.places[pool]} ×${size}`;
    this.step(batch, size, this.gpus[device] as Row, name, 'execute', handedNs, startNs, endNs);
  }

  transferred(
    batch: number,
    pool: number,
    fromDevice: number,
    toDevice: number,
    size: number,
    handedNs: number,
    startNs: number,
    endNs: number,
  ): void {
    if (endNs === startNs || this.isFull(endNs)) return;
    const { links } = (this.view as SimulationView).topology;
    const name = `${this.places[pool]} ×${size}`;
    const up = this.uplinks[links.uplinkOf[fromDevice] as number] as Row;
    this.step(batch, size, up, name, 'transfer', handedNs, startNs, endNs);
    if (toDevice < 0) return;
    const down = this.downlinks[links.downlinkOf[toDevice] as number] as Row;
    this.step(batch, size, down, name, 'transfer', startNs, startNs, endNs);
  }

  scaled(atNs: number, device: number, state: DeviceState): void {
    if (this.isFull(atNs)) return;
    if (state === DeviceState.comesUp) {
      this.beginSpan(atNs, device, 'in use');
      this.beginSpan(atNs, device, 'comes up');
      return;
    }
    const left = state === DeviceState.up ? 1 : 0;
    while ((this.openSpans[device] as number) > left) this.endSpan(atNs, device);
  }

  /** finish writes the end of the JSON and puts the file in its place. @throws the disk's own error */
  finish(): WrittenTimeline {
    for (let device = 0; device < this.openSpans.length; device++)
      while ((this.openSpans[device] as number) > 0) this.endSpan(this.latestNs, device);
    this.file.write(`${this.text}\n]}\n`);
    this.text = '';
    this.file.finish();
    return {
      slices: this.slices,
      bytes: this.file.bytes,
      ...(this.cutAtNs === undefined ? {} : { cutAtNs: this.cutAtNs }),
    };
  }

  private beginSpan(atNs: number, device: number, name: string): void {
    this.openSpans[device]! += 1;
    this.spanEvent(atNs, device, `"ph":"B","name":"${name}","cat":"device"`);
  }

  private endSpan(atNs: number, device: number): void {
    this.openSpans[device]! -= 1;
    this.spanEvent(atNs, device, '"ph":"E"');
  }

  private spanEvent(atNs: number, device: number, what: string): void {
    const { process, thread } = this.gpus[device] as Row;
    this.latestNs = Math.max(this.latestNs, atNs);
    this.event(`{${what},"pid":${process},"tid":${thread},"ts":${us(atNs)}}`);
  }

  private isFull(atNs: number): boolean {
    if (this.cutAtNs !== undefined) return true;
    if (this.file.bytes + this.text.length < this.mostBytes) return false;
    this.cutAtNs = atNs;
    return true;
  }

  /** step writes a slice, and a flow to it from each earlier slice of its requests. */
  private step(
    batch: number,
    size: number,
    row: Row,
    name: string,
    category: string,
    handedNs: number,
    startNs: number,
    endNs: number,
  ): void {
    const view = this.view as SimulationView;
    this.slices += 1;
    this.latestNs = Math.max(this.latestNs, endNs);
    this.event(
      `{"ph":"X","pid":${row.process},"tid":${row.thread},"ts":${us(startNs)},"dur":${us(endNs - startNs)},"name":${JSON.stringify(name)},"cat":"${category}","args":{"requests":${size},"waitedUs":${us(startNs - handedNs)}}}`,
    );
    this.sources.length = 0;
    for (let i = 0; i < size; i++) {
      const request = view.requestOf(view.core.batchTask(batch, i));
      const source = this.lastSlice[request] as number;
      if (source !== 0 && !this.sources.includes(source)) {
        this.sources.push(source);
        this.flow(this.lastRow[request] as Row, this.lastAtNs[request] as number, row, startNs);
      }
      this.lastSlice[request] = this.slices;
      this.lastRow[request] = row;
      this.lastAtNs[request] = startNs;
    }
  }

  private flow(from: Row, fromNs: number, to: Row, toNs: number): void {
    this.flows += 1;
    const common = `"cat":"flow","name":"goes on","id":${this.flows}`;
    this.event(`{"ph":"s","pid":${from.process},"tid":${from.thread},"ts":${us(fromNs)},${common}}`);
    this.event(`{"ph":"f","bp":"e","pid":${to.process},"tid":${to.thread},"ts":${us(toNs)},${common}}`);
  }

  private event(json: string): void {
    this.text += this.first ? json : `,\n${json}`;
    this.first = false;
    if (this.text.length < CHUNK_CHARACTERS) return;
    this.file.write(this.text);
    this.text = '';
  }

  private writeRows({ devices, links, pools }: Topology): Row[] {
    const processes = new Map<string, number>();
    const threads = new Map<number, number>();
    const rowIn = (process: number, name: string): Row => {
      const thread = (threads.get(process) ?? 0) + 1;
      threads.set(process, thread);
      this.named('thread_name', `"pid":${process},"tid":${thread}`, name);
      this.event(
        `{"ph":"M","name":"thread_sort_index","pid":${process},"tid":${thread},"args":{"sort_index":${thread}}}`,
      );
      return { process, thread };
    };
    const gpus = devices.map((device) => {
      const { server, gpu, deviceClass, virtual, name } = device;
      let process = processes.get(server);
      if (process === undefined) {
        process = processes.size + 1;
        processes.set(server, process);
        this.named('process_name', `"pid":${process}`, `${server} (${deviceClass})`);
        this.event(
          `{"ph":"M","name":"process_sort_index","pid":${process},"args":{"sort_index":${process}}}`,
        );
      }
      const size = virtual === 1 ? '' : ` 1/${virtual}`;
      const k = virtual === 1 ? '' : `.${name.split('/').at(-1)}`;
      const held = poolsServedBy(device).map((pool) => this.places[pool]);
      return rowIn(process, `gpu ${gpu}${k}${size}: ${held.join(', ')}`);
    });
    devices.forEach((device, i) => {
      const sends = poolsServedBy(device).some(
        (pool) => (pools[pool] as { transferBytes: number }).transferBytes > 0,
      );
      const { process } = gpus[i] as Row;
      const up = links.uplinkOf[i] as number;
      const down = links.downlinkOf[i] as number;
      if (sends) this.uplinks[up] ??= rowIn(process, 'uplink');
      this.downlinks[down] ??= rowIn(process, 'downlink');
    });
    return gpus;
  }

  private named(what: string, place: string, name: string): void {
    this.event(`{"ph":"M","name":"${what}",${place},"args":{"name":${JSON.stringify(name)}}}`);
  }

  private grow(needed: number): void {
    let capacity = 2 * this.lastSlice.length;
    while (capacity < needed) capacity *= 2;
    for (const column of ['lastSlice', 'lastAtNs'] as const) {
      const longer = new Float64Array(capacity);
      longer.set(this[column]);
      this[column] = longer;
    }
  }
}

function us(ns: number): number {
  return ns / NS_PER_US;
}
