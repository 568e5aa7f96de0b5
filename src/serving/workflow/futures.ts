import { NONE } from '../../collections/index.js';
import type { PredictedCall } from './histories.js';
import type { Prediction } from './prediction.js';
import type { OpenRequest } from './work.js';

/** FutureCall is a call that a program may make, on the device that is kept for it, or NONE where none is. */
export interface FutureCall extends Pick<PredictedCall, 'component' | 'back' | 'rows' | 'bytes'> {
  readonly device: number;
}

/** Future is what a program may call after what it has called, in order. */
export type Future = readonly FutureCall[];

interface Drawn {
  /** How many calls had been made when the futures were drawn. */
  readonly made: number;
  readonly futures: (readonly PredictedCall[])[];
}

/**
 * Futures draws what programs may do next, independently for each draw, by what followed what so far (DyOrc
 * §5.2). The calls that were drawn for a request count until it makes another call.
 */
export class Futures {
  private readonly drawn = new WeakMap<OpenRequest, Drawn>();

  constructor(private readonly prediction: Prediction) {}

  /** of gives a future of a request. As far as it is what was expected, its calls have the devices that are kept for these. */
  of(request: OpenRequest, draw: number): Future {
    if (request.isFinished) return [];
    const made = request.tasks.length;
    let drawn = this.drawn.get(request);
    if (drawn?.made !== made) {
      drawn = { made, futures: [] };
      this.drawn.set(request, drawn);
    }
    const { futures } = drawn;
    while (futures.length <= draw) futures.push(this.prediction.after(request).calls);
    return placed(futures[draw] as readonly PredictedCall[], request);
  }
}

function placed(calls: readonly PredictedCall[], { expected }: OpenRequest): Future {
  let isExpected = true;
  return calls.map(({ component, back, rows, bytes }, i) => {
    const kept = expected[i];
    isExpected &&= kept?.component === component && kept.back.join() === back.join();
    return { component, back, rows, bytes, device: isExpected ? (kept?.device ?? NONE) : NONE };
  });
}
