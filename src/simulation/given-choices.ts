import { basename } from 'node:path';
import { type ComparedChoice, type Fault, fault, listed, type PolicyGiven } from '../formats/index.js';
import { absentChoices, type ChosenScheduler } from '../serving/index.js';

/**
 * GivenChoices sorts out which of the choices that a person gave exist in which schedulers. A policy file is taken choice by
 * choice, and one that names its scheduler is for that one alone.
 */
export class GivenChoices {
  private readonly singles: readonly PolicyGiven[];
  /** By scheduler: why each choice does not exist in it. Of one that exists there is nothing. */
  private readonly absent: ReadonlyMap<string, readonly (readonly Fault[])[]>;

  /** @param own the schedulers as they are without these choices */
  constructor(given: readonly PolicyGiven[], own: readonly ChosenScheduler[]) {
    this.singles = given.flatMap(singleChoices);
    this.absent = new Map(own.map((chosen) => [chosen.name, this.absentIn(chosen)]));
  }

  /** existingIn gives the choices that exist in a scheduler, in their order. */
  existingIn(name: string): readonly PolicyGiven[] {
    return this.singles.filter((_, i) => this.exists(i, name));
  }

  /** faultsOver says which choices exist in none of some schedulers, and what there is instead. */
  faultsOver(names: readonly string[]): Fault[] {
    if (names.length === 0) return [];
    return this.singles.flatMap((_, i) =>
      names.some((name) => this.exists(i, name)) ? [] : this.toldAbsent(i, names),
    );
  }

  /** applied says of each choice in which of some schedulers it exists. */
  applied(names: readonly string[]): ComparedChoice[] {
    return this.singles.map((single, i) => ({
      choice: choiceText(single),
      applied: names.filter((name) => this.exists(i, name)),
      notApplied: names.filter((name) => !this.exists(i, name)),
    }));
  }

  /** absentIn tries only what is for the scheduler: a choice may depend on those before it. */
  private absentIn(chosen: ChosenScheduler): readonly (readonly Fault[])[] {
    const isFor = (single: PolicyGiven) => (schedulerOf(single) ?? chosen.name) === chosen.name;
    const found = absentChoices(chosen, this.singles.filter(isFor))[Symbol.iterator]();
    return this.singles.map((single) =>
      isFor(single)
        ? (found.next().value as readonly Fault[])
        : [fault(`is for ${schedulerOf(single)}, which is not compared`, choiceText(single))],
    );
  }

  private exists(i: number, name: string): boolean {
    return this.absent.get(name)?.[i]?.length === 0;
  }

  private toldAbsent(i: number, names: readonly string[]): Fault[] {
    const told = new Map<string, { readonly one: Fault; readonly names: string[] }>();
    for (const name of names)
      for (const one of this.absent.get(name)?.[i] ?? []) {
        const known = told.get(one.message) ?? { one, names: [] };
        known.names.push(name);
        told.set(one.message, known);
      }
    const groups = [...told.values()];
    if (groups.length === 1) return groups.map(({ one }) => one);
    return groups.map(({ one, names: those }) => ({
      ...one,
      message: `of ${listed(those)}: ${one.message}`,
    }));
  }
}

function schedulerOf(single: PolicyGiven): string | undefined {
  return typeof single === 'string' ? undefined : single.scheduler;
}

function singleChoices(given: PolicyGiven): PolicyGiven[] {
  if (typeof given === 'string') return [given];
  return Object.entries(given.choices).map(
    ([name, value]): PolicyGiven => ({ ...given, choices: { [name]: value } }),
  );
}

function choiceText(single: PolicyGiven): string {
  if (typeof single === 'string') return single;
  const [name = ''] = Object.keys(single.choices);
  return single.file === undefined ? name : `${basename(single.file.path)} ${name}`;
}
