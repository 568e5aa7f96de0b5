import { itemAt } from '../../collections/index.js';
/** NodeNames are the names that a node uses, captured ones included, and those that it makes. */
export interface NodeNames {
  readonly inputs: readonly string[];
  readonly captures: readonly string[];
  readonly outputs: readonly string[];
}

/** Order lists the indices of nodes in topological order, or those of a cycle that makes such an order impossible. */
export type Order =
  | { readonly kind: 'ordered'; readonly indices: readonly number[] }
  | { readonly kind: 'cyclic'; readonly cycle: readonly number[] };

/**
 * orderOf puts nodes in topological order: in file order where that is one, else every node right after those it waits
 * for. It is linear in nodes and edges. It walks with its own stack, because graphs may be as deep as they are long.
 */
export function orderOf(steps: readonly NodeNames[]): Order {
  const makers = makersOf(steps);
  const state = new Uint8Array(steps.length); // 0: not seen, 1: on the stack, 2: placed
  const indices: number[] = [];
  for (let start = 0; start < steps.length; start++) {
    if (state[start] !== 0) continue;
    const stack = [{ index: start, needs: needsOf(itemAt(steps, start), makers), next: 0 }];
    state[start] = 1;
    while (stack.length > 0) {
      const top = stack.at(-1)!;
      const need = top.needs[top.next++];
      if (need === undefined) {
        state[top.index] = 2;
        indices.push(top.index);
        stack.pop();
      } else if (state[need] === 1) {
        return { kind: 'cyclic', cycle: cycleFrom(need, stack) };
      } else if (state[need] === 0) {
        state[need] = 1;
        stack.push({ index: need, needs: needsOf(itemAt(steps, need), makers), next: 0 });
      }
    }
  }
  return { kind: 'ordered', indices };
}

function makersOf(steps: readonly NodeNames[]): Map<string, number> {
  const makers = new Map<string, number>();
  steps.forEach((step, index) => {
    for (const name of step.outputs) if (name !== '' && !makers.has(name)) makers.set(name, index);
  });
  return makers;
}

function needsOf(step: NodeNames, makers: ReadonlyMap<string, number>): number[] {
  return [...step.inputs, ...step.captures].flatMap((name) => makers.get(name) ?? []);
}

function cycleFrom(first: number, stack: readonly { readonly index: number }[]): number[] {
  return stack.slice(stack.findIndex((entry) => entry.index === first)).map((entry) => entry.index);
}
