import { type Fault, fault, fieldChanges, type InputFile } from '../artifacts/index.js';

/** askedFaults finds what a plan has that its spec does not give. */
export function askedFaults(plan: object, asked: object): Fault[] {
  return fieldChanges(plan, asked).map(({ path, before = 'absent', after = 'absent' }) =>
    fault(`is ${before}; its spec gives ${after}`, path),
  );
}

/** lackedInputs finds files that a plan was made from and does not name. Those that it names are not changed. */
export function lackedInputs(named: readonly InputFile[] | undefined, needed: readonly InputFile[]): Fault[] {
  const digests = new Set(named?.map(({ role, sha256 }) => `${role} ${sha256}`));
  return needed
    .filter(({ role, sha256 }) => !digests.has(`${role} ${sha256}`))
    .map(({ role, path }) => fault(`lacks ${path}, the ${role} that it was made from`, '/inputs'));
}
