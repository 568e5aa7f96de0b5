/** SeenTensor is what runs of two requests, each alone and both at once, showed of a tensor. */
export interface SeenTensor {
  /** Its shape for one request and for two; absent where it differs between requests. */
  readonly one?: readonly number[];
  readonly two?: readonly number[];
  /** The axis on which the two requests' values stood in a row; null where there is none; absent where not looked. */
  readonly rows?: number | null;
  /**
   * same says whether it was the same for each request alone and for both at once; absent where not looked.
   */
  readonly same?: boolean;
}

export type SeenTensors = ReadonlyMap<string, SeenTensor>;

/** RowFault is a node that makes its output of several rows, in words. */
export interface RowFault {
  readonly told: string;
  /**
   * slightly says whether rows influence one another through a common scale only, so that a tolerance might
   * allow it.
   */
  readonly slightly: boolean;
}

/** UnknownNode is a node that no rule could follow. */
export interface UnknownNode {
  readonly told: string;
  /** The tensors that it is given and that hold rows. */
  readonly inputs: readonly string[];
  /** The tensors made of the size of the batch that it compares values of rows with. */
  readonly limits: readonly string[];
  readonly outputs: readonly string[];
  /** apart says whether runs showed its outputs to hold the rows one after another. */
  readonly apart: boolean;
  /**
   * hidden says whether runs cannot show it, since what no rule follows is inside it or in a branch that they
   * do not take.
   */
  readonly hidden: boolean;
  /**
   * carriesSizes says whether its outputs may go on without an axis of the batch, as row numbers do that pick
   * an element of each row.
   */
  readonly carriesSizes: boolean;
}

/** LostOutput is an output that rows are in, on no axis that is known. */
export interface LostOutput {
  readonly name: string;
  readonly told: string;
}

/** RowsFollowed says what the rules found out of a graph that takes any batch. */
export interface RowsFollowed {
  readonly mixing: readonly RowFault[];
  readonly lost: readonly LostOutput[];
  readonly unknown: readonly UnknownNode[];
  /** Tensors that rows are in, on no axis that is known. */
  readonly unsettled: ReadonlySet<string>;
}
