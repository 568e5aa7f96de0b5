import type { Emitted } from './common.js';
import type { Fault } from './errors.js';
import type { GateVerdicts } from './gate-check.js';
import type { PlanChecks } from './plan-checks.js';
import type { ProfiledBlock } from './profile.js';

/** ErrorCode says whose turn it is: the person's who gave the input, or the program's. */
export type ErrorCode = 'bad-input' | 'check-failed' | 'missing' | 'interrupted' | 'fault';

/** PrintedFault is a fault in words. */
export type PrintedFault = Pick<Fault, 'path' | 'message' | 'more'>;

/** ErrorDocument is what a command prints as JSON when it fails. */
export interface ErrorDocument extends Emitted, GateVerdicts {
  kind: 'error';
  error: {
    code: ErrorCode;
    exitCode: number;
    /** All of it in words, with what can be done. */
    message: string;
    faults: PrintedFault[];
  };
}

/** DeviceList is what `plan devices` prints as JSON: the devices that can be used, and what the others lack. */
export interface DeviceList extends Emitted {
  kind: 'devices';
  devices: readonly (
    | {
        readonly className: string;
        readonly device: ListedDevice;
        readonly available: true;
        readonly name: string;
        readonly threads?: number;
        readonly memoryBytes?: number;
      }
    | {
        readonly className: string;
        readonly device: ListedDevice;
        readonly available: false;
        readonly missing: string;
      }
  )[];
}

export interface ListedDevice {
  readonly provider: 'cpu' | 'webgpu' | 'cuda' | 'tensorrt' | 'coreml' | 'dml';
  readonly threads?: number;
  readonly deviceId?: number;
  readonly slowdown?: number;
}

/** Validation is what `plan validate` prints as JSON: what it found, file by file. */
export interface Validation extends Emitted, GateVerdicts {
  kind: 'validation';
  files: readonly (
    | ({
        readonly path: string;
        readonly ok: true;
        readonly what: string;
        /** Of a plan: the fields that only its search knows, so that nothing confirms them; absent where there are none. */
        readonly unconfirmed?: readonly string[];
        /** Of a bundle for another engine: what may go wrong there. */
        readonly warnings?: readonly string[];
      } & PlanChecks &
        GateVerdicts)
    | ({
        readonly path: string;
        readonly ok: false;
        /** missing says whether the file, or one that it names, is not there. */
        readonly missing: boolean;
        readonly message: string;
        readonly faults: readonly PrintedFault[];
      } & GateVerdicts)
  )[];
}

/** PartitionReport is what `plan partition` prints as JSON: how a model was cut into blocks. */
export interface PartitionReport extends Emitted {
  kind: 'partition-report';
  blocks: readonly ProfiledBlock[];
  notes: readonly string[];
  boundaryChange?: number;
  /** The files of the blocks, and how far the chain of them is from the whole model; JSON has null for infinity. */
  extracted?: {
    readonly files: readonly string[];
    readonly largestDifference: number | null;
    readonly servedDifference: number | null;
    readonly levelsDifference: number | null;
  };
}

/**
 * WrittenExample is what `plan init --example` prints as JSON: the folder, and the files that were written into it, by
 * their paths in it.
 */
export interface WrittenExample extends Emitted {
  kind: 'example';
  folder: string;
  files: readonly string[];
}

/** CompletionScript is what `plan completion` prints as JSON: a script that a shell runs at its start. */
export interface CompletionScript extends Emitted {
  kind: 'completion';
  shell: 'bash' | 'zsh' | 'fish' | 'pwsh';
  script: string;
}

/** ServerAddress is what `plan serve` prints as JSON when it is ready. */
export interface ServerAddress extends Emitted, PlanChecks {
  kind: 'server';
  url: string;
  /** Where the metrics are, if they have a port of their own. */
  metricsUrl?: string;
}
