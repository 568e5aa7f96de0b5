/**
 * commandText writes arguments as a person gives them to `plan` in a shell, quoted where the shell needs it.
 * A file whose name begins with a dash is distinguished from an option by `./` before it.
 */
export function commandText(args: readonly string[]): string {
  return shellText(['plan', ...args.map((one) => (isDashed(one) ? `./${one}` : one))]);
}

/** shellText writes a command and its arguments as a shell takes them. */
export function shellText(words: readonly string[]): string {
  return words.map(quoted).join(' ');
}

/** isDashed says whether an argument begins as an option does and is none: those have a letter, or two dashes and words. */
function isDashed(argument: string): boolean {
  return argument.startsWith('-') && !/^(?:-|--?[a-zA-Z]|--[a-z][a-z-]+)$/.test(argument);
}

function quoted(argument: string): string {
  if (/^[\w%+,./:=@-]+$/.test(argument)) return argument;
  return `'${argument.replaceAll("'", `'\\''`)}'`;
}
