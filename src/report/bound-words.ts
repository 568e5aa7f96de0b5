import { decimals, figure, percent } from './table.js';

/** Bounded is a figure with the bound that is proved of it. */
interface Bounded {
  readonly value: number;
  readonly bound: number;
  /** By default what the larger of both is more than the smaller; null where none is known. */
  readonly gap?: number | null | undefined;
  /**
   * isShare says whether the figure is a share itself, whose distance in percentage points is then written
   * beside the gap.
   */
  readonly isShare?: boolean;
}

/**
 * boundWords says how near a figure is to the bound that is proved, in the same way of every plan: `bound
 * 102, gap 2.00 %`. The gap is the share by which the larger of figure and bound exceeds the smaller. Of a
 * figure that is a share, the distance is written in points too, as the gap could be taken for it: `bound
 * 60.00 %, 10.00 points apart, gap 20.00 %`.
 */
export function boundWords(
  { value, bound, gap = gapOf(value, bound), isShare = false }: Bounded,
  written: (value: number) => string = figure,
): string {
  const points =
    isShare && value !== bound ? `, ${decimals(100 * Math.abs(bound - value), 2)} points apart` : '';
  return `bound ${written(bound)}${points}, gap ${gap === null ? 'unknown' : percent(gap, 2)}${gap === 0 ? ': optimal' : ''}`;
}

function gapOf(value: number, bound: number): number | null {
  const [less, more] = [Math.min(value, bound), Math.max(value, bound)];
  if (more === less) return 0;
  return less > 0 ? more / less - 1 : null;
}
