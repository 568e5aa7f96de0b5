import type { AskedTask } from './component-protocol.js';
import { splitFault, splitParts, tensorMaker } from './joining.js';
import { uncleared } from './memory-pool.js';
import type { Tensors } from './protocol.js';
import { type RowTensor, tensorForAll } from './row-tensors.js';
import type { TensorData } from './tensor-data.js';

/**
 * outputsOfTasks splits a batch's outputs among its tasks. The parts may share memory.
 * @throws Error where an output is missing, or its rows are not those of the tasks
 */
export function outputsOfTasks(
  given: Tensors,
  outputs: readonly RowTensor[],
  tasks: readonly AskedTask[],
): Tensors[] {
  const split = outputs.map((output) => {
    const tensor = given[output.name];
    if (tensor === undefined) throw new Error(`the model gave no ${output.name}`);
    return partsOfTasks(tensor, output, tasks);
  });
  return tasks.map((_, i) => Object.fromEntries(outputs.map(({ name }, k) => [name, split[k]![i]!])));
}

function partsOfTasks(tensor: TensorData, output: RowTensor, tasks: readonly AskedTask[]): TensorData[] {
  const { name, batchAxis: axis, shape } = output;
  if (axis === undefined) return tensorForAll(tensor, output, tasks.length);
  if (tasks.length === 1) return [tensor];
  const rowsPerPart = tasks.map(({ rows }) => rows * shape[axis]!);
  const fault = splitFault(tensor, axis, rowsPerPart);
  if (fault !== undefined)
    throw new Error(`output ${name} cannot be split among the tasks of its batch: ${fault}`);
  return splitParts(tensor, { axis, rowsPerPart, make: tensorMaker(uncleared) });
}
