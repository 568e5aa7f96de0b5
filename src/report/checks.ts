import { counted, type GateCheck, type GateVerdicts, type SimulatedRuns } from '../formats/index.js';
import { percent, plain } from './table.js';

/** Figures of verdicts have this many digits, or more where these do not tell them from what they are judged by. */
const DIGITS = 6;
/** More digits than a double has distinguish nothing. */
const MOST_DIGITS = 17;

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
    case 'attainmentDifference': {
      const [value, threshold] = apart(check.value, check.threshold, pointsText);
      return `The attainments${whose} differ by ${value}, ${held ? 'within' : 'more than'} the ${threshold} that are allowed`;
    }
    case 'failedRequests':
      return check.value === 0
        ? 'No request failed'
        : `${counted(check.value ?? 0, 'request')} failed, and none may`;
    case 'inputs':
      return `${file === undefined ? 'The plan' : file} is ${held ? '' : 'not '}as its inputs say`;
    case 'same':
      return held ? 'The plans are the same' : 'The plans differ';
    case 'difference': {
      const [value, threshold] = apart(check.value, check.threshold, check.relative ? changeText : plain);
      const by = check.value === undefined ? 'from 0' : `by ${value}`;
      return `The ${check.figure}${whose} differs ${by}, ${held ? 'within' : 'more than'} the ${threshold} that are allowed`;
    }
    case 'hold':
      return `${held ? 'A plan was' : 'No plan was'} found that holds ${told(check.threshold, shareText)} in time in simulation`;
  }
}

function attainmentLine(
  { threshold, value, low, held }: GateCheck,
  whose: string,
  runs?: Pick<SimulatedRuns, 'count' | 'confidence'>,
): string {
  if (value === undefined) {
    const unshown = `so it is not shown that ${told(threshold, shareText)} are in time`;
    return runs === undefined
      ? `No request came${whose}, ${unshown}`
      : `Not every run had a request${whose}, ${unshown}`;
  }
  const isOne = low === undefined || runs === undefined;
  const [judged, by] = apart(isOne ? value : low, threshold, shareText);
  const against = held ? `at or above ${by}` : `below ${by}`;
  if (isOne) return `Attainment${whose} is ${judged}, ${against}`;
  const sure = `is ${judged} or more with ${percent(runs.confidence, 0)} confidence`;
  return `Attainment${whose} ${sure}, ${against} (mean ${told(value, shareText)} of ${counted(runs.count, 'run')})`;
}

type Write = (value: number, digits: number) => string;

/** told writes a figure that is only for information. */
function told(value: number | undefined, write: Write): string {
  return value === undefined ? '—' : write(value, DIGITS);
}

/** apart writes a figure and what it is judged by: with six digits, or as many as tell the two apart where they differ. */
function apart(value: number | undefined, threshold: number | undefined, write: Write): [string, string] {
  if (value === undefined || threshold === undefined) return [told(value, write), told(threshold, write)];
  let digits = DIGITS;
  while (value !== threshold && digits < MOST_DIGITS && write(value, digits) === write(threshold, digits))
    digits += 1;
  return [write(value, digits), write(threshold, digits)];
}

/** shareText writes a share as a percentage, such as `97.7041 %`. Less than the whole is not rounded up to 100 %. */
function shareText(value: number, digits: number): string {
  const most = 100 - 10 ** (2 - digits);
  return `${plain(value < 1 ? Math.min(100 * value, most) : 100 * value, digits)} %`;
}

function pointsText(value: number, digits: number): string {
  return `${plain(100 * value, digits)} points`;
}

/** changeText writes a share by which a figure changes, with four digits before the point, or as many as tell it from 0. */
function changeText(value: number, digits: number): string {
  const text = percent(value, digits - 4);
  return value !== 0 && Number.parseFloat(text) === 0 ? `${plain(100 * value, digits - 4)} %` : text;
}
