/**
 * unconfirmedIn lists the JSON pointers of what only the search for a plan knows: its notes, also where it has none, and those of
 * the named fields that the plan has.
 * @param named a key `*` stands for every entry of a list or an object
 */
export function unconfirmedIn(plan: object, named: readonly string[]): string[] {
  return ['/notes', ...named.flatMap((pointer) => expanded(plan, pointer.split('/').slice(1), ''))];
}

function expanded(value: unknown, [key, ...rest]: readonly string[], at: string): string[] {
  if (key === undefined) return value === undefined ? [] : [at];
  if (typeof value !== 'object' || value === null) return [];
  const keys = key === '*' ? Object.keys(value) : [key];
  return keys.flatMap((one) => expanded((value as Record<string, unknown>)[one], rest, `${at}/${one}`));
}
