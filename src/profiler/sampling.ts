import { itemAt } from '../collections/index.js';
import type { Pick } from '../onnx/index.js';
import { streamOf } from '../random/index.js';

const SEED = 1;
/** While another axis is longer, an axis that is thinned out keeps at least this many places. */
const LEAST_PLACES = 2;

/**
 * samplePicks chooses places along a tensor's axes that cross in at most `mostElements` elements. The places are spread
 * evenly over the whole tensor and shifted at random within their stretches, so that no regular pattern escapes them.
 * The longest axes are thinned out first, so that short ones (channels, heads) are seen whole. The list is empty where
 * the tensor is no larger. No axis is thinned out to fewer than two places, so that more elements may be left where
 * the kept axis is long. The same sizes give the same places.
 * @param whole the axis that must be kept whole: the one that grows with the batch
 */
export function samplePicks(
  dims: readonly number[],
  { mostElements, whole }: { readonly mostElements: number; readonly whole: number | undefined },
): Pick[] {
  const kept = [...dims];
  const elements = () => kept.reduce((product, count) => product * count, 1);
  while (elements() > mostElements) {
    const longest = longestAxis(kept, whole);
    if (longest === undefined) break;
    kept[longest] = Math.ceil(kept[longest]! / 2);
  }
  return kept.flatMap((count, axis) =>
    count === dims[axis] ? [] : [{ axis, indices: spread(itemAt(dims, axis), count, axis) }],
  );
}

function longestAxis(kept: readonly number[], whole: number | undefined): number | undefined {
  let longest: number | undefined;
  kept.forEach((count, axis) => {
    if (axis === whole || count <= LEAST_PLACES) return;
    if (longest === undefined || count > itemAt(kept, longest)) longest = axis;
  });
  return longest;
}

/** spread picks `count` places of `size`, one in each of as many equal stretches. */
function spread(size: number, count: number, axis: number): number[] {
  const stream = streamOf(SEED, `places along axis ${axis} of ${size}`);
  const stretch = size / count;
  return Array.from({ length: count }, (_, i) => {
    const place = Math.floor((i + stream.uniform()) * stretch);
    return Math.min(size - 1, place);
  });
}
