import { type Fault, fault } from '../formats/index.js';

const ROUNDING = 1e-9;

/** differ says whether two figures differ by more than a part in 10⁹, or one of them is no number. */
export function differ(one: number, other: number): boolean {
  return !(Math.abs(one - other) <= ROUNDING * Math.max(1, Math.abs(other)));
}

/** isShare says whether a figure is from 0 to 1. */
export function isShare(figure: number): boolean {
  return figure >= 0 && figure <= 1;
}

/** faultOf gives a fault where something does not hold. */
export function faultOf(holds: boolean, message: string, at: string): Fault[] {
  return holds ? [] : [fault(message, at)];
}

/** isBetween compares with both bounds up to rounding, as the same numbers that were added up in another order differ. */
export function isBetween(value: number, least: number, most: number): boolean {
  const rounding = ROUNDING * Math.max(1e-9, Math.abs(least), Math.abs(most));
  return value >= least - rounding && value <= most + rounding;
}

/** givenFaults compares what a report gives with what follows from its counts, where anything does. */
export function givenFaults(value: number | undefined, follows: number | undefined, at: string): Fault[] {
  if (follows === undefined)
    return value === undefined ? [] : [fault(`is ${value}, and there is nothing that it could be of`, at)];
  if (value === undefined) return [fault(`is missing, and by the counts it is ${follows}`, at)];
  if (isBetween(value, follows, follows)) return [];
  return [fault(`is ${value}, and by the counts it is ${follows}`, at)];
}

/** shareFaults finds a share that is not from 0 to 1, up to rounding; one that is absent is none. */
export function shareFaults(share: number | null | undefined, at: string): Fault[] {
  if (share === undefined || share === null || isBetween(share, 0, 1)) return [];
  return [fault(`is ${share}, and a share is from 0 to 1`, at)];
}

/** rangeFaults finds a figure outside what others of the file allow. */
export function rangeFaults(
  value: number | undefined,
  [least, most]: readonly [least: number, most: number],
  { at, by }: { readonly at: string; readonly by: string },
): Fault[] {
  if (value === undefined || isBetween(value, least, most)) return [];
  const range = least === most ? `${least}` : `from ${least} to ${most}`;
  return [fault(`is ${value}, and by ${by} it is ${range}`, at)];
}

/** addedUp adds up figures. */
export function addedUp(figures: readonly number[]): number {
  return figures.reduce((all, one) => all + one, 0);
}
