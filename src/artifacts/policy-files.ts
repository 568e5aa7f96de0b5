import type { PolicyChoices, PolicyGiven, ToldFaults } from '../formats/index.js';
import { loadArtifact } from './load.js';
import { POLICY_HEAD } from './policy-choices.js';

/** An assignment may end like a file's name, so a file whose name begins like one is given with its folder. */
const ASSIGNMENT = /^[A-Za-z]+(?:\.[A-Za-z]+)?=/;

/**
 * readPolicies reads the policy files among what `--policy` was given: all that end in .yaml, .yml or .json.
 * @param told where every fault of the files is added
 * @returns what was given, in its order, with the files' choices in place of those that could be read
 */
export async function readPolicies(
  given: readonly PolicyGiven[],
  told: ToldFaults,
): Promise<readonly PolicyGiven[]> {
  const read: PolicyGiven[] = [];
  for (const one of given) {
    const isFile = typeof one === 'string' && !ASSIGNMENT.test(one) && /\.(?:ya?ml|json)$/i.test(one);
    const found = isFile ? await readPolicy(one, told) : one;
    if (found !== undefined) read.push(found);
  }
  return read;
}

/** policyFiles lists the files among what was given. */
export function policyFiles(given: readonly PolicyGiven[]): NonNullable<PolicyChoices['file']>[] {
  return given.flatMap((one) => (typeof one === 'string' || one.file === undefined ? [] : [one.file]));
}

async function readPolicy(path: string, told: ToldFaults): Promise<PolicyChoices | undefined> {
  try {
    const { value, sha256 } = await loadArtifact(path, ['policy']);
    const choices = Object.fromEntries(Object.entries(value).filter(([key]) => !POLICY_HEAD.includes(key)));
    return { at: `${path} `, scheduler: value.scheduler, choices, file: { path, sha256 } };
  } catch (error) {
    told.addOfFile(path, error);
    return undefined;
  }
}
