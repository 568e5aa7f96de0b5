import { itemAt } from '../collections/index.js';
import {
  dtypeOfOip,
  ExecutionError,
  type Executor,
  oipDatatype,
  type TensorData,
  type Tensors,
  tensorBytes,
} from '../execution/index.js';
import { fault, InputError, type Run, type TensorSpec } from '../formats/index.js';
import {
  type CalledFace,
  hasFailed,
  type ProgramCall,
  type ProgramDriver,
  type ProgramEnd,
  ProgramHost,
  type ProgramTensor,
  type RecordedProgramCall,
  recordedRun,
  type SourceName,
  type TensorMetadata,
} from '../programs/index.js';
import { shapeOf } from '../runtime/index.js';

/** The seed of the randomness of programs, so that the same samples make the same calls. */
const SEED = 1;

/** CalledComponent is a component that programs call. */
export interface CalledComponent {
  readonly name: string;
  /** Its ONNX file, as it is served. */
  readonly file: string;
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
}

/** RecordOptions is what recording runs takes besides the program. */
export interface RecordOptions {
  /** The workflow, by its name. */
  readonly application: string;
  readonly components: readonly CalledComponent[];
  readonly executor: Pick<Executor, 'load' | 'run'>;
  readonly signal?: AbortSignal | undefined;
  /** onRow hears after each row how many are done. */
  readonly onRow?: ((done: number) => void) | undefined;
}

/** RecordedSamples are the runs of samples, in their order, and the number of samples for which nothing was called. */
export interface RecordedSamples {
  readonly runs: readonly Run[];
  readonly withoutCalls: number;
}

/**
 * RunRecorder runs the program of a workflow on sample requests, with the models of the components that it calls, and
 * records what it did. Requests run one after the other, each call alone, as in a server with nothing else to do.
 */
export class RunRecorder {
  private constructor(
    private readonly host: ProgramHost,
    private readonly driver: SampleDriver,
    private readonly options: RecordOptions,
  ) {}

  /**
   * start loads a program. Its components' models are loaded when they are first called.
   * @throws MissingError where there is no such file; InputError with everything that keeps the module from being a program
   */
  static async start(path: string, options: RecordOptions): Promise<RunRecorder> {
    const driver = new SampleDriver(options);
    const components = Object.fromEntries(options.components.map((one) => [one.name, faceOf(one)]));
    const host = await ProgramHost.start(path, { components, driver, seed: SEED });
    driver.host = host;
    return new RunRecorder(host, driver, options);
  }

  /** inputs lists what requests of the program have, as one row of it. */
  get inputs(): TensorSpec[] {
    return this.host.face.inputs.map(rowSpec);
  }

  /**
   * record runs the program on requests, row by row.
   * @throws InputError where the program or a model fails for a row; the signal's reason on abort
   */
  async record(rows: readonly Tensors[]): Promise<RecordedSamples> {
    const { application, signal, onRow } = this.options;
    const runs: Run[] = [];
    for (const [row, request] of rows.entries()) {
      signal?.throwIfAborted();
      const { calls, bytes, reads } = await this.driver.run(row, request);
      const requestBytes = bytesOf(request);
      const run = recordedRun(calls, {
        application,
        requestBytes,
        reads,
        outputBytes: (task) => bytes[task] ?? 0,
      });
      if (run !== undefined) runs.push(run);
      onRow?.(row + 1);
    }
    return { runs, withoutCalls: rows.length - runs.length };
  }

  /** close ends the program's thread. */
  async close(): Promise<void> {
    await this.host.close();
  }
}

/** RanSample is what a program called for a sample, and the bytes of what each call gave. */
interface RanSample {
  readonly calls: readonly RecordedProgramCall[];
  readonly bytes: readonly number[];
  /** The calls whose outputs the program read or returned. */
  readonly reads: ReadonlySet<number>;
}

/** OpenSample is a sample on which the program runs. */
interface OpenSample {
  readonly row: number;
  readonly request: Tensors;
  /** The results of the calls, in the order in which the calls were made. */
  readonly tasks: Promise<Tensors>[];
  readonly reads: Set<number>;
  readonly resolve: (ran: RanSample) => void;
  readonly reject: (error: unknown) => void;
}

/** SampleDriver carries out what a program does for one sample after another. */
class SampleDriver implements ProgramDriver {
  host: ProgramHost | undefined;
  private open: OpenSample | undefined;
  private readonly models = new Map<string, Promise<number>>();

  constructor(private readonly options: RecordOptions) {}

  run(row: number, request: Tensors): Promise<RanSample> {
    return new Promise((resolve, reject) => {
      this.open = { row, request, tasks: [], reads: new Set(), resolve, reject };
      this.host?.begin(row);
    });
  }

  called(run: number, call: ProgramCall): void {
    const open = this.openAs(run);
    if (open === undefined) return;
    const task = this.execute(open, call);
    task.catch((error: unknown) => this.fail(open, this.toldOf(open, call.component, error)));
    open.tasks.push(task);
  }

  wanted(run: number, source: SourceName): void {
    const open = this.openAs(run);
    if (open === undefined) return;
    if (source.from === 'task') open.reads.add(source.task);
    sourced(open, source).then(
      (tensor) => this.host?.give(run, source, programTensor(tensor)),
      (error: unknown) => this.fail(open, error),
    );
  }

  ended(run: number, end: ProgramEnd, calls: readonly RecordedProgramCall[]): void {
    const open = this.openAs(run);
    if (open === undefined) return;
    if (hasFailed(end)) {
      this.fail(open, sampleFault(open.row, `the program failed: ${end.message}`));
      return;
    }
    for (const output of Object.values(end.outputs))
      if ('from' in output && output.from === 'task') open.reads.add(output.task);
    Promise.all(open.tasks).then(
      (outputs) => open.resolve({ calls, bytes: outputs.map(bytesOf), reads: open.reads }),
      (error: unknown) => this.fail(open, error),
    );
  }

  private openAs(run: number): OpenSample | undefined {
    return this.open?.row === run ? this.open : undefined;
  }

  /** fail ends a sample. Later errors of the sample are not reported. */
  private fail(open: OpenSample, error: unknown): void {
    this.host?.cancel(open.row);
    open.reject(error);
  }

  private toldOf({ row }: OpenSample, component: string, error: unknown): unknown {
    return error instanceof ExecutionError
      ? sampleFault(row, `${component} failed: ${error.message}`)
      : error;
  }

  private async execute(open: OpenSample, { component, inputs }: ProgramCall): Promise<Tensors> {
    const { executor, signal } = this.options;
    const feeds: Record<string, TensorData> = {};
    for (const { name, source } of inputs) feeds[name] = await sourced(open, source);
    const model = await this.modelOf(component);
    signal?.throwIfAborted();
    return (await executor.run(model, feeds)).outputs;
  }

  private modelOf(component: string): Promise<number> {
    let model = this.models.get(component);
    if (model === undefined) {
      const { file } = this.options.components.find(({ name }) => name === component) as CalledComponent;
      model = this.options.executor.load(file).then((loaded) => loaded.model);
      this.models.set(component, model);
    }
    return model;
  }
}

/** sourced gives a tensor of a sample, once it exists. */
async function sourced({ request, tasks }: OpenSample, source: SourceName): Promise<TensorData> {
  if (source.from === 'request') return request[source.input] as TensorData;
  return (await itemAt(tasks, source.task))[source.output] as TensorData;
}

function sampleFault(row: number, said: string): InputError {
  return new InputError('run the samples', [fault(said, `sample ${row + 1}`)]);
}

function bytesOf(tensors: Tensors): number {
  return Object.values(tensors).reduce((sum, tensor) => sum + tensorBytes(tensor), 0);
}

function programTensor({ dtype, dims, data }: TensorData): ProgramTensor {
  return { datatype: oipDatatype(dtype), shape: dims, data } as ProgramTensor;
}

/** faceOf is what programs see of a component. */
function faceOf({ inputs, outputs }: Pick<CalledComponent, 'inputs' | 'outputs'>): CalledFace {
  return { inputs: inputs.map(metadataOf), outputs: outputs.map(metadataOf) };
}

function metadataOf(spec: TensorSpec): TensorMetadata {
  return { name: spec.name, datatype: oipDatatype(spec.dtype) as never, shape: shapeOf(spec) };
}

/** rowSpec is a tensor of requests as one row has it: a first size of −1 is that of the rows, and others depend on what is sent. */
function rowSpec({ name, datatype, shape }: TensorMetadata): TensorSpec {
  const free = shape.flatMap((size, axis) => (size === -1 && axis > 0 ? [axis] : []));
  return {
    name,
    dtype: dtypeOfOip(datatype) as string,
    shape: shape.map((size) => (size === -1 ? 1 : size)),
    ...(shape[0] === -1 ? { batchAxis: 0 } : {}),
    ...(free.length === 0 ? {} : { variableAxes: free }),
  };
}
