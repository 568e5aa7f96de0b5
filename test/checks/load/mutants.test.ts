import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseArtifact } from '../../../src/artifacts/index.js';
import { loadReportFaults } from '../../../src/checks/index.js';
import type { LoadDocument } from '../../../src/formats/index.js';
import { leavesOf, withLeaf } from '../../leaves.js';

const FOLDER = new URL('reports/', import.meta.url);
/** Reports of loads on real servers, one of each kind. */
const REPORTS = readdirSync(FOLDER).map((name) => ({
  name: name.replace('.json', ''),
  report: JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as LoadDocument,
}));

const OF_SERVER = 'others may use the server too, so it may have done more than the client saw';
const OF_PLAN = 'only the plan says which parts, devices and batches there are: verify compares them';
/** What a report says of something that nothing else in it says anything of, and why. */
const FREE: Readonly<Record<string, string>> = {
  '/$schema': 'it names the schema for editors',
  '/tool/name': 'nothing else says which program wrote it',
  '/tool/version': 'nothing else says which version wrote it',
  '/seed': 'only a drawing of the same load shows its seed',
  '/durationS': 'an interrupted load does not say how long it was to be',
  '/rps': 'gamma arrivals may spread so much that few requests say little of a rate',
  '/complete': 'a load may be interrupted when all was sent and answered',
  '/warnings/*': 'they are sentences for people',
  '/planSha256': 'only the plan has its digest: verify compares them',
  '/sloMs': 'answers that are all well within an SLO are so within others',
  '/models/*/sloMs': 'answers that are all well within an SLO are so within others',
  '/sendLatenessMs/p50': 'it has no histogram, and a mean says little of a median',
  '/sendLatenessMs/p90': 'it has no histogram, and a mean says little of a percentile',
  '/priorities/*/priority': 'only the requests had it',
  '/labelled/samples': 'only the file of samples has them',
  '/answeredBy/*/stage': 'only the plan has the names of its stages',
  '/inputs/*/role': 'the other roles are names of files',
  '/inputs/*/path': 'only the folder has the file',
  '/served/*/answered': OF_SERVER,
  '/served/*/requestMs': OF_SERVER,
  '/served/*/queueMs': OF_SERVER,
  '/served/*/executions/*/executed': OF_SERVER,
  '/served/*/executions/*/measured': 'a server keeps the times of its last batches',
  '/served/*/executions/*/medianUs': OF_SERVER,
  '/served/*/executions/*/p95Us': OF_SERVER,
  '/served/*/executions/*/pipeline': OF_PLAN,
  '/served/*/executions/*/partition': OF_PLAN,
  '/served/*/executions/*/class': OF_PLAN,
  '/served/*/executions/*/virtual': OF_PLAN,
  '/served/*/executions/*/batch': OF_PLAN,
};
/** How the server schedules is known to it alone; verify refuses what is no policy. */
const isFree = (pattern: string): boolean => Object.hasOwn(FREE, pattern) || pattern.startsWith('/serving/');

/** edits gives values that are far from the true one. */
function edits(value: unknown): unknown[] {
  if (typeof value === 'number')
    return Number.isInteger(value)
      ? [value * 10 + 7, Math.floor(value / 10)].filter((one) => one !== value)
      : [value * 10, value / 10];
  if (typeof value === 'string') return [`${value} x`];
  if (typeof value === 'boolean') return [!value];
  return [];
}

function isRefused(report: LoadDocument): boolean {
  try {
    const { value } = parseArtifact(JSON.stringify(report), 'load.json', ['load-report']);
    return loadReportFaults(value).length > 0;
  } catch {
    return true;
  }
}

const patternOf = (path: string) => path.replaceAll(/\/\d+(?=\/|$)/g, '/*');

describe('loadReportFaults()', () => {
  it.each(REPORTS)('finds nothing wrong with the report $name of a real load', ({ report }) => {
    expect(loadReportFaults(report)).toEqual([]);
  });

  it('refuses every edit of every leaf that is far from what was measured, but of those that nothing contradicts', () => {
    const kept = new Set<string>();
    const used = new Set<string>();
    let refused = 0;
    for (const { name, report } of REPORTS)
      for (const { path, value } of leavesOf(report))
        for (const edit of edits(value)) {
          if (isRefused(withLeaf(report, path, edit))) refused += 1;
          else if (isFree(patternOf(path))) used.add(patternOf(path));
          else kept.add(`${name}#${path}: ${value} became ${edit}`);
        }
    expect([...kept]).toEqual([]);
    expect(refused).toBeGreaterThan(1300);
    // The list names nothing that is always refused.
    const never = Object.keys(FREE).filter((pattern) => !used.has(pattern));
    expect(never).toEqual([]);
  });
});
