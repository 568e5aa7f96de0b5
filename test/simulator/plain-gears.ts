import type { Gear, GearPlan, GearStep } from '../../src/formats/index.js';

const NEVER = Number.POSITIVE_INFINITY;

/** PlainRequest is how a request was served. */
export interface PlainRequest {
  readonly endedNs: number;
  /** The stage whose model answered. */
  readonly stage: number;
}

/** PlainBatch is an execution. */
export interface PlainBatch {
  readonly stage: number;
  readonly device: number;
  readonly startNs: number;
  readonly endNs: number;
  readonly requests: readonly number[];
}

/** PlainShift tells that another gear came into force. */
export interface PlainShift {
  readonly atNs: number;
  readonly gear: number;
}

/** PlainRun is what comes of a plan and its load. */
export interface PlainRun {
  readonly requests: readonly PlainRequest[];
  readonly batches: readonly PlainBatch[];
  /** The gears that came into force until the last request was answered. */
  readonly shifts: readonly PlainShift[];
}

/** PlainLoad is when requests come, in order, and how certain each stage is of each. */
export interface PlainLoad {
  readonly arrivalsNs: ArrayLike<number>;
  readonly certainty: (request: number, stage: number) => number;
  /** Whether what is sent from model to model takes the time of the cluster's links. */
  readonly transfers?: 'links' | 'none';
}

type Event = { readonly atNs: number } & (
  | { readonly kind: 'comes'; readonly request: number }
  | { readonly kind: 'reaches'; readonly stage: number; readonly requests: readonly number[] }
  | { readonly kind: 'ends'; readonly batch: PlainBatch }
);

/** A request that waits before a stage, since when. */
interface Waiter {
  readonly request: number;
  readonly sinceNs: number;
}

interface Device {
  readonly stages: readonly number[];
  /** The number of the moment at which it fell idle; absent while it runs a batch. */
  idleSince: number | undefined;
}

/**
 * PlainGears serves a gear plan by the rules of docs/serving.md and docs/simulation.md alone, in the plainest way: one
 * list of events, of which those of the next instant are taken, and everything that waits is looked at anew at every
 * instant. It shares nothing with the core that serves gears, nor with its driver.
 */
export class PlainGears {
  private now = 0;
  private events: Event[];
  private readonly names: readonly string[];
  private readonly waiting: Waiter[][];
  private readonly devices: Device[];
  private readonly servers: readonly string[];
  private readonly uplinkFreeNs = new Map<string, number>();
  private moments = 0;
  private gear = 0;
  private count = 0;
  private countBefore = 0;
  private intervalEndNs: number;
  /** How many requests each device has taken for each stage under the gear in force. */
  private taken = new Map<string, number>();
  private readonly gearOf: number[] = [];
  private readonly requests: PlainRequest[] = [];
  private readonly batches: PlainBatch[] = [];
  private readonly shifts: PlainShift[] = [];
  private answered = 0;

  constructor(
    private readonly plan: GearPlan,
    private readonly load: PlainLoad,
  ) {
    this.names = plan.stages.map(({ name }) => name);
    this.waiting = plan.stages.map(() => []);
    const seats = plan.placement.flatMap(({ count = 1, ...seat }) =>
      Array.from({ length: count }, (_, k) => ({ ...seat, k })),
    );
    this.devices = seats.map(({ stages }) => ({
      stages: stages.map((name) => this.names.indexOf(name)),
      idleSince: this.moments++,
    }));
    this.servers = seats.map(({ server, k }) => `${server}+${k}`);
    this.events = Array.from(load.arrivalsNs, (atNs, request) => ({ kind: 'comes', atNs, request }));
    this.intervalEndNs = this.intervalNs;
  }

  run(): PlainRun {
    while (this.answered < this.load.arrivalsNs.length) {
      this.now = this.nextInstant();
      if (this.now >= this.intervalEndNs) this.endInterval();
      const due = this.events.filter(({ atNs }) => atNs <= this.now);
      this.events = this.events.filter(({ atNs }) => atNs > this.now);
      for (const event of due) this.happens(event);
      while (this.startOne());
    }
    return { requests: this.requests, batches: this.batches, shifts: this.shifts };
  }

  private get intervalNs(): number {
    return Math.round(1e6 * this.plan.switching.intervalMs);
  }

  private get inForce(): Gear {
    return this.plan.gears[this.gear] as Gear;
  }

  /** The next instant is that of an event, of the end of an interval, or at which a first request has waited enough. */
  private nextInstant(): number {
    const timeouts = this.waiting.flatMap((_, stage) => {
      const atNs = this.timeoutOf(stage);
      return atNs > this.now ? [atNs] : [];
    });
    return Math.min(this.intervalEndNs, ...timeouts, ...this.events.map(({ atNs }) => atNs));
  }

  private timeoutOf(stage: number): number {
    const first = this.waiting[stage]?.[0];
    return first === undefined ? NEVER : first.sinceNs + Math.round(1e6 * this.inForce.timeoutMs);
  }

  private happens(event: Event): void {
    switch (event.kind) {
      case 'comes':
        this.count += 1;
        this.shiftTo(Math.max(this.gear, this.gearFor(this.rate())));
        this.gearOf[event.request] = this.gear;
        this.wait(this.stageOf(this.inForce.cascade[0] as GearStep), event.request);
        return;
      case 'reaches':
        for (const request of event.requests) this.wait(event.stage, request);
        return;
      case 'ends':
        this.end(event.batch);
    }
  }

  /** A rate counts for less where an accuracy is promised and more has come so far than was planned. */
  private rate(): number {
    const rate = (1e9 * this.count) / this.intervalNs;
    if (this.plan.slo.accuracy === undefined) return rate;
    const planned = this.plan.gears.reduce((sum, { fromRps, toRps, share }) => {
      return sum + (share * (fromRps + toRps)) / 2;
    }, 0);
    const mean = (1e9 * (this.countBefore + this.count)) / this.intervalEndNs;
    return mean > planned ? (rate * planned) / mean : rate;
  }

  private gearFor(rate: number): number {
    const found = this.plan.gears.findIndex(({ toRps }) => rate <= toRps);
    return found === -1 ? this.plan.gears.length - 1 : found;
  }

  private endInterval(): void {
    const rate = this.rate();
    const wanted = this.gearFor(rate);
    const first = this.waiting[this.stageOf(this.inForce.cascade[0] as GearStep)] as Waiter[];
    const isHeld = wanted < this.gear && rate < this.plan.switching.alpha * first.length;
    if (!isHeld) this.shiftTo(wanted);
    this.countBefore += this.count;
    this.count = 0;
    this.intervalEndNs += this.intervalNs;
  }

  private shiftTo(gear: number): void {
    if (gear === this.gear) return;
    this.gear = gear;
    this.taken = new Map();
    this.shifts.push({ atNs: this.now, gear });
  }

  private stageOf({ stage }: GearStep): number {
    return this.names.indexOf(stage);
  }

  private wait(stage: number, request: number): void {
    const queue = this.waiting[stage] as Waiter[];
    queue.push({ request, sinceNs: this.now });
    queue.sort((a, b) => this.cameAt(a) - this.cameAt(b));
  }

  private cameAt({ request }: Waiter): number {
    return this.load.arrivalsNs[request] as number;
  }

  /** startOne starts the batch whose first request is the oldest, of equal ones that of the first stage, if any may start. */
  private startOne(): boolean {
    const [next] = this.waiting
      .flatMap(([first], stage) =>
        first !== undefined && this.mayStart(stage) ? [{ stage, cameAt: this.cameAt(first) }] : [],
      )
      .sort((a, b) => a.cameAt - b.cameAt);
    if (next === undefined) return false;
    const { stage } = next;
    const device = this.deviceFor(stage) as number;
    const { batch: most, latencyUsByBatch } = this.plan.stages[stage] as GearPlan['stages'][number];
    const requests = (this.waiting[stage] as Waiter[]).splice(0, most).map(({ request }) => request);
    const latencyUs = latencyUsByBatch.slice(requests.length - 1).find((us) => us !== null) as number;
    const endNs = this.now + Math.round(1e3 * latencyUs);
    const batch = { stage, device, startNs: this.now, endNs, requests };
    (this.devices[device] as Device).idleSince = undefined;
    const key = `${stage} on ${device}`;
    this.taken.set(key, (this.taken.get(key) ?? 0) + requests.length);
    this.batches.push(batch);
    this.events.push({ kind: 'ends', atNs: endNs, batch });
    return true;
  }

  private mayStart(stage: number): boolean {
    const { length } = this.waiting[stage] as Waiter[];
    if (length === 0 || this.deviceFor(stage) === undefined) return false;
    return length >= (this.stepOf(stage)?.minQueue ?? 1) || this.now >= this.timeoutOf(stage);
  }

  private stepOf(stage: number): GearStep | undefined {
    return this.inForce.cascade.find((step) => this.stageOf(step) === stage);
  }

  /**
   * deviceFor is the device that takes the next batch of a stage: of the idle ones that hold its model, the one that is
   * furthest behind its load share under the gear in force, and of several the one that has been idle longest.
   */
  private deviceFor(stage: number): number | undefined {
    const holders = this.devices.flatMap(({ stages }, device) => (stages.includes(stage) ? [device] : []));
    const { loadShares = [] } = this.stepOf(stage) ?? {};
    const behind = (device: number) => {
      const share = loadShares.length === 0 ? 1 : (loadShares[holders.indexOf(device)] as number);
      return share === 0 ? NEVER : (this.taken.get(`${stage} on ${device}`) ?? 0) / share;
    };
    const [best] = holders
      .flatMap((device) => {
        const { idleSince } = this.devices[device] as Device;
        return idleSince === undefined ? [] : [{ device, behind: behind(device), idleSince }];
      })
      .sort((a, b) => (a.behind === b.behind ? a.idleSince - b.idleSince : a.behind - b.behind));
    return best?.device;
  }

  private end({ stage, device, requests }: PlainBatch): void {
    (this.devices[device] as Device).idleSince = this.moments++;
    const goingOn = new Map<number, number[]>();
    for (const request of requests) {
      const { cascade } = this.plan.gears[this.gearOf[request] as number] as Gear;
      const at = cascade.findIndex((step) => this.stageOf(step) === stage);
      const { threshold } = cascade[at] as GearStep;
      const isUnsure = threshold !== undefined && this.load.certainty(request, stage) < threshold;
      if (isUnsure) {
        const next = this.stageOf(cascade[at + 1] as GearStep);
        goingOn.set(next, [...(goingOn.get(next) ?? []), request]);
      } else {
        this.requests[request] = { endedNs: this.now, stage };
        this.answered += 1;
      }
    }
    for (const next of [...goingOn.keys()].sort((a, b) => a - b))
      this.send(device, next, goingOn.get(next) as number[]);
  }

  /** send takes the uplink of the device's server, which serves what it is handed in that order. */
  private send(device: number, stage: number, requests: readonly number[]): void {
    const server = this.servers[device] as string;
    const startNs = Math.max(this.now, this.uplinkFreeNs.get(server) ?? 0);
    const { transferBytes } = this.plan.stages[stage] as GearPlan['stages'][number];
    const gbps = this.plan.cluster.networkGbps;
    const isFree = this.load.transfers === 'none' || gbps === undefined;
    const atNs = startNs + (isFree ? 0 : Math.round((8 * transferBytes * requests.length) / gbps));
    this.uplinkFreeNs.set(server, atNs);
    this.events.push({ kind: 'reaches', atNs, stage, requests });
  }
}
