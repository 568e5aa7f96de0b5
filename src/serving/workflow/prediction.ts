import type { Stream } from '../../random/index.js';
import { END, type Histories, type PredictedCall } from './histories.js';
import type { PredictionRule } from './policy.js';

/** Predicted is what a program is expected to do next. */
export interface Predicted {
  readonly calls: readonly PredictedCall[];
  /** Whether the end is expected behind them; else nobody knows what comes then. */
  readonly isToEnd: boolean;
}

const NOTHING: Predicted = { calls: [], isToEnd: false };

/** Prediction says which calls a program is expected to make (DyOrc §5.2). */
export class Prediction {
  constructor(
    private readonly rule: PredictionRule,
    private readonly histories: Histories,
    private readonly stream: Stream,
  ) {}

  /**
   * after gives the calls that are expected of a program.
   * @param called the components that it has called so far
   */
  after(application: number, called: readonly number[]): Predicted {
    const { rule } = this;
    if (rule.kind === 'none') return NOTHING;
    const history = [...called];
    const calls: PredictedCall[] = [];
    while (calls.length < rule.most) {
      const next =
        rule.kind === 'sampled'
          ? this.histories.next(application, history, this.stream)
          : this.histories.likeliest(application, history);
      if (next?.component === END) return { calls, isToEnd: true };
      // What came from further back than this request goes is no input that it could have.
      if (next === undefined || next.back.some((back) => back > history.length)) break;
      calls.push(next);
      history.push(next.component);
    }
    return { calls, isToEnd: false };
  }
}
