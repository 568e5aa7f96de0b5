/** counted writes a number with its noun, in the plural where it is not one: `1 plan`, `3 plans`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
