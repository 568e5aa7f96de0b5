import { type Fault, fault, type GateCheck, type GateVerdicts } from '../formats/index.js';
import { givenFaults } from './figures.js';

/** FoundFigure is what a report has of the figure that a gate judges; nothing where it has none. */
export interface FoundFigure {
  readonly value?: number | undefined;
  readonly low?: number | undefined;
}

/** gateFaults finds verdicts that do not follow from the figures beside them. `found` says which figure a gate judges. */
export function gateFaults({ checks = [] }: GateVerdicts, found: (check: GateCheck) => FoundFigure): Fault[] {
  return checks.flatMap((check, i) => {
    const { what, threshold, held } = check;
    // Facts are judged by nothing that a report has.
    if (threshold === undefined || what === 'hold') return [];
    const { value, low } = found(check);
    const judged = low ?? value;
    const isLeast = what === 'attainment';
    const holds = judged !== undefined && (isLeast ? judged >= threshold : judged <= threshold);
    return [
      ...givenFaults(check.value, value, `/checks/${i}/value`),
      ...givenFaults(check.low, low, `/checks/${i}/low`),
      ...(held === holds
        ? []
        : [fault(`is ${held}, and by the figures it is ${holds}`, `/checks/${i}/held`)]),
    ];
  });
}
