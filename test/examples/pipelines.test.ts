import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadArtifact } from '../../src/artifacts/index.js';

const FOLDER = join(import.meta.dirname, '../../examples/pipelines');
const CLASSES = ['cpu', 'k80', 'v100'];

interface Assumed {
  readonly model: string;
  /** fixedMs and rowMs by class; a class that the table leaves out is undefined. */
  readonly classes: readonly ({ readonly fixedMs: number; readonly rowMs: number } | undefined)[];
}

/** assumptions reads the README's table: a row of it is a model, and a cell such as "35 + 18.7 n" its latency. */
function assumptions(): Assumed[] {
  const rows = readFileSync(join(FOLDER, 'README.md'), 'utf8').matchAll(/^\| `([a-z0-9-]+)` \|(.*)\|$/gm);
  return [...rows].flatMap(([, model = '', cells = '']) => {
    const classes = cells.split('|').map((cell) => {
      const [, fixed, row] = /^ (\S+) \+ (\S+ )?n $/.exec(cell) ?? [];
      return fixed === undefined ? undefined : { fixedMs: Number(fixed), rowMs: Number(row ?? 1) };
    });
    return classes.length === CLASSES.length ? [{ model, classes }] : [];
  });
}

describe('the profiles of examples/pipelines', () => {
  it('say the latencies that the README states as assumptions', async () => {
    const assumed = assumptions();
    expect(assumed.map(({ model }) => model)).toHaveLength(10);
    for (const { model, classes } of assumed) {
      const { value } = await loadArtifact(join(FOLDER, 'profiles', `${model}.json`), ['profile']);
      for (const [index, latency] of classes.entries()) {
        const said = value.devices[CLASSES[index] as string]?.blockLatencyUs?.['1'];
        const batches = Object.keys(said ?? {}).map(Number);
        const us = (batch: number) => 1000 * ((latency?.fixedMs ?? 0) + (latency?.rowMs ?? 0) * batch);
        expect({ model, said }).toEqual({
          model,
          said:
            latency && Object.fromEntries(batches.map((batch) => [batch, [expect.closeTo(us(batch), 6)]])),
        });
      }
    }
  });
});
