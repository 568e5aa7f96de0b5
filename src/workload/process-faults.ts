import { type Fault, fault, option } from '../formats/index.js';
import type { ArrivalProcess } from './drawn-arrivals.js';

/**
 * Below the least, gaps are even to the nanosecond. Above the most, nearly all requests come at one instant.
 */
const LEAST_CV = 1e-6;
const MOST_CV = 1000;

/** variationFault says what is wrong with a coefficient of variation of gamma arrivals (valid: 0 and 1e-6 to 1000). */
export function variationFault(cv: number): string | undefined {
  if (cv === 0 || (cv >= LEAST_CV && cv <= MOST_CV)) return undefined;
  return `is ${cv}; valid values are 0 and ${LEAST_CV} to ${MOST_CV}`;
}

/**
 * processFaults says what is wrong with the options `arrivals` and `cv` together: gamma needs a valid `cv`, and only
 * gamma takes one.
 * @param cvElsewhere whether phases of a load may give the coefficient of variation
 */
export function processFaults(
  process: ArrivalProcess = 'poisson',
  cv?: number,
  cvElsewhere = false,
): Fault[] {
  const faults: Fault[] = [];
  if (process === 'gamma' && cv === undefined && !cvElsewhere)
    faults.push(fault(`gamma needs ${option('cv')}, how bursty it is (1: as Poisson)`, option('arrivals')));
  const wrong = cv === undefined ? undefined : variationFault(cv);
  if (wrong !== undefined) faults.push(fault(wrong, option('cv')));
  if (process !== 'gamma' && cv !== undefined)
    faults.push(fault(`is for ${option('arrivals')} gamma`, option('cv')));
  return faults;
}
