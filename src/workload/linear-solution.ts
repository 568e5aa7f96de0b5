/**
 * linearSolution solves a system of linear equations by Gaussian elimination with partial pivoting. It costs O(n³).
 * @param rows the matrix by rows, which it changes; it must be regular
 * @param right the right side, which it changes into the solution
 */
export function linearSolution(rows: Float64Array[], right: Float64Array): Float64Array {
  const n = right.length;
  for (let column = 0; column < n; column++) {
    swap(rows, right, [column, pivotOf(rows, column)]);
    const pivot = rows[column] as Float64Array;
    for (let r = column + 1; r < n; r++) {
      const row = rows[r] as Float64Array;
      const factor = (row[column] as number) / (pivot[column] as number);
      if (factor === 0) continue;
      for (let c = column; c < n; c++) row[c]! -= factor * (pivot[c] as number);
      right[r]! -= factor * (right[column] as number);
    }
  }
  for (let r = n - 1; r >= 0; r--) {
    const row = rows[r] as Float64Array;
    for (let c = r + 1; c < n; c++) right[r]! -= (row[c] as number) * (right[c] as number);
    right[r]! /= row[r] as number;
  }
  return right;
}

function pivotOf(rows: readonly Float64Array[], column: number): number {
  const size = (r: number): number => Math.abs((rows[r] as Float64Array)[column] as number);
  let best = column;
  for (let r = column + 1; r < rows.length; r++) if (size(r) > size(best)) best = r;
  return best;
}

function swap(rows: Float64Array[], right: Float64Array, [a, b]: readonly [number, number]): void {
  [rows[a], rows[b]] = [rows[b] as Float64Array, rows[a] as Float64Array];
  [right[a], right[b]] = [right[b] as number, right[a] as number];
}
