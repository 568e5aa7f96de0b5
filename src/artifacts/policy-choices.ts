import { type ChoiceParts, didYouMean, type Fault, type PolicyFamily, shown } from '../formats/index.js';
import { schemaFaults } from './faults.js';
import { schemaSource } from './schema-text.js';
import { validatorOfDefinition } from './schemas.js';

/** The keys of a policy file that are not choices. */
export const POLICY_HEAD: readonly string[] = ['$schema', 'kind', 'version', 'scheduler'];

interface ChoiceSchema {
  readonly enum?: readonly string[];
  readonly oneOf?: readonly ChoiceSchema[];
  readonly properties?: { readonly kind: { readonly const: string } };
}

interface FamilySchema {
  readonly properties: Readonly<Record<string, ChoiceSchema>>;
}

const DEFINITION = {
  'stage-local': 'stageLocal',
  reservation: 'reservation',
  workflow: 'workflow',
} as const satisfies { readonly [F in PolicyFamily]: string };

const FAMILIES = Object.keys(DEFINITION) as PolicyFamily[];

const known = new Map<PolicyFamily, ChoiceParts>();

/** choiceParts reads the choices of a family from the schema of policy files. */
export function choiceParts(family: PolicyFamily): ChoiceParts {
  const parts = known.get(family) ?? readParts(family);
  known.set(family, parts);
  return parts;
}

function readParts(family: PolicyFamily): ChoiceParts {
  const { properties } = familySchema(family);
  const choices = Object.entries(properties).filter(([key]) => !POLICY_HEAD.includes(key));
  return new Map(
    choices.map(([key, { enum: words, oneOf: arms = words === undefined ? [] : [{ enum: words }] }]) => [
      key,
      new Map(arms.flatMap(kindsOf)),
    ]),
  );
}

function familySchema(family: PolicyFamily): FamilySchema {
  const { definitions } = JSON.parse(schemaSource('policy')) as {
    definitions: Readonly<Record<string, FamilySchema>>;
  };
  return definitions[DEFINITION[family]] as FamilySchema;
}

function kindsOf({ enum: words = [], properties }: ChoiceSchema): [string, readonly string[]][] {
  if (properties === undefined) return words.map((word) => [word, []]);
  return [[properties.kind.const, Object.keys(properties).filter((part) => part !== 'kind')]];
}

/**
 * choiceFaults finds what is wrong with choices, written as in a policy file of this family. A fault's path is that
 * within the file: `/drop/share`.
 */
export function choiceFaults(family: PolicyFamily, choices: Readonly<Record<string, unknown>>): Fault[] {
  const validate = validatorOfDefinition('policy', DEFINITION[family]);
  return validate({ kind: 'policy', ...choices }) ? [] : schemaFaults(validate);
}

/**
 * policyFileFaults finds what is wrong with a policy file, by the choices of the scheduler that it names. Where it names
 * none, these are the choices of the family that most of its keys belong to.
 */
export function policyFileFaults(file: Readonly<Record<string, unknown>>): Fault[] {
  const { scheduler, ...choices } = file;
  const names = FAMILIES.flatMap(schedulersOf);
  if (scheduler === undefined || names.includes(scheduler as string))
    return choiceFaults(familyOf(file), file);
  const near = didYouMean(String(scheduler), names);
  const message = `is ${shown(scheduler)}; valid values are ${names.join(', ')}${near}`;
  return [{ path: '/scheduler', message }, ...choiceFaults(familyOf(choices), choices)];
}

function schedulersOf(family: PolicyFamily): readonly string[] {
  return familySchema(family).properties.scheduler?.enum ?? [];
}

function familyOf({ scheduler, kind: _, ...choices }: Readonly<Record<string, unknown>>): PolicyFamily {
  if (scheduler !== undefined)
    return FAMILIES.find((family) => schedulersOf(family).includes(String(scheduler))) ?? 'stage-local';
  const keys = Object.keys(choices);
  const isOfWorkflows = (key: string) =>
    choiceParts('workflow').has(key) && !choiceParts('stage-local').has(key);
  if (2 * keys.filter(isOfWorkflows).length > keys.length) return 'workflow';
  const [stageLocal, reservation] = [choiceParts('stage-local'), choiceParts('reservation')];
  const own = Object.keys(choices).filter((key) => stageLocal.has(key) !== reservation.has(key));
  const ofReservation = own.filter((key) => reservation.has(key)).length;
  if (own.length > 0) return 2 * ofReservation > own.length ? 'reservation' : 'stage-local';
  // The families share the name of a choice whose kinds differ.
  const fits = (family: PolicyFamily) => choiceFaults(family, choices).length === 0;
  return !fits('stage-local') && fits('reservation') ? 'reservation' : 'stage-local';
}
