import type { ErrorCode, ErrorDocument, Fault, GateCheck } from '../formats/index.js';
import { EXIT, type ExitCode } from './exit.js';

const CODES: Partial<Record<ExitCode, ErrorCode>> = {
  [EXIT.badInput]: 'bad-input',
  [EXIT.checkFailed]: 'check-failed',
  [EXIT.missing]: 'missing',
  [EXIT.interrupted]: 'interrupted',
};

/** errorDocument makes what a command prints with `--json` when it fails with this exit code. */
export async function errorDocument(
  exitCode: ExitCode,
  message: string,
  {
    faults = [],
    checks,
  }: { readonly faults?: readonly Fault[]; readonly checks?: readonly GateCheck[] } = {},
): Promise<ErrorDocument> {
  const { emittedHead } = await import('../artifacts/index.js');
  const error = { code: CODES[exitCode] ?? 'fault', exitCode, message, faults: [...faults] };
  return { ...emittedHead('error', []), ...(checks === undefined ? {} : { checks: [...checks] }), error };
}
