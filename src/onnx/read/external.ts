import type { ExternalData, OnnxModel } from '../wire/index.js';
import {
  ATTRIBUTE,
  concat,
  delimited,
  ENTRY,
  entryOf,
  type Field,
  fieldsOf,
  GRAPH,
  LENGTH_DELIMITED,
  NODE,
  Problems,
  payloadOf,
  rawField,
  readTensor,
  rewritten,
  SPARSE,
  TENSOR,
  textField,
} from '../wire/index.js';

/** ExternalCopy is a piece of external data with its place in the partition's own data file. */
export interface ExternalCopy extends ExternalData {
  readonly toOffset: number;
}

/**
 * externalLocations lists the files that hold the external tensors of a model's graph, relative to its folder, each
 * once, in order of first appearance. It opens none of them.
 */
export function externalLocations({ graph }: OnnxModel): string[] {
  const plan = new ExternalPlan(undefined);
  plan.moved(graph.encoded, 'graph');
  return [...new Set(plan.copies.map(({ location }) => location))];
}

type Message = 'graph' | 'node' | 'attribute' | 'sparse' | 'tensor';

/** INSIDE says which fields of a message lead to tensors. */
const INSIDE: Record<Message, ReadonlyMap<number, Message>> = {
  graph: new Map([
    [GRAPH.node, 'node'],
    [GRAPH.initializer, 'tensor'],
    [GRAPH.sparseInitializer, 'sparse'],
  ]),
  node: new Map([[NODE.attribute, 'attribute']]),
  attribute: new Map([
    [ATTRIBUTE.t, 'tensor'],
    [ATTRIBUTE.tensors, 'tensor'],
    [ATTRIBUTE.g, 'graph'],
    [ATTRIBUTE.graphs, 'graph'],
    [ATTRIBUTE.sparseTensor, 'sparse'],
    [ATTRIBUTE.sparseTensors, 'sparse'],
  ]),
  sparse: new Map([
    [SPARSE.values, 'tensor'],
    [SPARSE.indices, 'tensor'],
  ]),
  tensor: new Map(),
};

/** Data that is large enough to be mapped starts at a page, the rest at a cache line. */
const PAGE_BYTES = 4096;
const LINE_BYTES = 64;

/** ExternalPlan gathers a partition's external data into one file, or leaves it in its files. */
export class ExternalPlan {
  private readonly copyAt = new Map<string, ExternalCopy>();
  private end = 0;

  /** @param dataFile the file that the partition's tensors will name; undefined leaves their names as they are */
  constructor(private readonly dataFile: string | undefined) {}

  get copies(): ExternalCopy[] {
    return [...this.copyAt.values()];
  }

  /** moved notes every external tensor in a message and gives it its new place. All other bytes stay the same. */
  moved(message: Uint8Array, kind: Message): Uint8Array {
    if (!holdsExternal(message, kind)) return message;
    if (kind === 'tensor') return this.movedTensor(message);
    return concat([...fieldsOf(message)].flatMap((field) => this.movedField(message, field, kind)));
  }

  /** movedField does the same for one field of a message of a kind. */
  movedField(message: Uint8Array, field: Field, kind: Message): Uint8Array[] {
    const inner = innerOf(field, kind);
    const payload = inner === undefined ? undefined : payloadOf(message, field);
    const moved = inner === undefined ? undefined : this.moved(payload!, inner);
    return moved === payload ? [rawField(message, field)] : delimited(field.number, moved!);
  }

  private movedTensor(tensor: Uint8Array): Uint8Array {
    const external = readTensor(tensor, '', new Problems()).external;
    if (external === undefined) return tensor;
    const copy = this.place(external);
    if (this.dataFile === undefined) return tensor;
    const entries = { location: this.dataFile, offset: String(copy.toOffset), length: String(copy.length) };
    const kept = rewritten(tensor, (field) => {
      if (field.number !== TENSOR.externalData) return undefined;
      return Object.hasOwn(entries, entryOf(payloadOf(tensor, field))[0]) ? [] : undefined;
    });
    const told = Object.entries(entries).flatMap(([key, value]) =>
      delimited(TENSOR.externalData, concat([textField(ENTRY.key, key), textField(ENTRY.value, value)])),
    );
    return concat([kept, ...told]);
  }

  private place(external: ExternalData): ExternalCopy {
    const key = `${external.offset} ${external.length} ${external.location}`;
    const before = this.copyAt.get(key);
    if (before !== undefined) return before;
    const copy = { ...external, toOffset: this.offsetFor(external) };
    this.end = copy.toOffset + external.length;
    this.copyAt.set(key, copy);
    return copy;
  }

  private offsetFor(external: ExternalData): number {
    if (this.dataFile === undefined) return external.offset;
    const step = external.length >= PAGE_BYTES ? PAGE_BYTES : LINE_BYTES;
    return Math.ceil(this.end / step) * step;
  }
}

function innerOf(field: Field, kind: Message): Message | undefined {
  return field.wireType === LENGTH_DELIMITED ? INSIDE[kind].get(field.number) : undefined;
}

function holdsExternal(message: Uint8Array, kind: Message): boolean {
  for (const field of fieldsOf(message)) {
    if (kind === 'tensor') {
      if (field.number === TENSOR.externalData) return true;
      continue;
    }
    const inner = innerOf(field, kind);
    if (inner !== undefined && holdsExternal(payloadOf(message, field), inner)) return true;
  }
  return false;
}
