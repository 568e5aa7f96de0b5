import { type Mix, mixText } from './mixes.js';

/** CaseNames are the values that distinguish a case from the others of its comparison. */
export interface CaseNames {
  readonly mix: Mix;
  readonly slo?: string;
  readonly margin?: number;
  readonly sloAccuracy?: number;
}

/** caseText names a case: `L4=25,T4=75, slo 5x, margin 0.1`. */
export function caseText(asked: CaseNames): string {
  const swept = (['slo', 'margin', 'sloAccuracy'] as const).flatMap((kind) =>
    asked[kind] === undefined ? [] : [`${kind === 'sloAccuracy' ? 'accuracy' : kind} ${asked[kind]}`],
  );
  return [mixText(asked.mix), ...swept].filter((part) => part !== '').join(', ');
}
