/**
 * A photo is classified. Where the classifier is not sure, an expert is asked, and the photo is enlarged and classified once more, round
 * by round, until the classifier is sure, or for `MOST_ROUNDS` rounds: a branch and a loop over models that others made.
 *
 * Photos are 224 × 224. `classifier` takes one as `input` and gives `output`, a score for each of 1,000 classes. `prepare` takes a `photo`
 * and gives its `luma`, a `thumbnail` of 32 × 32, and the photo `padded` to 416 × 416. `kind` takes the thumbnail as `input.1` and gives
 * `876`, scores of 10 kinds: those at even places are scenes. `finder` takes the padded photo as `images` and gives `output`, what it finds
 * where. `namer` takes the photo as `image` and gives `logits`. `enlarge` takes a luma as `input` and gives `output`, three times as wide
 * and high. `again` takes what was `enlarged` and gives its `luma` and its `photo` in the size of before.
 *
 * A photo of which the classifier is sure at once gets `scores` and `rounds` alone.
 */

const SURE = 10.1;
const MOST_ROUNDS = 3;

export const inputs = [{ name: 'photo', datatype: 'FP32', shape: [-1, 3, 224, 224] }];
export const outputs = [
  { name: 'scores', datatype: 'FP32', shape: [-1, 1000] },
  { name: 'rounds', datatype: 'INT32', shape: [-1, 1] },
  { name: 'found', datatype: 'FP32', shape: [-1, 3549, 85] },
  { name: 'opinion', datatype: 'FP32', shape: [-1, 1000] },
  { name: 'enlarged', datatype: 'FP32', shape: [-1, 1, 672, 672] },
];

/** @type {import('inferplan/program').Program} */
export default async function photos(request, { call }) {
  const photo = request.in('photo');
  let classified = call('classifier', { input: photo });
  if (await isSure(classified)) return { scores: classified.out('output'), rounds: roundsOf(0) };

  const prepared = call('prepare', { photo });
  const kind = call('kind', { 'input.1': prepared.out('thumbnail') });
  // The first round begins before the kind is known.
  let enlarged = call('enlarge', { input: prepared.out('luma') });
  const { data: kinds } = await kind.read('876', 'FP32');
  const isScene = kinds.indexOf(Math.max(...kinds)) % 2 === 0;
  const expert = isScene
    ? { found: call('finder', { images: prepared.out('padded') }).out('output') }
    : { opinion: call('namer', { image: photo }).out('logits') };

  for (let round = 1; ; round++) {
    const next = call('again', { enlarged: enlarged.out('output') });
    classified = call('classifier', { input: next.out('photo') });
    if (round === MOST_ROUNDS || (await isSure(classified)))
      return {
        ...expert,
        scores: classified.out('output'),
        rounds: roundsOf(round),
        enlarged: enlarged.out('output'),
      };
    enlarged = call('enlarge', { input: next.out('luma') });
  }
}

/** @param {import('inferplan/program').TaskHandle} classified */
async function isSure(classified) {
  return Math.max(...(await classified.read('output', 'FP32')).data) >= SURE;
}

/** @param {number} rounds */
function roundsOf(rounds) {
  return /** @type {const} */ ({ datatype: 'INT32', shape: [1, 1], data: Int32Array.of(rounds) });
}
