import { itemAt } from '../collections/index.js';
import type { ArtifactKind } from '../formats/index.js';
import { type PointedFault, pointedFaults } from './faults.js';
import { type Arm, chosenArm } from './kind-faults.js';
import { completeSchema } from './schema-text.js';
import { validatorOf } from './schemas.js';
import { pointerSteps } from './text-places.js';

/** Rests are what a file holds besides what is wrong in it, as files of its kind that differ in what stands in for that. */
export interface Rests {
  readonly values: readonly object[];
  /** The JSON pointers of what is wrong. Faults of the values there are of no use. */
  readonly wrong: readonly string[];
  /**
   * lacksName says whether a text that names something is wrong, so that what refers to it seems to name
   * nothing.
   */
  readonly lacksName: boolean;
}

/** Part is a part of a schema, as far as values are made by it. */
interface Part extends Arm {
  readonly $ref?: string;
  /** Of a part that is described by itself: what it refers to. */
  readonly allOf?: readonly Part[];
  readonly oneOf?: readonly Part[];
  readonly properties?: Readonly<Record<string, Part & { readonly const?: unknown }>>;
  readonly additionalProperties?: boolean | Part;
  readonly items?: Part;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly minProperties?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
}

/** Values that stand in come in two ways, so that what is told of both follows from neither. */
const WAYS = [0, 1] as const;
/** Each round mends what a validator reports, which are 20 faults at most. */
const MOST_ROUNDS = 50;
/** These keys name files, and a class of profiles, which nothing else in a file refers to. */
const OUTER_KEYS: readonly string[] = ['cluster', 'profile', 'trace', 'records', 'distribution', 'as'];

/**
 * restsOf replaces what faults name in a file's value by other values that its schema takes, in two ways, and takes out keys
 * that are unknown. There are none where that makes no file of the kind.
 */
export function restsOf(
  kind: ArtifactKind,
  value: unknown,
  faults: readonly PointedFault[],
): Rests | undefined {
  const repaired = WAYS.map((way) => new Repair(kind, value, way));
  if (!repaired.every((one) => one.isDone(faults))) return undefined;
  const [{ wrong, lacksName }] = repaired as [Repair, Repair];
  const values = repaired.map(({ value }) => value as object);
  return { values: wrong.size === 0 ? values.slice(0, 1) : values, wrong: [...wrong], lacksName };
}

class Repair {
  readonly value: unknown;
  readonly wrong = new Set<string>();
  lacksName = false;
  private readonly schema: Schema;

  constructor(
    private readonly kind: ArtifactKind,
    value: unknown,
    private readonly way: 0 | 1,
  ) {
    this.value = structuredClone(value);
    this.schema = new Schema(kind);
  }

  /** isDone repairs the value, and says whether it is a file of its kind now. */
  isDone(faults: readonly PointedFault[]): boolean {
    const validate = validatorOf(this.kind);
    this.mend(faults);
    for (let round = 0; round < MOST_ROUNDS; round++) {
      if (validate(this.value)) return true;
      if (!this.mend(pointedFaults(validate))) return false;
    }
    return false;
  }

  /** mend puts other values where faults are. @returns whether there was anything to mend */
  private mend(faults: readonly PointedFault[]): boolean {
    let isMended = false;
    for (const { path, pointer = path } of faults)
      if (pointer.startsWith('/')) isMended = this.replace(pointer, pointerSteps(pointer)) || isMended;
    return isMended;
  }

  private replace(pointer: string, steps: readonly string[]): boolean {
    const holder = valueAt(this.value, steps.slice(0, -1));
    const key = steps.at(-1);
    if (typeof holder !== 'object' || holder === null || key === undefined) return false;
    const part = this.schema.at(steps, this.value);
    const standIn = part === undefined ? undefined : this.schema.standIn(part, this.way);
    if (standIn === undefined) {
      if (Array.isArray(holder)) return false;
      return Reflect.deleteProperty(holder, key);
    }
    (holder as Record<string, unknown>)[key] = standIn;
    this.wrong.add(pointer);
    this.lacksName ||= namesIn(standIn, key);
    return true;
  }
}

/** namesIn says whether a value that stands in has a text that something else may refer to. */
function namesIn(value: unknown, key: string): boolean {
  if (typeof value === 'string') return !OUTER_KEYS.includes(key);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, part]) => namesIn(part, Array.isArray(value) ? key : name));
}

function valueAt(value: unknown, steps: readonly string[]): unknown {
  return steps.reduce<unknown>(
    (within, step) =>
      typeof within === 'object' && within !== null ? (within as Record<string, unknown>)[step] : undefined,
    value,
  );
}

/** Schema makes values by the schema of a kind. */
class Schema {
  private readonly whole: Part & { readonly definitions?: Readonly<Record<string, Part>> };

  constructor(kind: ArtifactKind) {
    this.whole = completeSchema(kind);
  }

  /** at gives the part of the schema for a place in a value. */
  at(steps: readonly string[], value: unknown): Part | undefined {
    let part: Part | undefined = this.whole;
    let within = value;
    for (const step of steps) {
      part = this.chosen(part, within);
      const { items, properties, additionalProperties: more } = part ?? {};
      const own = properties !== undefined && Object.hasOwn(properties, step) ? properties[step] : undefined;
      part = Array.isArray(within) ? items : (own ?? (typeof more === 'object' ? more : undefined));
      within = valueAt(within, [step]);
    }
    return part;
  }

  /** standIn makes a value that a part of the schema takes, in one of two ways. */
  standIn(given: Part, way: 0 | 1): unknown {
    const part = this.resolved(given);
    const { oneOf, const: one, enum: words, type } = part;
    if (oneOf !== undefined) return this.standIn(this.withoutFile(oneOf), way);
    if (one !== undefined) return one;
    if (words !== undefined) return words[Math.min(way, words.length - 1)];
    if (type === 'string') return textLike(part.pattern, way);
    if (type === 'number' || type === 'integer') return numberWithin(part, way);
    if (type === 'boolean') return way === 1;
    if (type === 'array')
      return Array.from({ length: part.minItems ?? 0 }, () => this.standIn(part.items ?? {}, way));
    return type === 'object' ? this.map(part, way) : undefined;
  }

  /** withoutFile chooses an alternative that names no file: where a file is missing, little else is reported. */
  private withoutFile(arms: readonly Part[]): Part {
    const namesNone = (arm: Part) => !this.resolved(arm).required?.some((key) => OUTER_KEYS.includes(key));
    return arms.find(namesNone) ?? itemAt(arms, 0);
  }

  private map(part: Part, way: 0 | 1): Record<string, unknown> {
    const { required = [], properties = {}, minProperties = 0, additionalProperties: more } = part;
    const isLacking = required.length < minProperties;
    const keys = new Set([
      ...required,
      ...(isLacking ? Object.keys(properties).slice(0, minProperties) : []),
    ]);
    const made = [...keys].map((key) => [key, this.standIn(properties[key] as Part, way)] as const);
    const own = made.length < minProperties && typeof more === 'object';
    return {
      ...Object.fromEntries(made),
      ...(own ? { [`stand-in-${way}`]: this.standIn(more, way) } : {}),
    };
  }

  private resolved(part: Part): Part {
    const [described] = part.allOf ?? [];
    if (described !== undefined) return this.resolved(described);
    if (part.$ref === undefined) return part;
    return this.resolved(this.whole.definitions?.[part.$ref.slice('#/definitions/'.length)] as Part);
  }

  /** chosen gives the alternative that a value is meant to be, where there are several. */
  private chosen(part: Part | undefined, data: unknown): Part | undefined {
    if (part === undefined) return undefined;
    const whole = this.resolved(part);
    if (whole.oneOf === undefined) return whole;
    const arms = whole.oneOf.map((arm) => this.resolved(arm));
    const chosen = chosenArm(arms, { data, path: '' });
    return 'arm' in chosen ? this.chosen(arms[chosen.arm], data) : undefined;
  }
}

/** textLike gives a text that a pattern takes: a name, a version, a time, or a short text. */
function textLike(pattern: string | undefined, way: 0 | 1): string | undefined {
  const texts = [`stand-in-${way}`, `1.${way}`, `${way + 1}0s`, `x${way}`];
  return texts.find((text) => pattern === undefined || new RegExp(pattern).test(text));
}

/** A number that stands in is near to the least, or far from it, by these shares of the range. */
const SHARES = [0.001, 0.5] as const;
const MOST_RANGE = 1000;

function numberWithin(part: Part, way: 0 | 1): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, type } = part;
  const from = minimum ?? exclusiveMinimum ?? 0;
  const to = Math.min(maximum ?? exclusiveMaximum ?? Number.POSITIVE_INFINITY, from + MOST_RANGE);
  const within = from + (to - from) * SHARES[way];
  return type === 'integer' ? Math.ceil(within) : within;
}
