/**
 * This program shows the figures of PARD's evaluation (§5.2, §5.3) over the workloads of `bench/pard/workloads.ts`, as
 * Markdown:
 *
 *     node dist/bench/pard/figures.js [--only fig8] [--from published] [--seeds 5] [--seconds 1200] [--threads 2] [--json file]
 *
 * - fig8: figures 8, 9 and 10 over the twelve workloads: `pard`, `nexus`, `clipper++` and `naive`.
 * - fig11: figures 2 and 11 on lv-tweet, with the ablations.
 * - da-branch: how much more is dropped where requests take one of two branches.
 *
 * Published rates are those of `../shared/traces`. Every seed draws arrivals and verdicts, and rates where they are made.
 */
import { JobPool } from '../../src/jobs/index.js';
import { benchArguments, benchNumber } from '../arguments.js';
import { inputsAt, measuresOf, saveResult } from '../results/result.js';
import type { FigureRow } from './figures/figure-rows.js';
import type { AskedRuns } from './figures/served-runs.js';
import {
  ablationTable,
  branchTable,
  byWorkload,
  goodputTable,
  markdown,
  ownWindowTable,
  possibleTable,
  rateTable,
  stageTable,
  type Table,
  waitTable,
  windowTable,
} from './figures/tables.js';
import { TRACE_VARIATIONS, type TraceName } from './made-traces.js';
import { hasPublished, PUBLISHED_FILES } from './published-traces.js';

const USAGE =
  'node dist/bench/pard/figures.js [--only fig8|fig11|da-branch] [--from published|made] [--seeds 5] [--seconds 1200] [--threads 2] [--json file]';
const TRACES = Object.keys(TRACE_VARIATIONS) as TraceName[];
const COMPARED = ['pard', 'nexus', 'clipper++', 'naive'];
const ABLATIONS = [
  ...['back', 'sf', 'oc', 'split', 'wcl', 'lower', 'upper', 'fcfs', 'hbf', 'lbf', 'instant'].map(
    (name) => `pard-${name}`,
  ),
];

type Shared = Pick<AskedRuns, 'durationS' | 'from'>;
type Asked = Omit<AskedRuns, keyof Shared | 'seed'>;

/** Shown is a part of the figures: what is served, and the tables of it. */
interface Shown {
  readonly asked: readonly Asked[];
  readonly tables: (rows: readonly FigureRow[]) => readonly (readonly [title: string, table: Table])[];
}

const named = (names: readonly string[]) => names.map((name) => ({ name, scheduler: name }));

const FIGURES: Readonly<Record<string, Shown>> = {
  fig8: {
    asked: (['tm', 'lv', 'ga', 'da'] as const).flatMap((application) =>
      TRACES.map((trace): Asked => ({ application, trace, servers: named(COMPARED), bounds: 'own-devices' })),
    ),
    tables: (rows) => {
      const all = byWorkload(rows);
      return [
        ['figure 8: drop rate, %', rateTable(all, ({ dropRate }) => dropRate, true)],
        ['figure 8: invalid rate, %', rateTable(all, ({ invalidRate }) => invalidRate, false)],
        ['drop rate above the least that is possible with the same devices, points', possibleTable(all)],
        ['figure 10: goodput of pard, and by how many percent it is above others', goodputTable(all)],
        ['figure 9: largest drop rate of a window, %', windowTable(all)],
        ...all.map((one): [string, Table] => [`figure 2c: drops by stage, %, ${one.name}`, stageTable(one)]),
        ...all.map((one): [string, Table] => [`waits, batches, devices, ${one.name}`, waitTable(one)]),
      ];
    },
  },
  fig11: {
    asked: [
      {
        application: 'lv',
        trace: 'tweet',
        bounds: 'own-devices',
        servers: named([...COMPARED, ...ABLATIONS]),
      },
    ],
    tables: (rows) =>
      byWorkload(rows).flatMap((one): [string, Table][] => [
        ['figure 11a: drop rate and invalid rate, %', ablationTable(one)],
        ['figures 2c and 11b: drops by stage, %', stageTable(one)],
        ['figure 2: largest drop rate of a window, %', ownWindowTable(one)],
        ['waits, batches, devices', waitTable(one)],
      ]),
  },
  'da-branch': {
    asked: TRACES.flatMap((trace) =>
      (['da', 'da-branch'] as const).map(
        (application): Asked => ({ application, trace, servers: named(['pard']), bounds: 'own-devices' }),
      ),
    ),
    tables: (rows) => [
      ['drop rate of pard, %', branchTable(byWorkload(rows))],
      [
        'drop rate above the least that is possible with the same devices, points',
        possibleTable(byWorkload(rows)),
      ],
    ],
  },
};

const { values } = benchArguments(USAGE, {
  only: { type: 'string' },
  from: { type: 'string', default: hasPublished() ? 'published' : 'made' },
  seeds: { type: 'string', default: '5' },
  seconds: { type: 'string', default: '1200' },
  threads: { type: 'string' },
  json: { type: 'string' },
});
const { only, from, json } = values;
if ((only !== undefined && FIGURES[only] === undefined) || (from !== 'made' && from !== 'published')) {
  process.stderr.write(`usage: ${USAGE}\n`);
  process.exit(2);
}
const seeds = benchNumber(USAGE, '--seeds', values.seeds);
const shared: Shared = { durationS: benchNumber(USAGE, '--seconds', values.seconds), from };
const threads = values.threads === undefined ? undefined : benchNumber(USAGE, '--threads', values.threads);
const pool = new JobPool<AskedRuns, FigureRow[], never>('#dist/bench/pard/figures/runs-worker.js', {
  what: 'simulation',
  threads,
});
const found: FigureRow[] = [];
try {
  for (const [name, { asked, tables }] of Object.entries(FIGURES)) {
    if (only !== undefined && name !== only) continue;
    const rows = (await pool.runAll(jobsOf(asked))).flat();
    found.push(...rows);
    if (json !== '-') for (const [title, table] of tables(rows)) show(title, table);
  }
} finally {
  await pool.close();
}
saveResult(json, {
  bench: 'pard-figures',
  options: { only: only ?? 'all', seeds, ...shared },
  inputs:
    from === 'made' ? {} : Object.assign({}, ...Object.values(PUBLISHED_FILES).map((path) => inputsAt(path))),
  measures: measuresOf(
    found,
    ({ application, trace, seed, server }) => `${application}-${trace}, seed ${seed}, ${server}`,
    {
      'drop rate': ({ dropRate }) => dropRate,
      'invalid rate': ({ invalidRate }) => invalidRate,
      'in time/s': ({ goodputRps }) => goodputRps,
    },
  ),
  rows: found,
});

function* jobsOf(asked: readonly Asked[]) {
  for (const one of asked)
    for (let seed = 0; seed < seeds; seed++)
      yield {
        name: `${one.application}-${one.trace}, seed ${seed}`,
        job: { ...one, ...shared, seed },
      };
}

function show(title: string, table: Table): void {
  process.stdout.write(`\n${title}\n\n${markdown(table)}`);
}
