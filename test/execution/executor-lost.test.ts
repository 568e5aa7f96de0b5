import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';

const EXECUTION = createRequire(import.meta.url).resolve('#dist/src/execution/index.js');

/** This program only waits for an executor, which is killed in the meantime. */
const PROGRAM = `
import { startExecutor } from ${JSON.stringify(pathToFileURL(EXECUTION).href)};
const executor = await startExecutor({ provider: 'cpu', threads: 1 });
process.kill(executor.pid, 'SIGSTOP');
const waiting = executor.load('model.onnx');
process.kill(executor.pid, 'SIGKILL');
await waiting.catch((error) => console.log(error.message));
await executor.close();
console.log('closed');
`;

test.skipIf(process.platform === 'win32')(
  'a program that waits for an executor learns that it was killed before the program ends',
  () => {
    const args = ['--input-type=module', '-e', PROGRAM];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(stdout).toMatch(/Cannot load model\.onnx[\s\S]* ended by SIGKILL\nclosed\n/);
    expect(status).toBe(0);
  },
);
