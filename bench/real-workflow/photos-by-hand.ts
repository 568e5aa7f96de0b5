import { InferenceSession, Tensor } from 'onnxruntime-node';
import type { Tensors } from '../../src/execution/index.js';
import { PHOTO_SIZE } from './photo-models.js';

/** The same limits as in the program, written once more. */
const SURE = 10.1;
const ROUNDS = 3;
/** Warnings of ONNX Runtime say nothing that a reader could change. */
const LOG_ERRORS = 3;

/** HandModels are sessions of ONNX Runtime, by the names of components. */
export type HandModels = Readonly<Record<string, InferenceSession>>;

/** openByHand opens the model of each component with ONNX Runtime alone, on one thread. */
export async function openByHand(
  names: readonly string[],
  pathOf: (name: string) => string,
): Promise<HandModels> {
  const options = { intraOpNumThreads: 1, logSeverityLevel: LOG_ERRORS } as const;
  const opened: Record<string, InferenceSession> = {};
  for (const name of names) opened[name] = await InferenceSession.create(pathOf(name), options);
  return opened;
}

/** photoByHand runs the models on a photo one after another, and gives what a client of the workflow is to get. */
export async function photoByHand(models: HandModels, photo: Float32Array): Promise<Tensors> {
  const run = async (name: string, feeds: Record<string, Tensor>) => models[name]!.run(feeds);
  let image = new Tensor('float32', photo, [1, 3, PHOTO_SIZE, PHOTO_SIZE]);
  const given: Record<string, Tensor> = {};
  const fitted = await run('prepare', { photo: image });
  let grey = fitted.luma!;
  const bests: number[] = [];
  for (;;) {
    const { output: scores } = await run('classifier', { input: image });
    given.scores = scores!;
    bests.push(largest(scores!).value);
    if (bests.at(-1)! >= SURE || bests.length > ROUNDS) break;
    const large = (await run('enlarge', { input: grey })).output!;
    given.enlarged = large;
    const smaller = await run('again', { enlarged: large });
    grey = smaller.luma!;
    image = smaller.photo as typeof image;
  }
  given.rounds = new Tensor('int32', [bests.length - 1], [1, 1]);
  if (bests.length > 1) {
    const kind = largest((await run('kind', { 'input.1': fitted.thumbnail! }))['876']!).place;
    if (kind % 2 === 0) given.found = (await run('finder', { images: fitted.padded! })).output!;
    else
      given.opinion = (
        await run('namer', { image: new Tensor('float32', photo, [1, 3, PHOTO_SIZE, PHOTO_SIZE]) })
      ).logits!;
  }
  return Object.fromEntries(
    Object.entries(given).map(([name, { type, dims, data }]) => [
      name,
      { dtype: type, dims, data } as Tensors[string],
    ]),
  );
}

function largest({ data }: Tensor): { readonly value: number; readonly place: number } {
  let [value, place] = [Number.NEGATIVE_INFINITY, -1];
  for (const [i, one] of (data as Float32Array).entries()) if (one > value) [value, place] = [one, i];
  return { value, place };
}
