import type { Pick } from '../onnx/index.js';
import { streamOf } from '../random/index.js';

const SEED = 1;
/** Of an axis that is thinned out, this many places are kept while another axis is longer. */
const LEAST_PLACES = 2;

/**
 * Places along a tensor's axes whose crossings are at most so many elements, spread evenly over the whole tensor and shifted
 * at random within their stretches, so that no regular pattern hides between them. The longest axes are thinned out first,
 * so that short ones (channels, heads) are seen whole. Empty where the tensor is no larger.
 * @param whole the axis that must be kept as it is: the one that grows with the batch
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
    count === dims[axis] ? [] : [{ axis, indices: spread(dims[axis]!, count, axis) }],
  );
}

function longestAxis(kept: readonly number[], whole: number | undefined): number | undefined {
  let longest: number | undefined;
  kept.forEach((count, axis) => {
    if (axis === whole || count <= LEAST_PLACES) return;
    if (longest === undefined || count > kept[longest]!) longest = axis;
  });
  return longest;
}

/** `count` places of `size`, one in each of as many equal stretches. */
function spread(size: number, count: number, axis: number): number[] {
  const stream = streamOf(SEED, `places along axis ${axis} of ${size}`);
  const stretch = size / count;
  return Array.from({ length: count }, (_, i) => {
    const place = Math.floor((i + stream.uniform()) * stretch);
    return Math.min(size - 1, place);
  });
}
