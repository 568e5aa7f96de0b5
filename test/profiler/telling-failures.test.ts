import { expect, it } from 'vitest';
import { ExecutionError, OutOfMemoryError } from '../../src/execution/index.js';
import { InputError } from '../../src/formats/index.js';
import { tellingFailures } from '../../src/profiler/memory-need.js';

const failing = (error: Error) => tellingFailures('time the layers of m', () => Promise.reject(error));

it('tellingFailures() reports the first line of an ONNX Runtime error, and memory that ran out', async () => {
  const refused = failing(new ExecutionError('Cannot run a model on cpu: no kernel\nand a stack'));
  await expect(refused).rejects.toThrow(
    /^Cannot time the layers of m: Cannot run a model on cpu: no kernel$/,
  );
  await expect(refused).rejects.toBeInstanceOf(InputError);
  const short = failing(new OutOfMemoryError('long', 'memory ran out'));
  await expect(short).rejects.toThrow(/^Cannot time the layers of m: memory ran out\nGive smaller sizes/);
});

it('tellingFailures() passes on bugs of the program', async () => {
  await expect(failing(new TypeError('a bug'))).rejects.toBeInstanceOf(TypeError);
});
