import { type Fault, fault, fieldChanges, type InputFile } from '../formats/index.js';

/** askedFaults finds what a plan has that its spec, or what else it was made from, does not give. */
export function askedFaults(plan: object, asked: object, by = 'spec'): Fault[] {
  return fieldChanges(plan, asked).map(({ path, before = 'absent', after = 'absent' }) =>
    fault(`is ${before}; its ${by} gives ${after}`, path),
  );
}

/**
 * lackedInputs finds files that a plan was made from and does not name as often as it was, and files that it
 * names and was not made from. Files that the plan names are not changed.
 */
export function lackedInputs(named: readonly InputFile[] | undefined, needed: readonly InputFile[]): Fault[] {
  const left = new Map<string, InputFile[]>();
  for (const input of named ?? []) left.set(keyOf(input), [...(left.get(keyOf(input)) ?? []), input]);
  const lacked = needed.filter((input) => left.get(keyOf(input))?.pop() === undefined);
  return [
    ...lacked.map(({ role, path }) => fault(`lacks ${path}, the ${role} that it was made from`, '/inputs')),
    ...[...left.values()]
      .flat()
      .map(({ role, path }) => fault(`names ${path} as ${role}, which it was not made from`, '/inputs')),
  ];
}

function keyOf({ role, sha256 }: InputFile): string {
  return `${role} ${sha256}`;
}
