import { type Fault, fault, type WorkflowPlan } from '../../formats/index.js';

/** CheckedWorkflows is a workflow plan without the head of its file. */
export type CheckedWorkflows = Omit<WorkflowPlan, '$schema' | 'tool' | 'inputs'>;

/** twiceFaults finds names that stand twice in a list. */
export function twiceFaults(named: readonly { readonly name: string }[], at: string): Fault[] {
  const names = named.map(({ name }) => name);
  return names.flatMap((name, i) =>
    names.indexOf(name) === i ? [] : [fault(`is ${name}, as another is`, `${at}/${i}/name`)],
  );
}
