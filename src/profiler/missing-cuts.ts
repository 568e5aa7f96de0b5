import { counted, type ProfiledLayer } from '../artifacts/index.js';
import { tensorFaults } from '../onnx/index.js';

/** This many reasons are told. */
const MOST_REASONS = 3;

/**
 * missingCuts says which tensors take the most places to cut from a model, where they are made and last used, and what
 * would help. It gives undefined where no place is missing.
 */
export function missingCuts(layers: readonly ProfiledLayer[]): string | undefined {
  const faults = layers.map(({ noCut }) => (noCut === undefined ? [] : tensorFaults(noCut)));
  const missing = faults.filter((reasons) => reasons.length > 0).length;
  if (missing === 0) return undefined;
  const valid = layers.slice(0, -1).filter(({ noCut }) => noCut === undefined).length;
  const places = new Map<string, number>();
  for (const reason of faults.flat()) places.set(reason, (places.get(reason) ?? 0) + 1);
  const reasons = [...places].sort((a, b) => b[1] - a[1]);
  const told = reasons
    .slice(0, MOST_REASONS)
    .map(([reason, count]) => `${reason} (${counted(count, 'place')})`);
  const more = reasons.length - told.length;
  const others = more > 0 ? [`${counted(more, 'other tensor')} (layers[].noCut)`] : [];
  const helps = [...new Set(reasons.map(([reason]) => helpFor(reason)))];
  return `the model cannot be cut at ${missing} of ${missing + valid} places: ${[...told, ...others].join('; ')}. ${helps.join(' ')}`;
}

function helpFor(reason: string): string {
  if (!reason.includes(' cannot be sent: '))
    return 'Where a type cannot be sent, the places before such a tensor is made and after its last use are left.';
  if (reason.includes('depends on the data'))
    return 'Where a size depends on the data, the places before such a tensor is made and after its last use are left.';
  return 'Without batches these cuts are valid: give the dimension of the batch the size 1.';
}
