const MOST_NAMED = 12;

/** listed writes names for a person: the first ones, and how many more there are. */
export function listed(names: readonly (string | number)[]): string {
  if (names.length === 0) return 'none';
  const more = names.length - MOST_NAMED;
  return more <= 0 ? names.join(', ') : `${names.slice(0, MOST_NAMED).join(', ')} and ${more} more`;
}
