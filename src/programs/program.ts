/**
 * Types for those who write programs of workflows, as `inferplan/program`. There is nothing here to be loaded: what a
 * program needs is handed to it. docs/programs.md says how one is written.
 */

/**
 * DataOf names the datatypes of the Open Inference Protocol, each with the array that holds its elements. FP16 is the
 * 16 bits of each.
 */
export interface DataOf {
  BOOL: Uint8Array;
  UINT8: Uint8Array;
  UINT16: Uint16Array;
  UINT32: Uint32Array;
  UINT64: BigUint64Array;
  INT8: Int8Array;
  INT16: Int16Array;
  INT32: Int32Array;
  INT64: BigInt64Array;
  FP16: Uint16Array;
  FP32: Float32Array;
  FP64: Float64Array;
  BYTES: readonly string[];
}

/** Datatype is a datatype of the Open Inference Protocol. */
export type Datatype = keyof DataOf;

/**
 * TensorMetadata describes a tensor as the Open Inference Protocol does. A size of −1 is free; as the first it is that
 * of the rows.
 */
export interface TensorMetadata {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
}

/** Tensor is what a program has read, or makes itself: its elements stand row by row. */
export interface ProgramTensor<D extends Datatype = Datatype> {
  readonly datatype: D;
  readonly shape: readonly number[];
  readonly data: DataOf[D];
}

/**
 * TensorSource stands for a tensor that may not exist yet: an output of a call, or an input of the request. It is
 * passed on to calls, or returned, without its values coming to the program.
 */
export interface TensorSource {
  /** The name of the output or input. */
  readonly name: string;
}

/** WorkflowRequest is one row of what a client sent. */
export interface WorkflowRequest {
  /** in gives an input of the request to be passed on. The name is one of the program's `inputs`. */
  in(name: string): TensorSource;
  /** read brings the values of an input. With a datatype given, it is checked to be that of the input. */
  read<D extends Datatype = Datatype>(name: string, datatype?: D): Promise<ProgramTensor<D>>;
}

/** TaskHandle stands for what a call gives, from the moment at which it is made. */
export interface TaskHandle {
  /** out gives an output of the component to be passed on. */
  out(name: string): TensorSource;
  /** read brings the values of an output once they exist. With a datatype given, it is checked to be that of the output. */
  read<D extends Datatype = Datatype>(name: string, datatype?: D): Promise<ProgramTensor<D>>;
}

/** ProgramContext is what a program is handed besides the request. */
export interface ProgramContext {
  /**
   * call enqueues a task for a component and returns at once.
   * @param inputs gives every input of the component, by name
   * @throws where the component is unknown or an input does not fit; the request has ended then
   */
  call(component: string, inputs: Readonly<Record<string, TensorSource>>): TaskHandle;
  /** now gives the time at which the last values came that the program has read, in milliseconds since 1970 in UTC. */
  now(): number;
  /** random draws from [0, 1), from a stream of the request's own. */
  random(): number;
}

/**
 * ProgramAnswer gives the program's outputs by name: tensors that were read or made, or sources, whose values need not come to the
 * program. An output without any was not made.
 */
export type ProgramAnswer = Readonly<Record<string, TensorSource | ProgramTensor | undefined>>;

/** Program is the default export of a program: it answers one row of a request. */
export type Program = (
  request: WorkflowRequest,
  context: ProgramContext,
) => ProgramAnswer | Promise<ProgramAnswer>;
