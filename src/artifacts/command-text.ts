/** commandText writes arguments as a person gives them to `plan` in a shell, quoted where the shell needs it. */
export function commandText(args: readonly string[]): string {
  return ['plan', ...args.map(quoted)].join(' ');
}

function quoted(argument: string): string {
  if (/^[\w%+,./:=@-]+$/.test(argument)) return argument;
  return `'${argument.replaceAll("'", `'\\''`)}'`;
}
