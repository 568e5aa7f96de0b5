import { type OutputBytes, type Tensors, tensorBytes } from '../../execution/index.js';

/** KeptOutput is the output of a task, or what a client sent, with the places where it lies. */
export interface KeptOutput {
  /** The id under which each device keeps it that does: with all of its tensors. */
  readonly places: Map<number, number>;
  /** The tensors of the output that lie at the front. */
  front: Tensors;
  /** A promise that ends when tensors have come to the front, or are lost, for which a device had no room. */
  coming: Promise<void> | undefined;
  /** How large each of its tensors is; none before it exists. */
  sizes: OutputBytes;
  /** isOver says whether nobody can ask for it any more. */
  isOver: boolean;
}

/** outputAtFront gives the output that lies at the front, as what a client sent does. */
export function outputAtFront(front: Tensors): KeptOutput {
  const sizes = Object.entries(front).map(([name, tensor]) => [name, tensorBytes(tensor)]);
  return { ...futureOutput(), front, sizes: Object.fromEntries(sizes) as OutputBytes };
}

/** futureOutput gives the output of a task that was not executed yet. */
export function futureOutput(): KeptOutput {
  return { places: new Map(), front: {}, coming: undefined, sizes: {}, isOver: false };
}

/** keptBytes is how large some tensors of an output are, all of them by default. */
export function keptBytes({ sizes }: KeptOutput, names: readonly string[] = Object.keys(sizes)): number {
  return names.reduce((sum, name) => sum + (sizes[name] ?? 0), 0);
}

/** missingAtFront lists the tensors of an output that are not at the front, of some or of all. */
export function missingAtFront(
  { sizes, front }: KeptOutput,
  names: Iterable<string> = Object.keys(sizes),
): string[] {
  return [...names].filter((name) => front[name] === undefined);
}
