import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit.js';

it('The exit codes are those that docs/design.md lists', () => {
  const page = readFileSync(new URL('../../docs/design.md', import.meta.url), 'utf8');
  const [, section = ''] = page.split('\n### Exit codes\n');
  const [table = ''] = section.split('\n### ');
  const listed = [...table.matchAll(/^\| (\d+) \| \S/gm)].map(([, code]) => Number(code));
  expect(listed).toEqual(Object.values(EXIT));
});
