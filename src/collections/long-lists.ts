/**
 * largestOf gives the largest of some numbers. As an argument of Math.max, a list of more than some 100,000 would
 * exceed the stack.
 * @returns -Infinity where there are none, NaN where one is
 */
export function largestOf(values: Iterable<number>): number {
  let largest = Number.NEGATIVE_INFINITY;
  for (const value of values) largest = Math.max(largest, value);
  return largest;
}

/** smallestOf gives the smallest of some numbers: Infinity where there are none, NaN where one is. */
export function smallestOf(values: Iterable<number>): number {
  let smallest = Number.POSITIVE_INFINITY;
  for (const value of values) smallest = Math.min(smallest, value);
  return smallest;
}

/** pushAll adds values to the end of a list, however many. */
export function pushAll<T>(list: T[], more: Iterable<T>): void {
  for (const value of more) list.push(value);
}
