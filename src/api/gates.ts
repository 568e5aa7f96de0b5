import { fault, type GateCheck, InputError, option } from '../formats/index.js';

/** JudgedShare is an attainment to be judged; `low` is the lower end of its interval over several runs. */
export interface JudgedShare {
  readonly value: number | undefined;
  readonly low?: number | undefined;
}

/**
 * refuseNoShare refuses a threshold that no share in time could be compared with.
 * @throws InputError where it is not from 0 to 1
 */
export function refuseNoShare(task: string, failUnder: number | undefined): void {
  if (failUnder === undefined || (failUnder >= 0 && failUnder <= 1)) return;
  throw new InputError(task, [fault(`is ${failUnder}; a share is from 0 to 1`, option('failUnder'))]);
}

/**
 * attainmentChecks judges the share of all requests in time, and that of each of several models. A model without a share,
 * because nothing came for it, is not judged; where nothing came at all, the gate does not hold.
 */
export function attainmentChecks(
  threshold: number | undefined,
  all: JudgedShare,
  models: readonly (JudgedShare & { readonly name: string })[],
): GateCheck[] {
  if (threshold === undefined) return [];
  const asked = models.length > 1 ? models.filter(({ value }) => value !== undefined) : [];
  return [
    attainmentCheck(threshold, all),
    ...asked.map(({ name, ...share }) => attainmentCheck(threshold, share, { model: name })),
  ];
}

function attainmentCheck(
  threshold: number,
  { value, low }: JudgedShare,
  of: Pick<GateCheck, 'model'> = {},
): GateCheck {
  const judged = low ?? value;
  return {
    what: 'attainment',
    ...of,
    threshold,
    ...(value === undefined ? {} : { value }),
    ...(low === undefined ? {} : { low }),
    held: judged !== undefined && judged >= threshold,
  };
}
