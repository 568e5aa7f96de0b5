/** A model as read: views into its bytes, so that what is extracted is what was there. */
export interface OnnxModel {
  /** What messages call it. */
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly irVersion: number;
  /** Operator set version per domain; the default domain is the empty string. */
  readonly opsets: ReadonlyMap<string, number>;
  readonly graph: OnnxGraph;
  readonly functions: readonly OnnxFunction[];
}

export interface OnnxGraph {
  /** The GraphProto's bytes. */
  readonly encoded: Uint8Array;
  /** In topological order; file order is kept where it is one. */
  readonly nodes: readonly OnnxNode[];
  /** What a caller must give: graph inputs that no initializer backs. */
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  readonly initializers: ReadonlyMap<string, Initializer>;
  /** Types the file declares for inner tensors. */
  readonly valueInfo: ReadonlyMap<string, ValueInfo>;
  /** Graph inputs that are initializers too, so a caller may override them; we treat them as the constants they hold. */
  readonly overridable: ReadonlyMap<string, ValueInfo>;
}

export interface OnnxNode {
  /** Unique in the graph; made from the operator and the place in the file where the file has none or repeats one. */
  readonly name: string;
  readonly op: string;
  readonly domain: string;
  readonly overload: string;
  /** As in the file: an empty name is an optional input that is left out. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Outer values its subgraphs use, however deeply nested. */
  readonly captures: readonly string[];
  /** Keys of its operator and of those in its subgraphs: domain, operator and overload, NUL between. */
  readonly calls: readonly string[];
  /** Only constants feed it and it gives the same every time. */
  readonly constant: boolean;
  /** Bytes of the initializers first used here, and of the tensors the node carries itself. */
  readonly weightBytes: number;
  /** The NodeProto's bytes. */
  readonly encoded: Uint8Array;
}

export interface OnnxFunction {
  readonly domain: string;
  readonly name: string;
  readonly overload: string;
  /** Keys, as of `OnnxNode.calls`, of everything its nodes call. */
  readonly calls: readonly string[];
  readonly encoded: Uint8Array;
}

export interface ValueInfo {
  readonly name: string;
  /** Undefined where the file does not say. */
  readonly type: ValueType | undefined;
  /** The ValueInfoProto's bytes. */
  readonly encoded: Uint8Array;
}

export type ValueType =
  | ({ readonly kind: 'tensor' } & TensorType)
  | { readonly kind: 'sequence' | 'map' | 'optional' | 'sparse' | 'opaque' };

export interface TensorType {
  /** As ONNX Runtime names it: `float32`, `int64`, `bool`, … */
  readonly dtype: string;
  /** A number, the name of a symbolic dimension, or undefined for an unnamed one; absent where not even the rank is known. */
  readonly dims?: readonly (number | string | undefined)[];
}

export interface Initializer {
  readonly name: string;
  readonly dtype: string;
  readonly dims: readonly number[];
  /** Bytes of its values in memory; of a string tensor, of its texts. Of a sparse tensor, of values and indices. */
  readonly byteLength: number;
  readonly sparse: boolean;
  readonly external?: ExternalData;
  /** The TensorProto's (or SparseTensorProto's) bytes. */
  readonly encoded: Uint8Array;
}

/** Where in another file a tensor's bytes lie. */
export interface ExternalData {
  readonly location: string;
  readonly offset: number;
  readonly length: number;
}
