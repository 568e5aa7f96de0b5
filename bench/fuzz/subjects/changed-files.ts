import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { loadArtifact } from '../../../src/artifacts/index.js';
import { InputError } from '../../../src/formats/index.js';
import type { Dice } from '../../seeded/dice.js';
import type { CaseResult } from '../../seeded/every-case.js';
import { jsonOf, type Mutated, mutateJson } from '../mutate-json.js';
import { mutateText } from '../mutate-text.js';
import { RAW } from '../odd-values.js';
import { faultsOf, plan } from '../program.js';
import { Cost, changesOf, pictureOf } from '../watch.js';

/** Command is one that reads the changed file. */
export interface Command {
  readonly args: readonly string[];
  /** The share of cases in which it is run, since some commands start threads. */
  readonly share: number;
  /** The file that the command needs: where `plan validate` refuses it, so must the command. */
  readonly needs?: string;
}

/** Kind is a kind of file, with its place and the commands that read it. */
export interface Kind {
  readonly kind: Parameters<typeof loadArtifact>[1][number];
  readonly file: string;
  readonly commands: readonly Command[];
}

/** OUT is the folder that the commands write to. */
export const OUT = 'out';

/** Reading more takes longer than a case may: deep nesting that is repeated grows to hundreds of megabytes. */
const MOST_BYTES = 1024 * 1024;

/** changedFile gives a file with changed values, or with changed text, cut where it is very long. */
function changedFile(dice: Dice, text: string, isYaml: boolean): Mutated<Buffer> {
  const { value, what } = changedContent(dice, text, isYaml);
  return { value: value.subarray(0, MOST_BYTES), what };
}

function changedContent(dice: Dice, text: string, isYaml: boolean): Mutated<Buffer> {
  if (dice.chance(0.2)) return mutateText(dice, text);
  const { value, what } = mutateJson(dice, isYaml ? parse(text) : JSON.parse(text));
  const written = isYaml && dice.chance(0.5) ? yamlOf(value) : jsonOf(value);
  if (dice.chance(0.9)) return { value: Buffer.from(written), what };
  const again = mutateText(dice, written);
  return { value: again.value, what: `${what}; ${again.what}` };
}

function yamlOf(value: unknown): string {
  try {
    return stringify(value, { aliasDuplicateObjects: false }).replaceAll(
      new RegExp(
        `"?${JSON.stringify(RAW).slice(1, -1).replace('\\u0001', '(\\\\u0001|\\\\x01|\u0001)')}([^"\n]*)"?`,
        'g',
      ),
      '$2',
    );
  } catch {
    return jsonOf(value);
  }
}

/** oneFile changes a file of one of the kinds, and tries `plan validate` and the commands that read it. */
export async function oneFile(dice: Dice, folder: string, kinds: readonly Kind[]): Promise<CaseResult> {
  const { kind, file, commands } = dice.pick(kinds);
  const path = join(folder, file);
  const { value, what } = changedFile(dice, readFileSync(path, 'utf8'), file.endsWith('.yaml'));
  writeFileSync(path, value);
  mkdirSync(join(folder, OUT));
  const before = pictureOf(folder);
  const cost = new Cost();
  const json = dice.chance(0.2) ? ['--json'] : [];
  const named = kind === 'cluster' ? [file, 'spec.yaml'] : kind === 'profile' ? [file, 'spec.yaml'] : [file];
  const validated = await plan(['validate', ...named, ...json], folder);
  const given = value.toString();
  const faults = faultsOf(validated, given);
  const loads = await canLoad(path, kind, faults);
  if (!loads && validated.code === 0) faults.push(`plan validate takes ${file}, which cannot be loaded`);
  const tried = commands.filter(({ share }) => dice.chance(share));
  for (const command of tried) faults.push(...(await commandFaults(dice, { command, folder, given, loads })));
  const searches = tried.filter(({ args }) => args[0] === 'solve' || args[0] === 'simulate').length;
  faults.push(...cost.faults(value.length, searches), ...changesOf(before, pictureOf(folder), [OUT]));
  return {
    what: `${file}: ${what}`,
    outcome: `${validated.code === 0 ? 'accepted' : 'refused'} ${kind}`,
    faults,
  };
}

interface CommandCase {
  readonly command: Command;
  readonly folder: string;
  /** The changed file. */
  readonly given: string;
  /** Whether the changed file can be loaded. */
  readonly loads: boolean;
}

/** commandFaults runs a command, which must refuse what `plan validate` refuses. */
async function commandFaults(
  dice: Dice,
  { command: { args, needs }, folder, given, loads }: CommandCase,
): Promise<string[]> {
  const ran = await plan([...args, ...(dice.chance(0.2) ? ['--json'] : [])], folder);
  const faults = faultsOf(ran, given);
  if (ran.code !== 0 && ran.code !== 4) return faults;
  if (!loads) faults.push(`plan ${args.join(' ')} takes what cannot be loaded`);
  if (needs === undefined) return faults;
  const { code, stderr } = await plan(['validate', needs], folder);
  if (code !== 0) faults.push(`plan ${args.join(' ')} takes what plan validate refuses: ${stderr}`);
  return faults;
}

async function canLoad(path: string, kind: Kind['kind'], faults: string[]): Promise<boolean> {
  try {
    await loadArtifact(path, [kind]);
    return true;
  } catch (error) {
    if (!(error instanceof InputError)) faults.push(`loading threw ${(error as Error).stack}`);
    return false;
  }
}
