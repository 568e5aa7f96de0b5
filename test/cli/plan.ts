import { type SpawnOptions, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { vi } from 'vitest';
import { runProgram } from '../../src/cli/program.js';

/** PLAN_PROGRAM is the program as it is published. */
export const PLAN_PROGRAM = createRequire(import.meta.url).resolve('#dist/bundle/cli/main.js');

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * plan runs the program with these arguments in this process, which takes a tenth of the time of a process of its own.
 */
export async function plan(
  args: readonly string[],
  { cwd = process.cwd() }: { cwd?: string } = {},
): Promise<Ran> {
  const printed = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((text) => {
      printed[stream] += String(text);
      return true;
    }),
  );
  const before = process.cwd();
  process.chdir(cwd);
  try {
    await runProgram(args);
    return { code: Number(process.exitCode ?? 0), ...printed };
  } finally {
    process.exitCode = undefined;
    process.chdir(before);
    for (const spy of spies) spy.mockRestore();
  }
}

/** planProcess runs the built program with these arguments in a process of its own. */
export async function planProcess(args: readonly string[], options: SpawnOptions = {}): Promise<Ran> {
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
