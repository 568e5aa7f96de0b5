import type { AskedTask } from './component-protocol.js';
import { copiedTensor, joinedParts, joinFaults, type MakeTensor, tensorMaker } from './joining.js';
import type { KeptOutputs, KeptTensor } from './kept-outputs.js';
import type { Tensors } from './protocol.js';
import { commonTensor, type RowTensor } from './row-tensors.js';
import { isStrings, type TensorData } from './tensor-data.js';

/** BatchInputs are the inputs of a batch in memory that nothing else uses, so that it can move to another thread. */
export interface BatchInputs {
  readonly feeds: Tensors;
  /** The outputs whose last use this is, and the input into which an output's memory has moved, where it has. */
  readonly taken: readonly { readonly kept: KeptTensor; readonly movedTo: string | undefined }[];
}

/** InputSources is where the inputs of a batch come from: what is kept, and what was sent along, by task. */
export interface InputSources {
  readonly kept: KeptOutputs;
  readonly sent: readonly Tensors[];
  /** Gives memory for stacked inputs, perhaps more than asked. */
  readonly allocate: (bytes: number) => ArrayBuffer;
}

/** Part is an input of one task. */
interface Part {
  readonly tensor: TensorData;
  readonly kept?: KeptTensor;
}

/**
 * batchInputs joins the inputs of a batch's tasks along their batch axes, one copy for each. A single task's input is not
 * copied if it was sent along, or if it is an output's last use. The outputs whose last use this is are taken.
 * @throws Error, and takes nothing, where a task lacks an input, an output is not there, or the inputs do not fit together
 */
export function batchInputs(
  tasks: readonly AskedTask[],
  inputs: readonly RowTensor[],
  sources: InputSources,
): BatchInputs {
  checkNames(tasks, inputs, sources);
  const make = tensorMaker(sources.allocate);
  const parts = inputs.map((input) => tasks.map((_, i) => partOf(tasks, i, input, sources)));
  const joined = inputs.map((input, k) => joinedPart(parts[k]!, input, make));
  const last = lastUses(tasks, sources.kept);
  const uses = parts.flat().map(({ kept }) => kept);
  const mayMove = (kept: KeptTensor) =>
    last.has(kept) && kept.sends === 0 && uses.indexOf(kept) === uses.lastIndexOf(kept);
  const movedTo = new Map<KeptTensor, string>();
  const feeds = inputs.map(({ name }, k): [string, TensorData] => {
    const { tensor, kept } = joined[k]!;
    if (kept === undefined) return [name, tensor];
    if (!mayMove(kept)) return [name, copiedTensor(tensor, make)];
    movedTo.set(kept, name);
    return [name, tensor];
  });
  for (const kept of last) kept.state = 'taken';
  return {
    feeds: Object.fromEntries(feeds),
    taken: [...last].map((kept) => ({ kept, movedTo: movedTo.get(kept) })),
  };
}

function checkNames(tasks: readonly AskedTask[], inputs: readonly RowTensor[], { sent }: InputSources): void {
  const known = inputs.map(({ name }) => name);
  tasks.forEach((task, i) => {
    const odd = Object.keys({ ...task.kept, ...sent[i] }).find((name) => !known.includes(name));
    if (odd === undefined) return;
    throw new Error(`task ${task.id} has an input ${odd}, and the model takes ${known.join(', ')}`);
  });
}

function partOf(
  tasks: readonly AskedTask[],
  i: number,
  input: RowTensor,
  { kept, sent }: InputSources,
): Part {
  const task = tasks[i]!;
  const reference = task.kept[input.name];
  const found = reference === undefined ? undefined : kept.find(reference.kept, reference.name);
  const tensor = found?.tensor ?? sent[i]?.[input.name];
  if (tensor === undefined) throw new Error(`task ${task.id} has no input ${input.name}`);
  checkRows(task, input, tensor);
  return found === undefined ? { tensor } : { tensor, kept: found };
}

/** Rows that one task has too many and another too few would go to the wrong one of them. */
function checkRows(
  { id, rows }: AskedTask,
  { name, batchAxis, shape }: RowTensor,
  { dims }: TensorData,
): void {
  if (batchAxis === undefined) return;
  const wanted = rows * shape[batchAxis]!;
  if (dims[batchAxis] === wanted) return;
  throw new Error(
    `input ${name} of task ${id} is [${dims.join(', ')}], and axis ${batchAxis} of ${rows} ${rows === 1 ? 'row' : 'rows'} is ${wanted}`,
  );
}

function lastUses(tasks: readonly AskedTask[], kept: KeptOutputs): Set<KeptTensor> {
  const references = tasks.flatMap((task) => Object.values(task.kept)).filter(({ isLast }) => isLast);
  return new Set(references.map(({ kept: id, name }) => kept.find(id, name)));
}

function joinedPart(parts: readonly Part[], input: RowTensor, make: MakeTensor): Part {
  const tensors = parts.map(({ tensor }) => tensor);
  const axis = input.batchAxis;
  if (axis === undefined) {
    commonTensor(tensors, input.name);
    return parts[0]!;
  }
  if (parts.length === 1) return parts[0]!;
  const faults = joinFaults(tensors, axis).map(({ path, message }) => `${path} ${message}`.trim());
  if (faults.length > 0) throw new Error(`inputs ${input.name} do not fit together: ${faults.join('; ')}`);
  return { tensor: joinedParts(tensors, axis, make) };
}

/** buffersOf lists the memory of tensors, each piece once. */
export function buffersOf(tensors: Tensors): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const { data } of Object.values(tensors)) {
    if (!isStrings(data) && data.buffer instanceof ArrayBuffer) buffers.add(data.buffer);
  }
  return [...buffers];
}
