import { itemAt } from '../../collections/index.js';
import { FIRST_RESTART_MS, LONGEST_RESTART_MS } from '../live/live-device.js';
import { toldOf } from '../live/told-of.js';
import type { DrivenDevice } from './driven-device.js';
import type { CoreInTurns } from './live-needs.js';
import type { OpenRuns } from './live-runs.js';

/** LiveLoadsOptions holds the parts of LiveLoads. */
export interface LiveLoadsOptions extends CoreInTurns {
  readonly devices: readonly DrivenDevice[];
  readonly runs: OpenRuns;
  /** The name of the component of each pool. */
  readonly componentOf: (pool: number) => string;
  readonly observer: {
    loaded(device: number, pool: number): void;
    loadFailed(device: number, pool: number, why: string): void;
  };
}

/**
 * LiveLoads has devices load components, and tells the core how that ended. A load that fails touches nothing else. The
 * core hears of the first one at once, and of those that fail after it, of the same component on the same device, after
 * 0.1 s and then, each time, after twice as long, up to 5 s, so that what cannot be loaded is not tried without a
 * pause.
 */
export class LiveLoads {
  /** For how long the next failure in a row waits before the core hears of it, by device and pool. */
  private readonly pausesMs = new Map<string, number>();
  private readonly pausing = new Set<NodeJS.Timeout>();

  constructor(private readonly options: LiveLoadsOptions) {}

  /** begin has a device load the component of a pool. */
  begin(device: number, pool: number): void {
    const { devices, observer, core, turns } = this.options;
    const loading = itemAt(devices, device);
    const { generation } = loading;
    loading.load(pool).then(
      () => {
        if (loading.generation !== generation) return;
        this.pausesMs.delete(keyOf(device, pool));
        observer.loaded(device, pool);
        core.loaded(turns.now(), device, pool);
        turns.decideNow();
      },
      (error: unknown) =>
        // If the executor ended, the end of the device has been told after this turn, and covers the load.
        setImmediate(() => {
          if (loading.generation === generation) this.failed(device, pool, toldOf(error));
        }),
    );
  }

  /** stop ends the reports of failures, so that none keeps the process alive. */
  stop(): void {
    for (const timer of this.pausing) clearTimeout(timer);
    this.pausing.clear();
  }

  private failed(device: number, pool: number, why: string): void {
    const { runs, observer, componentOf } = this.options;
    observer.loadFailed(device, pool, why);
    const component = componentOf(pool);
    for (const { run, call } of runs.allTasks())
      if (call.component === component) run.of.lastFailure = `could not load ${component}: ${why}`;
    const key = keyOf(device, pool);
    const pauseMs = this.pausesMs.get(key) ?? 0;
    this.pausesMs.set(key, Math.min(LONGEST_RESTART_MS, Math.max(FIRST_RESTART_MS, 2 * pauseMs)));
    if (pauseMs === 0) this.tell(device, pool);
    else this.tellLater(device, pool, pauseMs);
  }

  private tellLater(device: number, pool: number, pauseMs: number): void {
    const { generation } = itemAt(this.options.devices, device);
    const timer = setTimeout(() => {
      this.pausing.delete(timer);
      if (itemAt(this.options.devices, device).generation === generation) this.tell(device, pool);
    }, pauseMs);
    this.pausing.add(timer);
  }

  private tell(device: number, pool: number): void {
    const { core, turns } = this.options;
    core.loadFailed(turns.now(), device, pool);
    turns.decideNow();
  }
}

function keyOf(device: number, pool: number): string {
  return `${device} ${pool}`;
}
