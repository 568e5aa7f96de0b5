import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { OTHER_SCHEDULERS } from '../../src/cli/options.js';
import { SCHEDULER_NAMES } from '../../src/serving/index.js';
import { WORKFLOW_SCHEDULERS } from '../../src/serving/workflow/index.js';

const NAMES = [...SCHEDULER_NAMES, ...WORKFLOW_SCHEDULERS].sort();

/** schedulersOf gives the names in the first column of the table of schedulers of docs/serving.md. */
function schedulersOf(page: string): string[] {
  const [, table = ''] = /\| `--scheduler` \| .*\n\| --- \| --- \|\n((?:\|.*\n)+)/.exec(page) ?? [];
  return table.split('\n').flatMap((row) => {
    const [, first = ''] = row.split(' | ')[0]?.split('| ') ?? [];
    return [...first.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
  });
}

describe('The schedulers', () => {
  it('are all in the table of docs/serving.md, each once, and nothing else is', () => {
    const page = readFileSync(new URL('../../docs/serving.md', import.meta.url), 'utf8');
    expect(schedulersOf(page).sort()).toEqual(NAMES);
  });

  it('are all in the help of --scheduler', () => {
    const words = OTHER_SCHEDULERS.split(/[\s,;:]+/);
    expect(NAMES.filter((name) => !words.includes(name))).toEqual([]);
  });
});
