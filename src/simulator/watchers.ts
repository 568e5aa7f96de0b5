import type { DeviceState, OutcomeCode, SimulationObserver, SimulationView } from './observer.js';

type Watching<K extends keyof SimulationObserver> = SimulationObserver &
  Required<Pick<SimulationObserver, K>>;

function those<K extends keyof SimulationObserver>(
  observers: readonly SimulationObserver[],
  what: K,
): Watching<K>[] {
  return observers.filter((observer): observer is Watching<K> => observer[what] !== undefined);
}

/**
 * Watchers tells observers the events for which they have methods, in the observers' order. An event without such a
 * method costs one comparison.
 */
export class Watchers {
  private readonly ofArrived: Watching<'arrived'>[];
  private readonly ofEnded: Watching<'ended'>[];
  private readonly ofScaled: Watching<'scaled'>[];
  private readonly ofShifted: Watching<'shifted'>[];
  private readonly ofLoadBegun: Watching<'loadBegun'>[];
  private readonly ofLoaded: Watching<'loaded'>[];
  private readonly ofEvicted: Watching<'evicted'>[];
  private readonly ofStarted: Watching<'started'>[];
  private readonly ofExecuted: Watching<'executed'>[];
  private readonly ofTransferred: Watching<'transferred'>[];

  constructor(private readonly observers: readonly SimulationObserver[]) {
    this.ofArrived = those(observers, 'arrived');
    this.ofEnded = those(observers, 'ended');
    this.ofScaled = those(observers, 'scaled');
    this.ofShifted = those(observers, 'shifted');
    this.ofLoadBegun = those(observers, 'loadBegun');
    this.ofLoaded = those(observers, 'loaded');
    this.ofEvicted = those(observers, 'evicted');
    this.ofStarted = those(observers, 'started');
    this.ofExecuted = those(observers, 'executed');
    this.ofTransferred = those(observers, 'transferred');
  }

  begun(view: SimulationView): void {
    for (const observer of this.observers) observer.begun?.(view);
  }

  arrived(atNs: number, model: number, request: number): void {
    const { ofArrived } = this;
    for (let i = 0; i < ofArrived.length; i++)
      (ofArrived[i] as Watching<'arrived'>).arrived(atNs, model, request);
  }

  ended(
    atNs: number,
    model: number,
    request: number,
    arrivedAtNs: number,
    outcome: OutcomeCode,
    reason: number,
    pool: number,
  ): void {
    const { ofEnded } = this;
    for (let i = 0; i < ofEnded.length; i++)
      (ofEnded[i] as Watching<'ended'>).ended(atNs, model, request, arrivedAtNs, outcome, reason, pool);
  }

  scaled(atNs: number, device: number, state: DeviceState): void {
    for (const observer of this.ofScaled) observer.scaled(atNs, device, state);
  }

  shifted(atNs: number, gear: number): void {
    for (const observer of this.ofShifted) observer.shifted(atNs, gear);
  }

  loadBegun(atNs: number, device: number, pool: number): void {
    for (const observer of this.ofLoadBegun) observer.loadBegun(atNs, device, pool);
  }

  loaded(atNs: number, device: number, pool: number): void {
    for (const observer of this.ofLoaded) observer.loaded(atNs, device, pool);
  }

  evicted(atNs: number, device: number, pool: number): void {
    for (const observer of this.ofEvicted) observer.evicted(atNs, device, pool);
  }

  started(
    batch: number,
    pool: number,
    device: number,
    size: number,
    handedNs: number,
    startNs: number,
  ): void {
    const { ofStarted } = this;
    for (let i = 0; i < ofStarted.length; i++)
      (ofStarted[i] as Watching<'started'>).started(batch, pool, device, size, handedNs, startNs);
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
    const { ofExecuted } = this;
    for (let i = 0; i < ofExecuted.length; i++)
      (ofExecuted[i] as Watching<'executed'>).executed(batch, pool, device, size, handedNs, startNs, endNs);
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
    const { ofTransferred } = this;
    for (let i = 0; i < ofTransferred.length; i++)
      (ofTransferred[i] as Watching<'transferred'>).transferred(
        batch,
        pool,
        fromDevice,
        toDevice,
        size,
        handedNs,
        startNs,
        endNs,
      );
  }
}
