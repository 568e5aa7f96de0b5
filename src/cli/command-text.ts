/** Arguments as a person gives them to `plan` in a shell: what a shell would take apart is quoted. */
export function commandText(args: readonly string[]): string {
  return ['plan', ...args.map(quoted)].join(' ');
}

function quoted(argument: string): string {
  if (/^[\w%+,./:=@-]+$/.test(argument)) return argument;
  return `'${argument.replaceAll("'", `'\\''`)}'`;
}
