import { counted } from '../formats/index.js';
import { type TensorFault, tensorFaultText } from '../onnx/index.js';
import type { PreparedLayers } from './types.js';

/** This many reasons are reported. */
const MOST_REASONS = 3;

/**
 * missingCuts says which tensors take the most places to cut from a model, where they are made and last used, and what
 * would help. It gives undefined where no place is missing.
 */
export function missingCuts({ cutFaults }: Pick<PreparedLayers, 'cutFaults'>): string | undefined {
  const faults = cutFaults.flatMap((fault) => (fault?.kind === 'tensors' ? [fault.tensors] : []));
  const missing = faults.length;
  if (missing === 0) return undefined;
  const valid = cutFaults.slice(0, -1).filter((fault) => fault === undefined).length;
  const places = new Map<string, { readonly fault: TensorFault; readonly count: number }>();
  for (const fault of faults.flat())
    places.set(fault.name, { fault, count: (places.get(fault.name)?.count ?? 0) + 1 });
  const reasons = [...places.values()].sort((a, b) => b.count - a.count);
  const told = reasons
    .slice(0, MOST_REASONS)
    .map(({ fault, count }) => `${tensorFaultText(fault)} (${counted(count, 'place')})`);
  const more = reasons.length - told.length;
  const others = more > 0 ? [`${counted(more, 'other tensor')} (layers[].noCut)`] : [];
  const helps = [...new Set(reasons.map(({ fault }) => HELP[fault.code]))];
  return `the model cannot be cut at ${missing} of ${missing + valid} places: ${[...told, ...others].join('; ')}. ${helps.join(' ')}`;
}

/** HELP says what would help against each fault. */
const HELP: Readonly<Record<TensorFault['code'], string>> = {
  type: 'Where a type cannot be sent, the places before such a tensor is made and after its last use are left.',
  size: 'Where a size depends on the data, the places before such a tensor is made and after its last use are left.',
  batch: 'Without batches these cuts are valid: give the dimension of the batch the size 1.',
};
