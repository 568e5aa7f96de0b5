import { type Argument, type Command, InvalidArgumentError, type Option } from 'commander';
import type { Fault, InputError } from '../formats/index.js';
import { isRepeatable } from './options.js';

/** Found is a fault of arguments; where a word is wrong, it is `wrong`, in place of one of the `known`. */
interface Found extends Fault {
  readonly wrong?: string;
  readonly known?: readonly string[];
}

/** UsageError reports arguments that a command cannot take: what is wrong with each of them. */
export class UsageError extends Error {
  constructor(
    readonly command: Command,
    readonly found: readonly Found[],
  ) {
    super('arguments that are not valid');
  }
}

/** usageRefusal makes of a UsageError what a person is told, and programs read: every fault, and the command to ask. */
export async function usageRefusal({ command, found }: UsageError): Promise<InputError> {
  const { didYouMean, InputError } = await import('../formats/index.js');
  const faults = found.map(({ path, message, wrong, known }) => ({
    path,
    message: `${message}${wrong === undefined ? '' : didYouMean(wrong, known ?? [])}`,
  }));
  const named = calledName(command);
  const advice = hasAction(command)
    ? `${named} --help lists its arguments and options.`
    : `${named} --help lists its commands.`;
  return new InputError(`run ${named}`, faults, advice);
}

/** Codes of commander. Its own messages name the first fault of each kind alone. */
const ARGUMENTS = ['commander.unknownOption', 'commander.missingArgument', 'commander.excessArguments'];

/**
 * hearUsage lets a command line be read to its end where commander would stop at the first fault, and throws a UsageError
 * with all faults before the action of the command would begin.
 */
export function hearUsage(program: Command): void {
  const found: Found[] = [];
  for (const command of [program, ...everyCommand(program)]) {
    const tell = (one: Found): void => {
      found.push(one);
    };
    hearOptions(command, tell);
    for (const argument of command.registeredArguments)
      parseOn(argument, (text, fault) => {
        if (!isFlagLike(text)) tell({ path: argument.name(), ...fault });
      });
    let isCounted = false;
    const hear = (message: string, { code }: { code?: string } = {}): void => {
      if (ARGUMENTS.includes(code ?? '')) {
        const faults = argumentFaults(command, code === 'commander.unknownOption');
        if (!isCounted) for (const one of faults.length > 0 ? faults : [named(command, message)]) tell(one);
        isCounted = true;
      } else tell(code === 'commander.unknownCommand' ? unknownCommand(command) : named(command, message));
      if (!hasAction(command)) throw new UsageError(command, found);
    };
    command.error = hear as Command['error'];
  }
  program.hook('preAction', (_, command) => {
    if (found.length > 0) throw new UsageError(command, found);
  });
}

/** everyCommand lists the commands below one. */
export function everyCommand(command: Command): Command[] {
  return command.commands.flatMap((sub) => [sub, ...everyCommand(sub)]);
}

/** hearOptions tells what is wrong with the values of a command's options, and which have two or none. */
function hearOptions(command: Command, tell: (one: Found) => void): void {
  for (const option of command.options) {
    const path = option.long ?? option.flags;
    const isOnce = !(option.variadic || isRepeatable(option));
    const isFlag = (text: unknown) => command.options.some(({ long }) => text === long);
    parseOn(option, (text, fault) => {
      if (!isFlag(text)) tell({ path, ...fault });
    });
    if (!(option.required || option.optional)) continue;
    const given: unknown[] = [];
    command.on(`option:${option.name()}`, (value: unknown) => {
      if (isFlag(value)) tell({ path, message: `lacks ${valueText(option)} before ${value}` });
      const long = `-${option.short}${value}`.replace(/=.*$/s, '');
      if (isFlag(long)) tell({ path: long.slice(1), message: `${long} is written with two dashes` });
      given.push(value);
      if (given.length > 1 && isOnce)
        tell({ path, message: `is given twice, as ${given.map(quoted).join(' and ')}: give it once` });
    });
  }
}

/** parseOn lets what parses a value tell what is wrong with it, and then go on. */
function parseOn(one: Option | Argument, tell: (text: string, fault: Omit<Found, 'path'>) => void): void {
  const { parseArg, argChoices: known } = one;
  if (parseArg === undefined) return;
  one.parseArg = (text, before) => {
    if (text === undefined) return before;
    try {
      return parseArg(text, before);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      if (known === undefined) tell(text, { message: error.message.replace(/\.$/, '') });
      else tell(text, { message: `${quoted(text)} is none of ${known.join(', ')}`, wrong: text, known });
      return before;
    }
  };
}

/** named puts a message of commander about an option at that option. */
function named(command: Command, message: string): Found {
  const told = message.replace(/^error: /, '');
  const option = command.options.find(({ flags }) => told.includes(`option '${flags}'`));
  if (option === undefined) return { path: '', message: told };
  const path = option.long ?? option.flags;
  return {
    path,
    message: option.mandatory ? `is required: ${option.description}` : `lacks ${valueText(option)}`,
  };
}

/** valueText names the value of an option as its help does. */
function valueText({ flags }: Option): string {
  return `its value ${/[<[].*$/.exec(flags)?.[0] ?? ''}`.trim();
}

/** argumentFaults compares the arguments of a command, without those that options have taken, with what it takes. */
function argumentFaults(command: Command, isUnknown: boolean): Found[] {
  const { args, registeredArguments: wanted } = command;
  const end = args.indexOf('--');
  const flags = isUnknown ? args.slice(0, end === -1 ? undefined : end).filter(isFlagLike) : [];
  const words = args.filter((arg) => !flags.includes(arg) && arg !== '--');
  const missing = wanted.filter(({ required }, i) => required && i >= words.length);
  // What follows an unknown option of a group may belong to the command that it was given before.
  const told = hasAction(command) ? flags : flags.slice(0, 1);
  const found = [
    ...told.map((flag) => unknownOption(command, flag)),
    ...missing.map((one) => ({
      path: '',
      message: `missing required argument '${one.name()}': ${one.description}${choicesText(one)}`,
    })),
  ];
  // A word behind an unknown option may be its value.
  const isOver = words.length > wanted.length && wanted.at(-1)?.variadic !== true;
  return isOver && flags.length === 0 ? [...found, tooMany(command, words)] : found;
}

function choicesText({ argChoices }: Argument): string {
  return argChoices === undefined ? '' : `, one of ${argChoices.join(', ')}`;
}

function tooMany(command: Command, words: readonly string[]): Found {
  const taken = command.registeredArguments;
  const over = words.slice(taken.length).map(quoted).join(', ');
  const takes =
    taken.length === 0 ? 'no argument' : `only ${taken.map((one) => `<${one.name()}>`).join(' ')}`;
  return { path: '', message: `too many arguments: ${over}; ${calledName(command)} takes ${takes}` };
}

function unknownOption(command: Command, given: string): Found {
  const flag = given.replace(/=.*$/s, '');
  if (command.options.some(({ long }) => long === flag))
    return { path: flag, message: `takes no value, and is given ${quoted(given.slice(flag.length + 1))}` };
  const message = `unknown option '${flag}'`;
  if (!hasAction(command))
    return { path: '', message: `${message}; the options of a command are given after its name` };
  const others = everyCommand(rootOf(command)).filter(
    (one) => one !== command && one.options.some(({ long, short }) => long === flag || short === flag),
  );
  if (others.length > 0 && others.length <= MOST_OTHERS)
    return { path: '', message: `${message}, which belongs to ${others.map(calledName).join(', ')}` };
  const known = [...command.options.flatMap(({ long }) => long ?? []), '--help'];
  return { path: '', message, wrong: flag, known };
}

/** An option that more commands have says nothing about what was meant. */
const MOST_OTHERS = 3;

function unknownCommand(group: Command): Found {
  const [wrong = ''] = group.args;
  const known = group.commands.map((command) => command.name());
  return { path: '', message: `unknown command '${wrong}'; commands are ${known.join(', ')}`, wrong, known };
}

function hasAction(command: Command): boolean {
  return command.commands.length === 0 || command.registeredArguments.length > 0;
}

/** isFlagLike returns whether a text stands where an option may, and is no negative number. */
function isFlagLike(text: string): boolean {
  return /^-./.test(text) && !/^-(\d+|\d*\.\d+)(e[+-]?\d+)?$/.test(text);
}

function rootOf(command: Command): Command {
  return command.parent === null ? command : rootOf(command.parent);
}

/** calledName names a command as it is typed: `plan trace convert`. */
function calledName(command: Command): string {
  return command.parent === null ? command.name() : `${calledName(command.parent)} ${command.name()}`;
}

function quoted(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing';
}
