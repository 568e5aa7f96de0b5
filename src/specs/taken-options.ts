import { fault, InputError, option } from '../formats/index.js';

/** KindOption is an option that is not for every kind of spec. `literal` is `formulation: literal`. */
export type KindOption =
  | 'gap'
  | 'work'
  | 'timeLimit'
  | 'explain'
  | 'baseline'
  | 'measure'
  | 'hold'
  | 'frontier'
  | 'literal';

/** OptionsTaken says of each option that it is taken, or why it is not. Refusals come in its order. */
export type OptionsTaken = Readonly<Record<KindOption, 'taken' | Refusal>>;

/** Refusal is why an option is not taken. */
export interface Refusal {
  readonly refused: string;
}

/** Why an option is refused, in the words that people know. */
export const FOR_POOLED: Refusal = { refused: 'is for specs of kind pooled' };
export const FOR_SEARCHED: Refusal = {
  refused: 'is for plans that are searched, and this spec fixes its own',
};
export const FOR_CASCADES: Refusal = { refused: 'is for specs of kind cascade' };

/** GivenOptions are options as a person gave them. */
export type GivenOptions = Readonly<Partial<Record<Exclude<KindOption, 'literal'>, unknown>>> & {
  readonly formulation?: string | undefined;
};

/** refusedOptions reports options that were given and are not taken. */
export function refusedOptions(taken: Partial<OptionsTaken>, given: GivenOptions) {
  return (Object.entries(taken) as [KindOption, 'taken' | Refusal][]).flatMap(([name, what]) => {
    if (what === 'taken') return [];
    if (name === 'literal')
      return given.formulation === 'literal' ? [fault(what.refused, option('formulation', 'literal'))] : [];
    const value = given[name];
    return value === undefined || value === false ? [] : [fault(what.refused, option(name))];
  });
}

/** refuseOptions refuses options that are not for what is asked. @throws InputError with a fault for each */
export function refuseOptions(task: string, taken: Partial<OptionsTaken>, given: GivenOptions): void {
  const faults = refusedOptions(taken, given);
  if (faults.length > 0) throw new InputError(task, faults);
}
