import type { Stream } from '../../random/index.js';
import { END, type Histories, type PredictedCall } from './histories.js';
import { lastCalls } from './open-work.js';
import type { PredictionRule } from './policy.js';
import type { OpenRequest } from './work.js';

/** Predicted is what a program is expected to do next. */
export interface Predicted {
  readonly calls: readonly PredictedCall[];
  /** isToEnd says whether the end is expected behind them; else nobody knows what comes then. */
  readonly isToEnd: boolean;
}

/**
 * Foresight gives the calls that the program of a request makes after those that it has made. No scheduler knows them:
 * what one that does comes to bounds what any prediction is worth.
 */
export type Foresight = (request: number, made: number) => readonly PredictedCall[];

/** PredictionParts holds what predictions are made from. */
export interface PredictionParts {
  readonly histories: Histories;
  readonly stream: Stream;
  readonly foresight?: Foresight | undefined;
}

/** As long as no request was seen to its end, calls would be drawn without end. */
const THE_END: Predicted = { calls: [], isToEnd: true };
const NOTHING: Predicted = { calls: [], isToEnd: false };

/** Prediction says which calls a program is expected to make (DyOrc §5.2). */
export class Prediction {
  constructor(
    private readonly rule: PredictionRule,
    private readonly parts: PredictionParts,
  ) {}

  /** after gives the calls that are expected of the program of a request. */
  after(request: OpenRequest): Predicted {
    const { rule } = this;
    const { histories, stream, foresight } = this.parts;
    if (rule.kind === 'none' || request.isFinished) return NOTHING;
    if (foresight !== undefined)
      return { calls: foresight(request.number, request.tasks.length).slice(0, rule.most), isToEnd: true };
    const { application } = request;
    if (!histories.hasSeenEnd(application)) return THE_END;
    const history = lastCalls(request);
    const calls: PredictedCall[] = [];
    while (calls.length < rule.most) {
      const next =
        rule.kind === 'sampled'
          ? histories.next(application, history, stream)
          : histories.likeliest(application, history);
      if (next?.component === END) return { calls, isToEnd: true };
      // An output of a call further back than this request goes cannot be an input of it.
      const made = request.tasks.length + calls.length;
      if (next === undefined || next.back.some((back) => back > made)) break;
      calls.push(next);
      history.push(next.component);
    }
    return { calls, isToEnd: false };
  }
}
