import { choiceFaults, choiceParts } from '../artifacts/index.js';
import {
  type ChoiceParts,
  didYouMean,
  type EngineFigures,
  type Fault,
  type FaultPlace,
  fault,
  HUGE,
  isHugeWhole,
  option,
  type PolicyGiven,
  shown,
  type ToldFaults,
} from '../formats/index.js';
import {
  type AnyPolicy,
  type ChosenScheduler,
  SCHEDULERS,
  type Scheduler,
  type SchedulerName,
} from './schedulers.js';

import { WORKFLOW_POLICIES, type WorkflowPolicy, type WorkflowScheduler } from './workflow/index.js';

/** SchedulerOptions holds the options `--scheduler`, `--preset` and `--policy` as a person wrote them. */
export interface SchedulerOptions {
  readonly scheduler?: string | undefined;
  readonly preset?: string | undefined;
  /**
   * `policy` holds the choices that differ from the preset: `drop=full-batch`, `drop.share=0.5`, `slackNs=1000000`, or
   * what policy files hold. Later ones replace earlier ones.
   */
  readonly policy?: readonly PolicyGiven[] | undefined;
  /** `engine` is what the scheduler's engine takes beside its devices: an engine profile, or what was read of it. */
  readonly engine?: string | EngineFigures | undefined;
}

/**
 * chosenScheduler finds a scheduler by its name and preset, and applies the choices to a copy of its policy. They are
 * checked by the schema of policy files. A choice with a fault is left out.
 * @param told where every fault is added; the result is only to be used if there is none
 * @returns undefined where the scheduler or the preset does not exist
 */
export function chosenScheduler(
  { scheduler: name, preset, policy: given = [] }: SchedulerOptions & { readonly scheduler: string },
  told: ToldFaults,
): ChosenScheduler | undefined {
  const names = Object.keys(SCHEDULERS);
  if (!Object.hasOwn(SCHEDULERS, name)) {
    const said = `is ${shown(name)}; valid values are ${names.join(', ')}${didYouMean(name, names)}`;
    told.add(fault(said, option('scheduler')));
    return undefined;
  }
  const found: Scheduler = SCHEDULERS[name as SchedulerName];
  const start = preset === undefined ? found.policy : found.presets[preset];
  if (start === undefined || (preset !== undefined && !Object.hasOwn(found.presets, preset))) {
    const presets = Object.keys(found.presets);
    const has = presets.length === 0 ? `has no presets; ${withPresets()} have` : `has ${presets.join(', ')}`;
    told.add(fault(`is ${shown(preset)}; the scheduler ${name} ${has}`, option('preset')));
    return undefined;
  }
  const choices = new Choices(choiceParts(found.family), start);
  for (const one of given) told.addAll(choices.take(one));
  const faults = choices.faults((written) => choiceFaults(found.family, written));
  told.addAll([
    ...faults,
    ...(faults.length > 0
      ? []
      : found.clashes(choices.policy).map((clash) => fault(clash.said, option('policy', clash.choice)))),
  ]);
  return {
    name: name as SchedulerName,
    ...(preset === undefined ? {} : { preset }),
    policy: choices.policy,
  };
}

function withPresets(): string {
  const all: [string, Scheduler][] = Object.entries(SCHEDULERS);
  return all.flatMap(([name, { presets }]) => (Object.keys(presets).length > 0 ? [name] : [])).join(' and ');
}

/**
 * absentChoices says of each `--policy`, in their order, why it does not exist in a chosen scheduler: which choices, kinds
 * or parts there are instead. Of one that exists it says nothing, though its value may be wrong.
 */
export function absentChoices(
  { name, policy }: ChosenScheduler,
  given: readonly PolicyGiven[],
): readonly (readonly Fault[])[] {
  const choices = new Choices(choiceParts(SCHEDULERS[name].family), policy);
  return given.map((one) => choices.take(one));
}

/**
 * chosenWorkflowPolicy finds what choices change of the policy of a scheduler of workflows. They are checked by the
 * schema of policy files.
 * @param told where every fault is added; the result is only to be used if there is none
 */
export function chosenWorkflowPolicy(
  name: WorkflowScheduler,
  given: readonly PolicyGiven[],
  told: ToldFaults,
): Partial<WorkflowPolicy> {
  const own = WORKFLOW_POLICIES[name];
  const parts = [...choiceParts('workflow')].filter(([key]) => key in own);
  const choices = new Choices(new Map(parts), { ...own });
  for (const one of given) told.addAll(choices.take(one));
  told.addAll(choices.faults((written) => choiceFaults('workflow', written)));
  return choices.changed;
}

/** choicesGiven lists the names of the choices, or parts of them, that are given. */
export function choicesGiven(given: readonly PolicyGiven[]): string[] {
  return given.flatMap((one) =>
    typeof one === 'string' ? [one.slice(0, Math.max(0, one.indexOf('=')))] : Object.keys(one.choices),
  );
}

/** Assignment gives a choice, or a part of one, a value. */
interface Assignment {
  readonly key: string;
  readonly part?: string | undefined;
  readonly value: unknown;
  /** Where it was given, as its faults say. */
  readonly at: FaultPlace;
  /** isFile says whether its faults are placed within its value, by a JSON pointer. */
  readonly isFile: boolean;
}

/** The value of a choice among several kinds that take parts. */
interface Kind {
  readonly kind: string;
}

/** Choices applies assignments to the policy of a scheduler, and remembers who gave what. */
class Choices {
  private readonly values: Record<string, unknown>;
  /** The last assignment of each choice, `drop`, and of each part, `drop/share`. */
  private readonly givers = new Map<string, Assignment>();

  constructor(
    private readonly parts: ChoiceParts,
    start: AnyPolicy,
  ) {
    this.values = structuredClone(start) as Record<string, unknown>;
  }

  get policy(): AnyPolicy {
    return this.values;
  }

  /** changed has those choices that were given, or of which parts were. */
  get changed(): AnyPolicy {
    const names = [...this.givers.keys()].map((key) => key.split('/')[0] as string);
    return Object.fromEntries([...new Set(names)].map((name) => [name, this.values[name]]));
  }

  /** take applies what one `--policy` says, and gives the faults that the schema cannot know of. */
  take(given: PolicyGiven): Fault[] {
    if (typeof given === 'string') {
      const at = option('policy', `"${given}"`);
      const [text, key = '', part, value = ''] = /^([A-Za-z]+)(?:\.([A-Za-z]+))?=(.+)$/.exec(given) ?? [];
      const said = 'is not key=value, such as drop=hopeless, nor a file that ends in .yaml, .yml or .json';
      if (text === undefined) return [fault(said, at)];
      if (isHugeWhole(value)) return [fault(`has ${value}; ${HUGE}`, at)];
      return this.assign({ key, part, value: typedValue(value), at, isFile: false });
    }
    return Object.entries(given.choices).flatMap(([name, value]) => {
      const [key = '', ...rest] = name.split('.');
      const part = rest.length === 0 ? undefined : rest.join('.');
      return this.assign({ key, part, value, at: `${given.at}/${name}`, isFile: true });
    });
  }

  private assign(given: Assignment): Fault[] {
    const { key, part, value, at } = given;
    const kinds = this.parts.get(key);
    if (kinds === undefined) {
      const known = [...this.parts.keys()];
      return [fault(`there is no ${key}; there are ${known.join(', ')}${didYouMean(key, known)}`, at)];
    }
    const before = this.values[key];
    if (part !== undefined) {
      const takes = isKind(before) ? (kinds.get(before.kind) ?? []) : [];
      if (!takes.includes(part)) {
        const of = isKind(before) ? `${key}=${before.kind}` : key;
        const said = takes.length === 0 ? 'nothing more' : takes.join(', ');
        return [fault(`${of} takes ${said}${didYouMean(part, takes)}`, at)];
      }
      this.values[key] = { ...(before as Kind), [part]: value };
      this.givers.set(`${key}/${part}`, given);
      return [];
    }
    if (typeof value === 'string' && kinds.size > 0 && !kinds.has(value)) {
      const known = [...kinds.keys()];
      return [fault(`there is no ${value}; there are ${known.join(', ')}${didYouMean(value, known)}`, at)];
    }
    this.values[key] = isKind(before) && typeof value === 'string' ? keptParts(value, before, kinds) : value;
    this.givers.set(key, given);
    return [];
  }

  /** faults gives what the schema says of the choices that were given, each placed where it was given. */
  faults(check: (written: Readonly<Record<string, unknown>>) => Fault[]): Fault[] {
    // The schema takes some 10 ms to be compiled.
    if (this.givers.size === 0) return [];
    const missing: Fault[] = [];
    const written: Record<string, unknown> = {};
    for (const [key, giver] of this.givers) {
      if (key.includes('/')) continue;
      const lacks = giver.isFile && typeof giver.value === 'object' ? [] : this.missing(key);
      const needed = lacks.map((part) => `${key}.${part}=…`).join(' and ');
      if (lacks.length > 0) missing.push(fault(`${needed} is needed`, placeOf(key, giver)));
    }
    const isLacking = (key: string) => missing.length > 0 && this.missing(key).length > 0;
    for (const name of this.givers.keys()) {
      const key = name.split('/')[0] as string;
      if (!isLacking(key)) written[key] = this.written(key);
    }
    return [...missing, ...check(written).map((one) => this.placed(one))];
  }

  private missing(key: string): readonly string[] {
    const value = this.values[key];
    if (!isKind(value)) return [];
    return (this.parts.get(key)?.get(value.kind) ?? []).filter((part) => !(part in value));
  }

  /** written gives a choice as a policy file has it: a kind that takes no parts is a word. */
  private written(key: string): unknown {
    const value = this.values[key];
    if (!isKind(value) || Object.keys(value).length > 1) return value;
    return (this.parts.get(key)?.get(value.kind) ?? []).length > 0 ? value : value.kind;
  }

  private placed({ message, path }: Fault): Fault {
    const [key = '', part = '', ...rest] = path.split('/').slice(1);
    const giver = this.givers.get(`${key}/${part}`) ?? this.givers.get(key);
    if (giver === undefined) return fault(message, option('policy', key));
    const within =
      giver.isFile && giver.part === undefined && part !== '' ? ['', part, ...rest].join('/') : '';
    return fault(message, within === '' ? giver.at : `${giver.at}${within}`);
  }
}

function isKind(value: unknown): value is Kind {
  return typeof value === 'object' && value !== null && typeof (value as Partial<Kind>).kind === 'string';
}

/** keptParts makes a choice of another kind, with the parts of the one before that it takes too. */
function keptParts(kind: string, before: Kind, kinds: ReadonlyMap<string, readonly string[]>): Kind {
  const takes = kinds.get(kind) ?? [];
  return { kind, ...Object.fromEntries(Object.entries(before).filter(([part]) => takes.includes(part))) };
}

function placeOf(key: string, { at, isFile }: Assignment): FaultPlace {
  return isFile ? at : option('policy', key);
}

/** typedValue reads the value of `key=value`: true or false, a number, or a word. */
function typedValue(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  const number = Number(text);
  return text.trim() !== '' && Number.isFinite(number) ? number : text;
}
