import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseArtifact } from '../../src/artifacts/index.js';
import { reportFaults } from '../../src/checks/index.js';
import { WHOLE, whole } from '../cases.js';
import { leavesOf, withLeaf } from '../leaves.js';

const FOLDER = new URL('reports/', import.meta.url);

const KINDS = [
  ...(['simulation-report', 'simulation-sweep', 'scheduler-comparison'] as const),
  ...(['comparison', 'verification'] as const),
];
type Kind = (typeof KINDS)[number];

/** Reports of each kind, as commands wrote them. */
const REPORTS = readdirSync(FOLDER).map((name) => ({
  name: name.replace('.json', ''),
  report: JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as { readonly kind: Kind },
}));

const CHOICE = 'only the run shows what was chosen';
const PLAN = 'only the plan says it';
const RANK = 'values between two percentiles may be any between';
const SPREAD = 'so few runs may spread so';
const OTHERS = 'only the requests have it';
const SCALED = 'devices come and go, so that nothing says how long they were there';

type Free = readonly (readonly [pattern: RegExp, why: string])[];

const CHOSEN: Free = [
  [/^\/seed$/, 'only a drawing shows its seed'],
  [/policy\//, CHOICE],
  [/^\/execution\/slow$/, CHOICE],
];

/** What nothing else in a report contradicts, and why. */
const FREE: Readonly<Record<Kind, { readonly least: number; readonly free: Free }>> = {
  'simulation-report': {
    least: 5400,
    free: [
      ...CHOSEN,
      [/tuner\//, CHOICE],
      [/^\/workload\/cv$/, 'counts may spread as so varied a load'],
      [/sloMs$/, 'answers that are all well within an SLO are so within others'],
      [/pools\/\*\/(pipeline|partition)$/, PLAN],
      [/(virtualGpus|plannedAccuracy|samples|toRps|weight)$/, PLAN],
      [/^\/priorities\/levels\/\*\/priority$/, OTHERS],
      [/^\/links\//, 'only the transfers say it'],
      [/shifts$/, 'gears may be changed forth and back'],
      [/latencyMs\/|p95Ms$/, RANK],
      [/splitMs\//, RANK],
      [/invalidRate$/, 'only the batches say whose device time was wasted'],
      [/^\/windows\/rows\/\*\/batches$/, 'batches may begin after the last window'],
      [/^\/windows\/rows\/\*\/attainments\/\*$/, 'a window does not say how many requests each model had'],
      [/(busyGpuS|usedGpuS|tilisation)(\/\*)?$/, SCALED],
      [/inUse\/most$/, SCALED],
      [/^\/runs\//, SPREAD],
    ],
  },
  'simulation-sweep': {
    least: 300,
    free: [
      ...CHOSEN,
      [/^\/workload\/durationS$/, 'load factors say no rates'],
      [/p99Ms$/, RANK],
      [/attainments\/\*$/, 'a point does not say how many requests each model had'],
      [/late$/, 'a point does not tell late requests from dropped ones'],
      [/invalidRate$/, 'only the batches say whose device time was wasted'],
    ],
  },
  'scheduler-comparison': {
    least: 1380,
    free: [
      ...CHOSEN,
      [/tuner\//, CHOICE],
      [
        /^\/workload\/(cv|durationS|models\/\*\/(rps|loadFactor))$/,
        'gamma arrivals may spread so much that few requests say little of a rate',
      ],
      [/^\/runs$/, SPREAD],
      [/(low|high)$/, 'an interval that is cut, or leaves room for what no run had, is not even'],
    ],
  },
  comparison: {
    least: 250,
    free: [
      [/\/(mix|used)\//, PLAN],
      [/sloMs\/\*$/, 'a larger SLO is met by the same plan'],
      [/mostModels$/, PLAN],
      [/(p95Ms|p99Ms)$/, 'it is within the SLO'],
      [
        /(throughputRps|tilisation(ByClass\/\w+)?|costPerMillionRequests)$/,
        'only the plan says at which load',
      ],
    ],
  },
  verification: {
    least: 300,
    free: [
      [/^\/requests$/, 'shares of 0 and 1 are of any number'],
      [/executions\/\*\/(pipeline|partition|virtual|batch)$/, PLAN],
      [/executions\/\*\/(liveBatches|measuredUs)$/, 'of few batches, no factor is told'],
      [/allowed$/, 'the same attainments are within other limits'],
    ],
  },
};

function edits(value: unknown): number[] {
  if (typeof value !== 'number') return [];
  return [...new Set([value / 10, value * 10, value + 1, -value - 1])].filter((one) => one !== value);
}

function isRefused(report: { readonly kind: Kind }): boolean {
  try {
    const { value } = parseArtifact(JSON.stringify(report), 'report.json', [report.kind]);
    return reportFaults(value).length > 0;
  } catch {
    return true;
  }
}

const patternOf = (path: string) => path.replaceAll(/\/\d+(?=\/|$)/g, '/*');

describe('what contradicts itself in reports', () => {
  it.each(REPORTS)('is nothing in the report $name as it was written', ({ report }) => {
    const { value } = parseArtifact(JSON.stringify(report), 'report.json', [report.kind]);
    expect(reportFaults(value)).toEqual([]);
  });

  it.each(KINDS)(
    'is found after every edit of a number of a %s, but of those that nothing contradicts',
    (kind) => {
      const kept = new Set<string>();
      const { least, free } = FREE[kind];
      const used = new Set<RegExp>();
      let [refused, count] = [0, 0];
      for (const { name, report } of REPORTS.filter((one) => one.report.kind === kind))
        for (const { path, value } of leavesOf(report))
          for (const edit of edits(value)) {
            if (count++ % whole(4, 1) > 0) continue;
            const known = free.find(([pattern]) => pattern.test(patternOf(path)));
            if (isRefused(withLeaf(report, path, edit))) refused += 1;
            else if (known !== undefined) used.add(known[0]);
            else kept.add(`${name}#${path}: ${value} became ${edit}`);
          }
      expect([...kept]).toEqual([]);
      expect(refused).toBeGreaterThan(whole(least / 5, least));
      // The list names nothing that is always refused.
      if (WHOLE) expect(free.filter(([pattern]) => !used.has(pattern)).map(String)).toEqual([]);
    },
  );
});
