const MOST_NAMED = 12;

/** counted writes a number with its noun, in the plural where it is not one: `1 plan`, `3 plans`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** listed writes names for a person: the first ones, and how many more there are. */
export function listed(names: readonly (string | number)[]): string {
  if (names.length === 0) return 'none';
  const more = names.length - MOST_NAMED;
  return more <= 0 ? names.join(', ') : `${names.slice(0, MOST_NAMED).join(', ')} and ${more} more`;
}
