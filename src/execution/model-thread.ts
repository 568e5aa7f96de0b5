import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { SessionSource } from './component-protocol.js';
import type { Device } from './device.js';
import type { LoadedModel, RunTimes, Tensors } from './protocol.js';
import { ChangedFilesError } from './verified-model.js';

/** ThreadLoad is what a thread makes its session of: a source, with the model's bytes where it has none. */
export interface ThreadLoad extends SessionSource {
  readonly device: Device;
  readonly threads: number;
  /** The bytes of the model and of its external data, by `MODEL_BYTES` and `taskTensor`; empty for files. */
  readonly bytes: Tensors;
}

/** ThreadRun is a run on the session of a thread. */
export interface ThreadRun {
  readonly feeds: Tensors;
  readonly fetches: readonly string[];
}

/** RunEnd is how a run ended, with its feeds: their memory comes back, as the caller may need them once more. */
export type RunEnd = { readonly feeds: Tensors } & (
  | { readonly outputs: Tensors; readonly times: RunTimes }
  | { readonly error: string }
);

/** ThreadAsked is a request to a thread. */
export type ThreadAsked =
  | { readonly op: 'open'; readonly device: Device; readonly threads: number }
  | { readonly op: 'load'; readonly load: ThreadLoad }
  | ({ readonly op: 'run' } & ThreadRun)
  | { readonly op: 'release' }
  | { readonly op: 'end' };

/** ThreadTold is a thread's answer; its value is of the kind that was asked for. */
export type ThreadTold =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string; readonly isOfFiles: boolean };

/** ModelThread holds the session of one model at a time, in a thread of its own, and does one thing at a time. */
export interface ModelThread {
  /** Starts the provider, and lists those of this build. */
  open(device: Device, threads: number): Promise<string[]>;
  load(load: ThreadLoad, moved: readonly ArrayBuffer[]): Promise<Omit<LoadedModel, 'model'>>;
  /** Runs the session on feeds whose memory moves to the thread. It rejects only where the thread is lost. */
  run(run: ThreadRun, moved: readonly ArrayBuffer[]): Promise<RunEnd>;
  /** Releases the session, and its memory. */
  release(): Promise<void>;
  /** Ends the thread, once what was asked before is done. */
  end(): Promise<void>;
}

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** WorkerModelThread is such a thread. When it ends by itself, all that waits for it fails. */
export class WorkerModelThread implements ModelThread {
  private readonly worker = new Worker(
    createRequire(import.meta.url).resolve('#dist/src/execution/component-thread.js'),
    {
      stdout: false,
      stderr: false,
    },
  );
  private readonly pending = new Map<number, Pending>();
  private readonly exited: Promise<void>;
  private nextId = 0;
  private lost: Error | undefined;

  constructor() {
    this.worker.on('message', (told: ThreadTold) => this.settle(told));
    this.worker.on('error', (error) => {
      this.lost = new Error(`its thread ended: ${error instanceof Error ? error.message : String(error)}`);
    });
    this.exited = new Promise((resolve) => {
      this.worker.on('exit', () => {
        this.lost ??= new Error('its thread has ended');
        for (const { reject } of this.pending.values()) reject(this.lost);
        this.pending.clear();
        resolve();
      });
    });
  }

  async open(device: Device, threads: number): Promise<string[]> {
    return (await this.ask({ op: 'open', device, threads })) as string[];
  }

  async load(load: ThreadLoad, moved: readonly ArrayBuffer[]): Promise<Omit<LoadedModel, 'model'>> {
    return (await this.ask({ op: 'load', load }, moved)) as Omit<LoadedModel, 'model'>;
  }

  async run(run: ThreadRun, moved: readonly ArrayBuffer[]): Promise<RunEnd> {
    return (await this.ask({ op: 'run', ...run }, moved)) as RunEnd;
  }

  async release(): Promise<void> {
    await this.ask({ op: 'release' });
  }

  async end(): Promise<void> {
    if (this.lost === undefined) this.worker.postMessage({ id: -1, asked: { op: 'end' } });
    await this.exited;
  }

  private ask(asked: ThreadAsked, moved: readonly ArrayBuffer[] = []): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.lost !== undefined) {
        reject(this.lost);
        return;
      }
      const id = this.nextId++;
      this.pending.set(id, { resolve, reject });
      this.worker.postMessage({ id, asked }, moved);
    });
  }

  private settle(told: ThreadTold): void {
    const pending = this.pending.get(told.id);
    this.pending.delete(told.id);
    if ('value' in told) pending?.resolve(told.value);
    else pending?.reject(told.isOfFiles ? new ChangedFilesError(told.error) : new Error(told.error));
  }
}
