/**
 * nthSmallest finds the value that has exactly `place` values before it when the first `count` values are sorted. It moves
 * the values about, and takes linear time in the mean: Hoare's selection, with the median of three as the pivot.
 * @param place from 0 to before `count`, which is not checked
 */
export function nthSmallest(values: Float64Array, count: number, place: number): number {
  let from = 0;
  let to = count - 1;
  while (from < to) {
    const pivot = medianOfThree(values, from, to);
    let left = from;
    let right = to;
    while (left <= right) {
      while ((values[left] as number) < pivot) left++;
      while ((values[right] as number) > pivot) right--;
      if (left > right) break;
      const kept = values[left] as number;
      values[left++] = values[right] as number;
      values[right--] = kept;
    }
    if (place <= right) to = right;
    else if (place >= left) from = left;
    else break;
  }
  return values[place] as number;
}

function medianOfThree(values: Float64Array, from: number, to: number): number {
  const a = values[from] as number;
  const b = values[(from + to) >> 1] as number;
  const c = values[to] as number;
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
