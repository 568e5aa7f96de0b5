import type { SeededRun } from '../seeded/arguments.js';
import { everyCase, type Tally, type TryCase } from '../seeded/every-case.js';
import type { Refuted, Refuter } from './refuter.js';

/** refuteAll tries the cases of a run, and prints each refutation with the case that it is of. */
export async function refuteAll(
  run: SeededRun,
  place: { root: string; heart: Int32Array },
  refuter: Refuter,
): Promise<Tally> {
  const tryCase: TryCase = async (dice, folder) => {
    const { what, outcome, refutations } = await refuted(refuter, dice, folder);
    return { what, outcome, faults: refutations.map(({ claim, found }) => `${claim}: ${found}`) };
  };
  const tally = await everyCase(run, { ...place, broke: 'REFUTED' }, tryCase);
  const { done, broken, faults, longest } = tally;
  process.stdout.write(`the longest case, ${longest.number}, took ${longest.cpuS.toFixed(1)} s of CPU\n`);
  process.stdout.write(`${run.subject}: ${done} cases, ${faults} refutations in ${broken} of them\n`);
  return tally;
}

/** refuted takes an error as a refutation of what every command claims: to answer. */
async function refuted(refuter: Refuter, ...[dice, folder]: Parameters<Refuter>): Promise<Refuted> {
  try {
    return await refuter(dice, folder);
  } catch (error) {
    const found = `it threw ${(error as Error).stack ?? String(error)}`;
    return { what: 'an error', outcome: 'error', refutations: [{ claim: 'every case is answered', found }] };
  }
}
