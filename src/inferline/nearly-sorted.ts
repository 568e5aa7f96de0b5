/** ListPart is the part of a list from `from` on and before `until`. */
export interface ListPart {
  readonly from: number;
  readonly until: number;
}

/**
 * addNearlySorted adds one to a part of a list that is sorted by keys, behind all whose keys are no larger. It is fast where
 * few keys in the list are larger.
 */
export function addNearlySorted(
  list: Int32Array,
  keys: Float64Array,
  { from, until, one }: ListPart & { readonly one: number },
): void {
  const key = keys[one] as number;
  let at = until;
  while (at > from && (keys[list[at - 1] as number] as number) > key) {
    list[at] = list[at - 1] as number;
    at--;
  }
  list[at] = one;
}

/** mergeSorted merges the sorted beginning of a list, which ends at `from`, with the sorted part after it. */
export function mergeSorted(
  list: Int32Array,
  keys: Float64Array,
  { from, until, spare }: ListPart & { readonly spare: Int32Array },
): void {
  spare.set(list.subarray(0, from));
  let left = 0;
  let right = from;
  for (let at = 0; left < from; at++) {
    const key = keys[spare[left] as number] as number;
    if (right < until && (keys[list[right] as number] as number) < key) list[at] = list[right++] as number;
    else list[at] = spare[left++] as number;
  }
}
