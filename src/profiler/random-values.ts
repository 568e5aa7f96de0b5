import { type OnnxModel, randomNodes } from '../onnx/index.js';
import type { Batching } from './types.js';

/** randomBatching says that a tensor's values cannot be compared, because they are random. */
export function randomBatching(model: OnnxModel): Batching {
  const [node] = randomNodes(model);
  const by = node === undefined ? '' : `, drawn by ${node.op} ${node.name}`;
  const why = `its values are random${by}: they differ between two runs of one request, so two requests at once cannot be compared`;
  return { kind: 'mixed', why };
}

/** randomNote warns of a model that draws random numbers; undefined for others. A Dropout in inference draws none. */
export function randomNote(model: OnnxModel): string | undefined {
  const [node] = randomNodes(model).filter(({ op }) => op !== 'Dropout');
  if (node === undefined) return undefined;
  return `the model draws random numbers (${node.op} ${node.name}): two runs of one request differ, so a reported difference of its outputs may be chance`;
}
