import { counted, type GateCheck, type GateVerdicts, type SimulatedRuns } from '../artifacts/index.js';
import { percent, plain } from './table.js';

/** Figures of verdicts have so many digits. */
const DIGITS = 6;
/** Less than the whole is not rounded up to 100 % by these digits. */
const MOST_PART = 99.9999;

/** missedLines says in a sentence of each gate that does not hold what was found, and what was asked for. */
export function missedLines({
  checks = [],
  runs,
}: GateVerdicts & { readonly runs?: SimulatedRuns }): string[] {
  return checks.filter(({ held }) => !held).map((check) => checkLine(check, runs));
}

/** checkLine says what was found by a gate, and whether that is what was asked for. `runs` are those of a simulation of several. */
export function checkLine(check: GateCheck, runs?: Pick<SimulatedRuns, 'count' | 'confidence'>): string {
  const { what, model, file, held } = check;
  const whose = model === undefined ? '' : ` of ${model}`;
  switch (what) {
    case 'attainment':
      return attainmentLine(check, whose, runs);
    case 'attainmentDifference':
      return `The attainments${whose} differ by ${pointsText(check.value)}, ${held ? 'within' : 'more than'} the ${pointsText(check.threshold)} that are allowed`;
    case 'failedRequests':
      return check.value === 0
        ? 'No request failed'
        : `${counted(check.value ?? 0, 'request')} failed, and none may`;
    case 'inputs':
      return `${file === undefined ? 'The plan' : file} is ${held ? '' : 'not '}as its inputs say`;
    case 'same':
      return held ? 'The plans are the same' : 'The plans differ';
    case 'difference': {
      const told = check.relative ? shareText : sized;
      const by = check.value === undefined ? 'from 0' : `by ${told(check.value)}`;
      return `The ${check.figure}${whose} differs ${by}, ${held ? 'within' : 'more than'} the ${told(check.threshold)} that are allowed`;
    }
    case 'hold':
      return `${held ? 'A plan was' : 'No plan was'} found that holds ${wholeShare(check.threshold)} in time in simulation`;
  }
}

function attainmentLine(
  { threshold, value, low, held }: GateCheck,
  whose: string,
  runs?: Pick<SimulatedRuns, 'count' | 'confidence'>,
): string {
  if (value === undefined)
    return runs === undefined
      ? `No request came${whose}, so it is not shown that ${wholeShare(threshold)} are in time`
      : `Not every run had a request${whose}, so it is not shown that ${wholeShare(threshold)} are in time`;
  const against = held ? `at or above ${wholeShare(threshold)}` : `below ${wholeShare(threshold)}`;
  if (low === undefined || runs === undefined)
    return `Attainment${whose} is ${wholeShare(value)}, ${against}`;
  const sure = `is ${wholeShare(low)} or more with ${percent(runs.confidence, 0)} confidence`;
  return `Attainment${whose} ${sure}, ${against} (mean ${wholeShare(value)} of ${counted(runs.count, 'run')})`;
}

/** wholeShare writes a share as a percentage with enough digits to tell it from one that was asked for: `97.7041 %`. */
function wholeShare(value: number | undefined): string {
  if (value === undefined) return '—';
  return `${plain(value < 1 ? Math.min(100 * value, MOST_PART) : 100 * value, DIGITS)} %`;
}

function pointsText(value: number | undefined): string {
  return value === undefined ? '—' : `${plain(100 * value, DIGITS)} points`;
}

function shareText(value: number | undefined): string {
  return value === undefined ? '—' : percent(value, 2);
}

function sized(value: number | undefined): string {
  return value === undefined ? '—' : plain(value, DIGITS);
}
