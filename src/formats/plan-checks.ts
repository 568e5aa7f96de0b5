import type { Emitted, InputFile } from './common.js';

/** CHECKED_INPUTS lists what plans are made from, and can be checked against. */
export const CHECKED_INPUTS = [
  'spec',
  'cluster',
  'profiles',
  'records',
  'runs',
  'program',
  'trace',
  'load',
  'engine',
] as const;

/** CheckedInput is something that a plan is made from. */
export type CheckedInput = (typeof CHECKED_INPUTS)[number];

/** PlanChecks says against what a plan was checked before it was used. */
export interface PlanChecks {
  /** The inputs that the plan was compared with. */
  checked?: CheckedInput[];
  /**
   * The inputs that it was made from and was not compared with, because they are gone, have changed or are
   * not named; absent where there are none.
   */
  unchecked?: CheckedInput[];
}

/** INPUTS_OF_ROLES says what a file is that a plan names among its inputs. */
const INPUTS_OF_ROLES: { readonly [role: string]: CheckedInput } = {
  spec: 'spec',
  cluster: 'cluster',
  profile: 'profiles',
  records: 'records',
  runs: 'runs',
  program: 'program',
  trace: 'trace',
  distribution: 'load',
  'engine-profile': 'engine',
};

/** MADE_FROM lists what every plan of a kind is made from. Some are made from more, which they name. */
const MADE_FROM = {
  'pooled-plan': ['spec', 'profiles'],
  'pipeline-plan': ['spec', 'profiles'],
  'gear-plan': ['spec', 'profiles', 'records'],
  'workflow-plan': ['spec', 'profiles'],
} as const satisfies Readonly<Record<string, readonly CheckedInput[]>>;

/**
 * planChecks says against what a plan was checked, of all that it was made from.
 * @param isChecked says whether it was compared with such an input
 */
export function planChecks(
  { kind, inputs = [] }: { readonly kind: keyof typeof MADE_FROM; readonly inputs?: readonly InputFile[] },
  isChecked: (input: CheckedInput) => boolean,
): PlanChecks {
  const named = [...MADE_FROM[kind], ...inputs.map(({ role }) => INPUTS_OF_ROLES[role])];
  const made = CHECKED_INPUTS.filter((input) => named.includes(input));
  const unchecked = made.filter((input) => !isChecked(input));
  return { checked: made.filter(isChecked), ...(unchecked.length === 0 ? {} : { unchecked }) };
}

/** withChecks writes behind the head of a document against what its plan was checked. */
export function withChecks<T extends Emitted & { readonly kind: string }>(
  document: T,
  { checked, unchecked }: PlanChecks,
): T & PlanChecks {
  const { $schema, kind, version, tool, inputs, ...rest } = document;
  const head = { $schema, kind, version, tool, inputs };
  return { ...head, checked, ...(unchecked === undefined ? {} : { unchecked }), ...rest } as T & PlanChecks;
}
