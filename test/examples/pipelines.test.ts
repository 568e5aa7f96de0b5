import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadArtifact } from '../../src/artifacts/index.js';

const FOLDER = join(import.meta.dirname, '../../examples/pipelines');

interface Latency {
  readonly fixedMs: number;
  readonly rowMs: number;
}

interface Assumed {
  readonly model: string;
  /** What a batch takes, by class. */
  readonly classes: Readonly<Record<string, Latency>>;
  /** How many medians the 95th percentile is, where one is stated. */
  readonly spread?: number;
}

/** cellsOf splits a row of a table. */
function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/**
 * assumptions reads the README's tables of profiles: a row is a model, and a cell such as "35 + 18.7 n" its latency on the
 * class that heads the column.
 */
function assumptions(): Assumed[] {
  const assumed: Assumed[] = [];
  let head: string[] = [];
  for (const line of readFileSync(join(FOLDER, 'README.md'), 'utf8').split('\n')) {
    if (line.startsWith('| profile |')) head = cellsOf(line);
    if (!line.startsWith('|')) head = [];
    const [model = '', ...cells] = cellsOf(line);
    const classes = cells.flatMap((cell, k): [string, Latency][] => {
      const [, fixed, row] = /^([0-9.]+) \+ (?:([0-9.]+) )?n$/.exec(cell) ?? [];
      if (fixed === undefined) return [];
      return [[head[k + 1] as string, { fixedMs: Number(fixed), rowMs: Number(row ?? 1) }]];
    });
    const spread = Number.parseFloat(cells[head.indexOf('95th percentile') - 1] ?? '');
    if (classes.length > 0)
      assumed.push({
        model: model.replaceAll('`', ''),
        classes: Object.fromEntries(classes),
        ...(Number.isNaN(spread) ? {} : { spread }),
      });
  }
  return assumed;
}

describe('the profiles of examples/pipelines', () => {
  it('say the latencies that the README states as assumptions', async () => {
    const assumed = assumptions();
    expect(assumed.map(({ model }) => `${model}.json`).sort()).toEqual(
      readdirSync(join(FOLDER, 'profiles')).sort(),
    );
    for (const { model, classes, spread } of assumed) {
      const { value } = await loadArtifact(join(FOLDER, 'profiles', `${model}.json`), ['profile']);
      expect(Object.keys(value.devices), model).toEqual(Object.keys(classes));
      for (const [name, { fixedMs, rowMs }] of Object.entries(classes)) {
        const said = value.devices[name]?.blockLatencyUs?.['1'] ?? {};
        const us = (batch: string) => 1000 * (fixedMs + rowMs * Number(batch));
        const expected = Object.keys(said).map((batch) => [batch, [expect.closeTo(us(batch), 6)]]);
        expect({ model, said }).toEqual({ model, said: Object.fromEntries(expected) });
        const late = value.devices[name]?.blockLatencyP95Us?.['1'];
        const spreads = Object.entries(late ?? {}).map(
          ([batch, [us]]) => (us ?? 0) / (said[batch]?.[0] ?? 0),
        );
        expect(spreads).toEqual(
          spread === undefined ? [] : Object.keys(said).map(() => expect.closeTo(spread, 4)),
        );
      }
    }
  });

  it('take the time for a row and a batch that is derived from the arithmetic of the models', () => {
    const rows = readFileSync(join(FOLDER, 'README.md'), 'utf8')
      .split('\n')
      .filter((line) => / \| [0-9.]+ \+ ([0-9.]+ )?n \|$/.test(line) && cellsOf(line).length === 6);
    expect(rows).toHaveLength(11);
    for (const line of rows) {
      const [model, , gmac, steps, each, latency = ''] = cellsOf(line);
      const [fixedMs, rowMs] = latency.split(' + ').map((part) => Number.parseFloat(part) || 1);
      const rowOf = (Number(gmac) * Number.parseFloat(each as string)) / 3.6;
      expect([model, rowMs]).toEqual([model, expect.closeTo(rowOf, 1)]);
      expect([model, fixedMs]).toEqual([model, expect.closeTo(5 + 0.1 * Number(steps), 6)]);
    }
  });
});
