import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { itemAt } from '../collections/index.js';
import { type Device, deviceText } from './device.js';
import { ExecutionError } from './errors.js';
import { allowedCores, tasksetPath } from './host.js';

/** Exit says how an executor's child ended: with an exit code, or by the signal that ended it. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Child is a started child process, with its socket, its last output and its end. */
export interface Child {
  readonly process: ChildProcess;
  readonly socket: Socket;
  /** A second socket, for requests that hold whole models and would keep others waiting; only that of components has it. */
  readonly modelSocket: Socket | undefined;
  /** The cores that it is pinned to; undefined where it is not pinned. */
  readonly cores: readonly number[] | undefined;
  /** The last lines that it wrote to stdout or stderr: at most 12, in at most 2,000 characters, without colours. */
  lastWords(): string;
  /** exited resolves when the child is gone and all its output has been read. */
  readonly exited: Promise<Exit>;
}

const SOCKET_FD = 3;
const MODEL_SOCKET_FD = 4;
const KEPT_LINES = 12;
const KEPT_CHARACTERS = 2000;

/** ChildKind says what a child does: it holds sessions and runs them in order, or holds components with their outputs. */
export type ChildKind = 'sessions' | 'components';

const ENTRIES: Readonly<Record<ChildKind, string>> = {
  sessions: '#dist/src/execution/child.js',
  components: '#dist/src/execution/component-child.js',
};

/** ChildOptions says what a child does, on which part of its device. */
export interface ChildOptions {
  readonly kind: ChildKind;
  readonly virtual: number;
  readonly cores?: readonly number[] | undefined;
}

/**
 * startChild starts the child process of a virtual GPU that is 1/`virtual` of its device. The child is pinned to the
 * cores where the system has `taskset` and allows them all, and unpinned otherwise. It is in a process group of its
 * own, so that a terminal's Ctrl-C reaches the parent alone.
 * @throws ExecutionError when the system allows no more open files or processes
 */
export function startChild(device: Device, { kind, virtual, cores }: ChildOptions): Child {
  const entry = createRequire(import.meta.url).resolve(ENTRIES[kind]);
  const pinned = pinnable(cores);
  // With this flag, tensors that a model leaves behind are freed when the model is released, not some time later.
  const node = [process.execPath, '--expose-gc', entry];
  const command = pinned === undefined ? node : [tasksetPath()!, '-c', pinned.join(','), ...node];
  const child = spawn(itemAt(command, 0), command.slice(1), {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', ...(kind === 'components' ? ['pipe' as const] : [])],
    detached: process.platform !== 'win32',
    windowsHide: true,
    env: childEnvironment(device, virtual),
  });
  // The system is out of file descriptors or processes: there are no streams, and the reason comes later, if at all.
  if (child.stdio?.[SOCKET_FD] === undefined) {
    child.once('error', () => {});
    throw new ExecutionError(
      `Cannot start a process for ${deviceText(device)}: the system allows no more open files or processes`,
    );
  }
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: null, signal: null }));
  });
  const socket = child.stdio[SOCKET_FD] as Socket;
  const modelSocket = (child.stdio[MODEL_SOCKET_FD] ?? undefined) as Socket | undefined;
  return { process: child, socket, modelSocket, cores: pinned, lastWords: collectWords(child), exited };
}

function pinnable(cores: readonly number[] | undefined): readonly number[] | undefined {
  if (cores === undefined || cores.length === 0 || tasksetPath() === undefined) return undefined;
  const allowed = allowedCores();
  return cores.every((core) => allowed.includes(core)) ? cores : undefined;
}

/**
 * childEnvironment turns ONNX Runtime's telemetry off: it would connect to its maker, and it leaves a log per process
 * in the temporary folder. Under NVIDIA's MPS a virtual GPU gets its share of the multiprocessors; without MPS the
 * share is by time.
 */
function childEnvironment(device: Device, virtual: number): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _ofTheParent, ...inherited } = process.env;
  const environment = { ...inherited, ORT_DISABLE_TELEMETRY: '1' };
  const cuda = device.provider === 'cuda' || device.provider === 'tensorrt';
  if (!cuda || virtual === 1) return environment;
  return { ...environment, CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: String(Math.floor(100 / virtual)) };
}

function collectWords(child: ChildProcess): () => string {
  let kept = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      kept = (kept + text).slice(-KEPT_CHARACTERS);
    });
  }
  return () => stripColours(kept).trim().split('\n').slice(-KEPT_LINES).join('\n');
}

function stripColours(text: string): string {
  return text.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g'), '');
}
