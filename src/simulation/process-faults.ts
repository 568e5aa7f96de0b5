import { type Fault, fault, option } from '../formats/index.js';
import { type ArrivalProcess, variationFault } from '../workload/index.js';

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
