import { readdirSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { type Bound, LISTS, OPTIONS } from '../../../bench/grow/bounds.js';
import { GROWERS } from '../../../bench/grow/growers.js';
import { buildProgram } from '../../../src/cli/program.js';

const SCHEMAS = new URL('../../../schemas/', import.meta.url);
const PAGE = readFileSync(new URL('../../../docs/limits.md', import.meta.url), 'utf8');

/** listsOf finds the places of lists, and of maps whose keys are free, in a schema. */
function listsOf(schema: unknown, place = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { type, items, additionalProperties, patternProperties } = schema as Record<string, unknown>;
  const isList = [type].flat().includes('array') || items !== undefined;
  const isMap = patternProperties !== undefined || typeof additionalProperties === 'object';
  const below = Object.entries(schema).flatMap(([key, value]) => listsOf(value, `${place}/${key}`));
  return !Array.isArray(schema) && (isList || isMap) ? [place, ...below] : below;
}

/** What is asked for in these words is a text without a number, or a file, whose content has limits of its own. */
const TEXTS =
  /<(file|files\.\.\.|folder|name|names|address|class|scheduler|line|name=file|kind|method|how|what|process|format|target)>/;

function numericOptions(
  command: Command,
  path: readonly string[] = [],
): Map<string, (text: string) => unknown> {
  const own = command.options.flatMap((option) => {
    if (!(option.required || option.optional) || option.argChoices !== undefined || TEXTS.test(option.flags))
      return [];
    const parse = (text: string) => (option.parseArg ?? String)(text, undefined as never);
    return [[[...path, option.long].join(' '), parse] as const];
  });
  const below = command.commands.flatMap((one) => [...numericOptions(one, [...path, one.name()])]);
  return new Map([...own, ...below]);
}

/** wrongIn says what is wrong with a bound; undefined where it holds. */
function wrongIn(bound: Bound, parse?: (text: string) => unknown): string | undefined {
  if ('grower' in bound) return bound.grower in GROWERS ? undefined : `no grower ${bound.grower}`;
  if ('limit' in bound)
    return PAGE.includes(`\n| ${bound.limit} |`) ? undefined : `docs/limits.md has no row "${bound.limit}"`;
  if ('reason' in bound) return /^[A-Z].*\.$/.test(bound.reason) ? undefined : 'the reason is no sentence';
  if (parse === undefined) return 'only options are parsed';
  const larger = String(10 * Number(bound.parsedTo));
  const isTaken = [larger, `name=${larger}`].some((text) => {
    try {
      parse(text);
      return true;
    } catch {
      return false;
    }
  });
  return isTaken ? `ten times ${bound.parsedTo} is taken` : undefined;
}

const SCHEMA_LISTS = readdirSync(SCHEMAS).map((file) => {
  const kind = file.replace('.schema.json', '') as keyof typeof LISTS;
  return [kind, listsOf(JSON.parse(readFileSync(new URL(file, SCHEMAS), 'utf8')))] as const;
});

describe('every list and number of a user', () => {
  it.each(SCHEMA_LISTS)(
    'has a grower, a limit that is named, or a reason, where it is a list of a %s',
    (kind, lists) => {
      expect(Object.keys(LISTS[kind]).sort()).toEqual([...lists].sort());
      for (const [place, bound] of Object.entries(LISTS[kind]))
        expect([place, wrongIn(bound)]).toEqual([place, undefined]);
    },
  );

  const options = numericOptions(buildProgram());
  it('has a grower, a limit that is named, or a reason, where it is an option', () => {
    expect(Object.keys(OPTIONS).sort()).toEqual([...options.keys()].sort());
  });

  it.each([...options])('keeps to what is said of it: %s', (name, parse) => {
    expect(wrongIn(OPTIONS[name] as Bound, parse)).toBeUndefined();
  });
});
