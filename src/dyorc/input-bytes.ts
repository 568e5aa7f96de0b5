import { itemAt, largestOf } from '../collections/index.js';
import type { PlannedComponent, Run } from '../formats/index.js';

/** InputBytes says by component the most bytes that a task of it takes, and that a full batch of such tasks takes. */
export interface InputBytes {
  readonly taskInputBytes: readonly number[];
  readonly batchInputBytes: readonly number[];
}

/** mostInputBytes finds how many bytes the tasks of runs take at most. An output that a task takes twice lies there once. */
export function mostInputBytes(runs: Iterable<Run>, components: readonly PlannedComponent[]): InputBytes {
  const places = new Map(components.map(({ name }, c) => [name, c]));
  const ofTask = components.map(() => 0);
  const ofRow = components.map(() => 0);
  for (const { tasks, requestBytes } of new Set(runs))
    for (const { component, inputs, rows } of tasks) {
      const place = places.get(component) as number;
      const bytes = [...new Set(inputs)].reduce<number>(
        (sum, input) => sum + (input === 'request' ? requestBytes : (tasks[input]?.outputBytes ?? 0)),
        0,
      );
      ofTask[place] = Math.max(ofTask[place] as number, bytes);
      ofRow[place] = Math.max(ofRow[place] as number, bytes / rows);
    }
  return {
    taskInputBytes: ofTask,
    batchInputBytes: components.map(({ classes }, c) =>
      Math.max(itemAt(ofTask, c), itemAt(ofRow, c) * largestOf([0, ...classes.map(({ batch }) => batch)])),
    ),
  };
}
