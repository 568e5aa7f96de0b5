import { expect, it } from 'vitest';
import { parseArtifact } from '../../src/artifacts/load.js';

/** refusal gives the message about a text that cannot be read. */
function refusal(text: string, path: string): string {
  try {
    parseArtifact(text, path, ['cluster']);
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
}

it('parseArtifact() reports the first 50 errors of YAML, and how many more there are', () => {
  const told = refusal(`${'a: '.repeat(1000)}\n`, 'c.yaml').split('\n');
  expect(told).toHaveLength(52);
  expect(told.at(-1)).toMatch(/… and \d+ more faults/);
});

it('parseArtifact() reports the first 50 numbers that are not finite, in the order of the file', () => {
  const told = refusal(`{"a": [${Array(200).fill('1e999').join(',')}]}`, 'c.json').split('\n');
  expect(told).toHaveLength(52);
  expect(told[1]).toContain('/a/0');
  expect(told.at(-1)).toContain('and 150 more faults');
});
