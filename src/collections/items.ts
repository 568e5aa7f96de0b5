/**
 * itemAt reads one item of a list, at a place that the caller knows to be inside it. Loops over many numbers index
 * the list itself, which costs less.
 * @throws RangeError where the list has no item at that place
 */
export function itemAt<T>(list: ArrayLike<T>, place: number): T {
  const item = list[place];
  if (item === undefined) throw new RangeError(`a list of ${list.length} has no item at ${place}`);
  return item;
}

/**
 * lastOf reads the last item of a list that the caller knows to have one.
 * @throws RangeError where the list is empty
 */
export function lastOf<T>(list: ArrayLike<T>): T {
  return itemAt(list, list.length - 1);
}

/**
 * valueFor reads what a map holds for a key that the caller has put there.
 * @throws RangeError where the map has no such key
 */
export function valueFor<K, V>(map: ReadonlyMap<K, V>, key: K): V {
  const value = map.get(key);
  if (value === undefined) throw new RangeError(`a map of ${map.size} has no value for ${String(key)}`);
  return value;
}
