/** OnnxModel is a model as read: views into its bytes, so that extracted parts are copies of the original bytes. */
export interface OnnxModel {
  /** The model's name in messages. */
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
  /** The nodes in topological order; file order is kept where it is one. */
  readonly nodes: readonly OnnxNode[];
  /** The inputs that a caller must give: graph inputs that no initializer backs. */
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  readonly initializers: ReadonlyMap<string, Initializer>;
  /** The types that the file declares for inner tensors. */
  readonly valueInfo: ReadonlyMap<string, ValueInfo>;
  /** Graph inputs that are initializers too. A caller may override them, but we treat them as constants. */
  readonly overridable: ReadonlyMap<string, ValueInfo>;
}

export interface OnnxNode {
  /** A name that is unique in the graph: made of operator and file position where the file has none or repeats one. */
  readonly name: string;
  readonly op: string;
  readonly domain: string;
  readonly overload: string;
  /** The names as in the file: an empty name is an optional input that is left out. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** The outer values that its subgraphs use, however deeply nested. */
  readonly captures: readonly string[];
  /** The keys of its operator and of those in its subgraphs: domain, operator and overload, with NUL between. */
  readonly calls: readonly string[];
  /** constant says whether only constants feed it and it gives the same every time. */
  readonly constant: boolean;
  /** The bytes of the initializers first used here, and of the tensors that the node carries itself. */
  readonly weightBytes: number;
  /** The NodeProto's bytes. */
  readonly encoded: Uint8Array;
}

export interface OnnxFunction {
  readonly domain: string;
  readonly name: string;
  readonly overload: string;
  /** The keys, as in `OnnxNode.calls`, of everything that its nodes call. */
  readonly calls: readonly string[];
  readonly encoded: Uint8Array;
}

export interface ValueInfo {
  readonly name: string;
  /** The type; undefined where the file does not say it. */
  readonly type: ValueType | undefined;
  /** The ValueInfoProto's bytes. */
  readonly encoded: Uint8Array;
}

export type ValueType =
  | ({ readonly kind: 'tensor' } & TensorType)
  | { readonly kind: 'sequence' | 'map' | 'optional' | 'sparse' | 'opaque' };

export interface TensorType {
  /** The element type as ONNX Runtime names it: `float32`, `int64`, `bool`, … */
  readonly dtype: string;
  /** Each size is a number, a symbol, or undefined where it is unnamed. The list is absent for an unknown rank. */
  readonly dims?: readonly (number | string | undefined)[];
}

export interface Initializer {
  readonly name: string;
  readonly dtype: string;
  readonly dims: readonly number[];
  /** The bytes of its values in memory: of the texts in a string tensor, of values and indices in a sparse one. */
  readonly byteLength: number;
  readonly sparse: boolean;
  readonly external?: ExternalData;
  /** The bytes of the TensorProto or SparseTensorProto. */
  readonly encoded: Uint8Array;
}

/** ExternalData says where in another file a tensor's bytes lie. */
export interface ExternalData {
  readonly location: string;
  readonly offset: number;
  readonly length: number;
}
