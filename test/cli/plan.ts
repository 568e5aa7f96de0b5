import { type SpawnOptions, spawn } from 'node:child_process';
import { createRequire } from 'node:module';

/** PLAN_PROGRAM is the built program, as users run it. */
export const PLAN_PROGRAM = createRequire(import.meta.url).resolve('#dist/src/cli/main.js');

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** plan runs the program with these arguments to its end. */
export async function plan(args: readonly string[], options: SpawnOptions = {}): Promise<Ran> {
  const child = spawn(process.execPath, [PLAN_PROGRAM, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk.toString('utf8');
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, stdout, stderr };
}
