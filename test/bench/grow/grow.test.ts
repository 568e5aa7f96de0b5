import { describe, expect, it } from 'vitest';
import { GROWERS } from '../../../bench/grow/growers.js';
import { NAMES_LIMIT } from '../../../bench/grow/tried.js';
import { parseArtifact } from '../../../src/artifacts/load.js';
import { ARTIFACT_KINDS } from '../../../src/formats/artifact-kinds.js';
import { fewOf } from '../../cases.js';

/** Sizes at which a limit answers, by what reads them. bench/grow finds them by itself. */
const REFUSED: Readonly<Record<string, number>> = {
  'gears of a gear plan': 1_000_000,
  'placement of a pooled plan': 1_000_000,
  'models of a load report': 1_000_000,
  'numbers that are not finite': 1_000_000,
  'levels of JSON': 100,
  'commas of YAML': 1_000_000,
  'keys of YAML': 100_000,
  'blocks of a profile': 1_000_000,
  'largest batch of a profile': 100_000,
};

/** read parses a grower's first file, and gives what is said, and in how many letters. */
function read(name: string, size: number): { said: string; told: number } {
  const { files } = GROWERS[name]!.of(size);
  const named = Object.entries(files).find(([file]) => /^(file|m)\./.test(file)) as [string, string];
  try {
    parseArtifact(named[1], named[0], ARTIFACT_KINDS);
    return { said: '', told: 0 };
  } catch (error) {
    return { said: (error as Error).message, told: (error as Error).message.length };
  }
}

describe('a list of any size', () => {
  it.each(Object.entries(REFUSED))('is refused with the limit that it exceeds: %s of %i', (name, size) => {
    expect(read(name, size).said).toMatch(NAMES_LIMIT);
  });

  it.each(
    fewOf(
      Object.keys(GROWERS).filter((name) => 'validate' === GROWERS[name]?.of(1).args[0]),
      4,
    ),
  )('is described in a page, however long below the limit: %s', (name) => {
    const [short, long] = [1000, 20_000].map((size) => read(name, size));
    expect(long?.told).toBeLessThan(20_000);
    expect(Math.abs((long?.told ?? 0) - (short?.told ?? 0))).toBeLessThan(5_000);
  });
});
