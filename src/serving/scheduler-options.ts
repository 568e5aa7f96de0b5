import { fault, option, type ToldFaults } from '../artifacts/index.js';
import {
  type AnyPolicy,
  type ChosenScheduler,
  SCHEDULERS,
  type Scheduler,
  type SchedulerName,
} from './schedulers.js';

/** AT_MOST_1 lists the parts of choices that are shares, so that more than 1 is a fault. */
const AT_MOST_1 = new Set(['drop.share', 'firstSight.share', 'late.mostMissed', 'correction.weight']);

/** WORDS lists the parts of choices that are words rather than numbers, with the valid words. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  'formation.leaves': ['transfer', 'nothing'],
  'drop.spares': ['all-waited', 'last-waited'],
};

/**
 * chosenScheduler finds a scheduler by its name and preset, and applies the `key=value`
 * choices to a copy of its policy. A choice with a fault is left out.
 * @param told where every fault is added; the result is only to be used if there is none
 * @returns undefined where the scheduler or the preset does not exist
 */
export function chosenScheduler(
  { scheduler: name, preset, policy: assignments = [] }: SchedulerOptions & { readonly scheduler: string },
  told: ToldFaults,
): ChosenScheduler | undefined {
  const known = Object.keys(SCHEDULERS).join(', ');
  if (!Object.hasOwn(SCHEDULERS, name)) {
    told.add(fault(`is ${JSON.stringify(name)}; valid values are ${known}`, option('scheduler')));
    return undefined;
  }
  const found: Scheduler = SCHEDULERS[name as SchedulerName];
  const start = preset === undefined ? found.policy : found.presets[preset];
  if (start === undefined || (preset !== undefined && !Object.hasOwn(found.presets, preset))) {
    const presets = Object.keys(found.presets);
    const has = presets.length === 0 ? `has no presets; ${withPresets()} have` : `has ${presets.join(', ')}`;
    told.add(fault(`is ${JSON.stringify(preset)}; the scheduler ${name} ${has}`, option('preset')));
    return undefined;
  }
  const policy = withAssignments(found, start, assignments, told);
  return { name: name as SchedulerName, ...(preset === undefined ? {} : { preset }), policy };
}

function withPresets(): string {
  const all: [string, Scheduler][] = Object.entries(SCHEDULERS);
  return all.flatMap(([name, { presets }]) => (Object.keys(presets).length > 0 ? [name] : [])).join(' and ');
}

/** SchedulerOptions holds the options `--scheduler`, `--preset` and `--policy` as a person wrote them. */
export interface SchedulerOptions {
  readonly scheduler?: string | undefined;
  readonly preset?: string | undefined;
  /**
   * `policy` holds the choices that differ from the preset: `drop=full-batch`, `drop.share=0.5`,
   * `slackNs=1000000`.
   */
  readonly policy?: readonly string[] | undefined;
}

function withAssignments(
  { choices }: Scheduler,
  start: AnyPolicy,
  assignments: readonly string[],
  told: ToldFaults,
): AnyPolicy {
  const policy: Record<string, unknown> = structuredClone(start) as Record<string, unknown>;
  for (const text of assignments) {
    const at = `${option('policy')} "${text}"`;
    const match = /^([A-Za-z]+)(?:\.([A-Za-z]+))?=(.+)$/.exec(text);
    const [, key = '', part, value = ''] = match ?? [];
    const allowed = Object.hasOwn(choices, key) ? choices[key] : undefined;
    if (match === null) told.add(fault('is not key=value, such as drop=hopeless', at));
    else if (allowed === undefined)
      told.add(fault(`there is no ${key}; there are ${Object.keys(choices).join(', ')}`, at));
    else {
      const wrong = assign(policy, key, part, value, allowed);
      if (wrong !== undefined) told.add(fault(wrong, at));
    }
  }
  for (const [key, allowed] of Object.entries(choices)) {
    const missing = missingParts(policy[key], allowed);
    if (missing.length > 0)
      told.add(
        fault(
          `${missing.map((part) => `${key}.${part}=…`).join(' and ')} is needed`,
          `${option('policy')} ${key}`,
        ),
      );
  }
  return policy;
}

/**
 * assign sets one choice of a policy.
 * @returns the fault of the value, if it has one
 */
function assign(
  policy: Record<string, unknown>,
  key: string,
  part: string | undefined,
  value: string,
  allowed: Scheduler['choices'][string],
): string | undefined {
  if (part !== undefined) return assignPart(policy, key, part, value, allowed);
  if (allowed === 'boolean') {
    if (value !== 'true' && value !== 'false') return `${value} is neither true nor false`;
    policy[key] = value === 'true';
  } else if (allowed === 'number') {
    const number = numberOf(value);
    if (number === undefined) return `${value} is not a number of 0 or more`;
    if (!Number.isSafeInteger(number)) return `${value} is not a whole number`;
    policy[key] = number;
  } else {
    const parts = Object.hasOwn(allowed, value) ? allowed[value] : undefined;
    if (parts === undefined) return `there is no ${value}; there are ${Object.keys(allowed).join(', ')}`;
    const before = policy[key];
    if (typeof before === 'string') policy[key] = value;
    else {
      const kept = Object.entries(before as object).filter(([name]) => parts.includes(name));
      policy[key] = { kind: value, ...Object.fromEntries(kept) };
    }
  }
  return undefined;
}

function assignPart(
  policy: Record<string, unknown>,
  key: string,
  part: string,
  value: string,
  allowed: Scheduler['choices'][string],
): string | undefined {
  const now = policy[key];
  const kind = typeof now === 'object' ? (now as { kind: string }).kind : undefined;
  const parts = kind === undefined || typeof allowed === 'string' ? [] : (allowed[kind] ?? []);
  if (!parts.includes(part)) {
    const of = kind === undefined ? key : `${key}=${kind}`;
    return `${of} takes ${parts.length === 0 ? 'nothing more' : parts.join(', ')}`;
  }
  const words = WORDS[`${key}.${part}`];
  if (words !== undefined) {
    if (!words.includes(value)) return `there is no ${value}; there are ${words.join(', ')}`;
    policy[key] = { ...(now as object), [part]: value };
    return undefined;
  }
  const number = numberOf(value);
  if (number === undefined) return `${value} is not a number of 0 or more`;
  if (part.endsWith('Ns') && !Number.isSafeInteger(number)) return `${value} is not a whole number`;
  if (number > 1 && AT_MOST_1.has(`${key}.${part}`)) return `${value} is more than 1, which stands for all`;
  policy[key] = { ...(now as object), [part]: number };
  return undefined;
}

function missingParts(chosen: unknown, allowed: Scheduler['choices'][string]): string[] {
  if (typeof allowed === 'string' || typeof chosen !== 'object' || chosen === null) return [];
  const parts = allowed[(chosen as { kind: string }).kind] ?? [];
  return parts.filter((part) => !(part in chosen));
}

function numberOf(text: string): number | undefined {
  const value = Number(text);
  return text.trim() !== '' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
