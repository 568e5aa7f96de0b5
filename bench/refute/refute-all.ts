import type { SeededRun } from '../seeded/arguments.js';
import { everyCase, type Tally, type TryCase } from '../seeded/every-case.js';
import type { Refuted, Refuter } from './refuter.js';

/** refuteAll tries the cases of a run, and prints each refutation with the case that it is of. */
export async function refuteAll(
  run: SeededRun,
  place: { root: string; heart: Int32Array },
  refuter: Refuter,
): Promise<Tally> {
  let longestS = 0;
  const tryCase: TryCase = async (dice, folder) => {
    const before = process.cpuUsage();
    const { what, outcome, refutations } = await refuted(refuter, dice, folder);
    const { user, system } = process.cpuUsage(before);
    longestS = Math.max(longestS, (user + system) / 1e6);
    return { what, outcome, faults: refutations.map(({ claim, found }) => `${claim}: ${found}`) };
  };
  const tally = await everyCase(run, { ...place, broke: 'REFUTED' }, tryCase);
  process.stdout.write(`the longest case took ${longestS.toFixed(1)} s of CPU\n`);
  process.stdout.write(
    `${run.subject}: ${tally.done} cases, ${tally.faults} refutations in ${tally.broken} of them\n`,
  );
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
