import { itemAt } from '../../collections/index.js';
import type { BatchRecord } from '../live/live-requests.js';
import type { BatchPhases } from '../live/request-times.js';
import { toldOf } from '../live/told-of.js';
import type { DrivenDevice, RanBatch, TaskToRun } from './driven-device.js';
import { keptBytes } from './kept-output.js';
import { type CoreInTurns, inputsOf, type LiveNeeds } from './live-needs.js';
import type { LiveOutputs } from './live-outputs.js';
import type { CalledTask, OpenRuns } from './live-runs.js';

/** Running is a batch that a device executes, with all that is needed when it has ended, whatever has ended meanwhile. */
interface Running {
  readonly batch: number;
  readonly pool: number;
  readonly rows: number;
  readonly tasks: readonly CalledTask[];
  readonly toRun: readonly TaskToRun[];
  readonly fromNs: number;
  readonly generation: number;
}

/** LiveExecutionsOptions holds the parts of LiveExecutions. */
export interface LiveExecutionsOptions extends CoreInTurns {
  readonly devices: readonly DrivenDevice[];
  readonly runs: OpenRuns;
  readonly outputs: LiveOutputs;
  readonly needs: LiveNeeds;
  readonly observer: {
    batch(record: BatchRecord): void;
    failure(pool: number, device: number, why: string): void;
  };
}

/** LiveExecutions has devices execute batches, and tells the core how they ended. */
export class LiveExecutions {
  private readonly running = new Map<number, Running>();

  constructor(private readonly options: LiveExecutionsOptions) {}

  /** count is how many batches are executed. */
  get count(): number {
    return this.running.size;
  }

  /** begin has a device execute a batch, and gives when it began. */
  begin(batch: number, device: number): number {
    const { core, turns, runs, devices } = this.options;
    const tasks = Array.from({ length: core.batchSize(batch) }, (_, k) =>
      runs.task(core.batchTask(batch, k)),
    );
    const running: Running = {
      batch,
      pool: core.batchPool(batch),
      rows: core.batchRows(batch),
      tasks,
      toRun: this.toRun(tasks, device),
      fromNs: turns.now(),
      generation: itemAt(devices, device).generation,
    };
    this.running.set(device, running);
    itemAt(devices, device)
      .run(running.pool, running.toRun)
      .then(
        (ran) => this.executed(device, running, ran),
        (error: unknown) => this.refused(device, running, error),
      );
    return running.fromNs;
  }

  /** deviceDown forgets the batch that a device executed, which the core hears of with the device. */
  deviceDown(device: number): void {
    const lost = this.running.get(device);
    if (lost !== undefined) this.lost(lost, device, 'its device went down');
  }

  private toRun(tasks: readonly CalledTask[], device: number): TaskToRun[] {
    const takers = new Map<CalledTask, number>();
    for (const input of tasks.flatMap(inputsOf)) takers.set(input, (takers.get(input) ?? 0) + 1);
    const lastUses = new Set(
      [...takers].flatMap(([task, count]) => (this.options.needs.isLastUse(task, count) ? [task] : [])),
    );
    return tasks.map(({ run, call, output }) => {
      const inputs = call.inputs.map(({ name, source }) => {
        if (source.from === 'request')
          return { name, kept: run.body.places.get(device)!, tensor: source.input, isLast: false };
        const made = itemAt(run.tasks, source.task);
        const kept = made.output.places.get(device)!;
        return { name, kept, tensor: source.output, isLast: lastUses.has(made) };
      });
      // An output may have been given up once, and be made again.
      output.isOver = false;
      return { rows: call.rows, inputs, keepAs: this.options.outputs.unusedId() };
    });
  }

  private executed(device: number, running: Running, { outputs, startedNs, endedNs }: RanBatch): void {
    if (this.running.get(device) !== running) return;
    this.running.delete(device);
    const { core, turns, observer, needs } = this.options;
    const at = turns.now();
    const { batch, pool, rows, tasks, toRun, fromNs } = running;
    const inferFromNs = turns.at(startedNs);
    const inferToNs = turns.at(endedNs);
    const phases: BatchPhases = { fromNs, stackedNs: fromNs, inferFromNs, inferToNs, cameNs: at, toNs: at };
    observer.batch({ pool, device, size: rows, phases, busyUs: (at - fromNs) / 1e3 });
    for (const request of new Set(tasks.map(({ run }) => run.of))) request.batches.push(phases);
    for (const [i, { output }] of tasks.entries()) {
      output.sizes = itemAt(outputs, i);
      this.options.outputs.made(output, device, itemAt(toRun, i).keepAs);
    }
    const bytes = tasks.map(({ output }) => keptBytes(output));
    core.executed(at, batch, fromNs, at, bytes);
    needs.executed(tasks);
    turns.decideNow();
  }

  /**
   * refused handles a batch that failed. It waits until this turn of the event loop is over: if the executor ended, the end of the
   * device has been told by then and covers the batch.
   */
  private refused(device: number, running: Running, error: unknown): void {
    const { core, turns, observer, devices } = this.options;
    setImmediate(() => {
      if (this.running.get(device) !== running) return;
      if (itemAt(devices, device).generation !== running.generation) return;
      const { pool, rows, batch, fromNs } = running;
      observer.batch({ pool, device, size: rows, busyUs: (turns.now() - fromNs) / 1e3 });
      this.lost(running, device, toldOf(error));
      core.failed(turns.now(), batch);
      turns.decideSoon();
    });
  }

  private lost({ pool, tasks }: Running, device: number, why: string): void {
    this.running.delete(device);
    this.options.observer.failure(pool, device, why);
    for (const { run } of tasks) run.of.lastFailure = why;
  }
}
