import type { PlanChecks } from '../formats/index.js';
import type { Context } from './run.js';

/** warnUnchecked warns of what a plan that is used was not checked against. */
export async function warnUnchecked(
  { terminal, inFlags }: Pick<Context, 'terminal' | 'inFlags'>,
  checks: PlanChecks,
  isValidated?: boolean,
): Promise<void> {
  const { uncheckedNote } = await import('../report/index.js');
  const note = uncheckedNote(checks, isValidated);
  if (note !== undefined) await terminal.warn(inFlags(note));
}
