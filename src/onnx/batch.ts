import { batchDim } from './batch-dim.js';
import type { OnnxModel } from './types.js';

export type SymbolicBatch =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly changes: readonly string[] }
  | { readonly ok: false; readonly missing: string };

/** A model whose batch is symbolic, or what in the graph has no batch axis. */
export function makeBatchSymbolic(model: OnnxModel): SymbolicBatch {
  const batch = batchDim(model);
  switch (batch.kind) {
    case 'symbolic':
      return { ok: true, bytes: model.bytes, changes: [] };
    case 'none':
      return { ok: false, missing: batch.why };
    case 'fixed':
      return { ok: false, missing: `inputs have a fixed batch of ${batch.size}` };
  }
}
