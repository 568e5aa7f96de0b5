/**
 * This benchmark serves the bundle of a gear plan under steady loads and under a spike, and simulates the same arrivals:
 *
 *     node dist/bench/live-gears.js bundle/ --samples test.npy --labels test-labels.csv [--records test-records.csv]
 *                                   [--rates 60,150,250] [--seconds 20] [--warm 5] [--repeats 3] [--seed 0]
 *                                   [--json file]
 *
 * The spike goes from the lowest rate to the highest and back, each for `--seconds`. For each load it prints the share of
 * right answers live beside the simulated one, p95 and the share in time live beside simulated, and how often the gear changed:
 * the median of the repeats, which have arrivals of their own. The client is a process of its own, and a load of `--warm`
 * seconds at the lowest rate goes before the first. `--records` has what the models say of the samples that are sent, so
 * that the simulation escalates the same requests; else it answers by the records of the plan.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median } from 'simple-statistics';
import { simulatePlan } from '../src/api/index.js';
import { BUNDLE_MANIFEST } from '../src/artifacts/index.js';
import { startServer } from '../src/runtime/index.js';
import { Decision } from '../src/serving/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { arrivalsText, startClient } from './live/client.js';
import { inputsAt, measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const USAGE =
  'node dist/bench/live-gears.js <bundle folder> --samples test.npy --labels test-labels.csv [--records test-records.csv] [--rates 60,150,250] [--seconds 20] [--warm 5] [--repeats 3] [--seed 0] [--json file]';

/** Served is what became of one load, live and simulated. */
interface Served {
  readonly right: number;
  readonly p95Ms: number;
  readonly inTime: number;
  readonly unanswered: number;
  readonly shifts: number;
  readonly simulatedRight: number;
  readonly simulatedP95Ms: number;
  readonly simulatedInTime: number;
  readonly simulatedShifts: number;
}

type Phases = readonly { readonly rps: number; readonly durationS: number }[];

const { values, positionals } = benchArguments(USAGE, {
  samples: { type: 'string' },
  labels: { type: 'string' },
  records: { type: 'string' },
  rates: { type: 'string', default: '60,150,250' },
  seconds: { type: 'string', default: '20' },
  warm: { type: 'string', default: '5' },
  repeats: { type: 'string', default: '3' },
  seed: { type: 'string', default: '0' },
  json: { type: 'string' },
});
const [bundle] = positionals;
const { samples, labels, records, json, ...options } = values;
if (bundle === undefined || samples === undefined || labels === undefined) {
  process.stderr.write(`usage: ${USAGE}\n`);
  process.exit(2);
}
const asNumber = (name: string, text: string): number => benchNumber(USAGE, `--${name}`, text);
const rates = options.rates.split(',').map((rate) => asNumber('rates', rate));
const durationS = asNumber('seconds', options.seconds);
const [lowest, highest] = [Math.min(...rates), Math.max(...rates)];
const loads: readonly { readonly name: string; readonly phases: Phases }[] = [
  ...rates.map((rps) => ({ name: `${rps}/s`, phases: [{ rps, durationS }] })),
  {
    name: `${lowest}/s, ${highest}/s, ${lowest}/s`,
    phases: [lowest, highest, lowest].map((rps) => ({ rps, durationS })),
  },
];
const folder = await mkdtemp(join(tmpdir(), 'live-gears-'));
let shifts = 0;
const server = await startServer(bundle, {
  port: 0,
  onDecision: ([word, decision]) => {
    if (word === 'said' && decision === Decision.shift) shifts += 1;
  },
});
try {
  await served([{ rps: lowest, durationS: asNumber('warm', options.warm) }], -1);
  const seed = asNumber('seed', options.seed);
  const repeats = asNumber('repeats', options.repeats);
  const rows = [];
  for (const { name, phases } of loads) {
    const all: Served[] = [];
    for (let k = 0; k < repeats; k++) all.push(await served(phases, seed + k));
    const of = (figure: keyof Served) => median(all.map((one) => one[figure]));
    const figures = Object.fromEntries(
      (Object.keys(all[0] as Served) as (keyof Served)[]).map((key) => [key, of(key)]),
    );
    rows.push({ name, ...(figures as unknown as Served), all });
  }
  process.stdout.write(
    tableText([
      [
        'load',
        'right: live',
        'simulated',
        'p95 ms: live',
        'simulated',
        'in time: live',
        'simulated',
        'gear changes: live',
        'simulated',
        'no answer',
      ],
      ...rows.map((row) => [
        row.name,
        ...[row.right, row.simulatedRight].map(percent),
        ...[row.p95Ms, row.simulatedP95Ms].map((ms) => ms.toFixed(1)),
        ...[row.inTime, row.simulatedInTime].map(percent),
        ...[row.shifts, row.simulatedShifts, row.unanswered].map(String),
      ]),
    ]),
  );
  saveResult(json, {
    bench: 'live-gears',
    options: { bundle, ...options },
    inputs: inputsAt(join(bundle, BUNDLE_MANIFEST), 'the bundle'),
    measures: measuresOf(rows, ({ name }) => name, {
      'live p95 ms': ({ p95Ms }) => p95Ms,
      'simulated p95 ms': ({ simulatedP95Ms }) => simulatedP95Ms,
    }),
    rows,
  });
} finally {
  await server.close();
  await rm(folder, { recursive: true });
}

async function served(phases: Phases, seed: number): Promise<Served> {
  const trace = join(folder, 'arrivals.csv');
  await writeFile(trace, arrivalsText([...phases], seed));
  const shiftsBefore = shifts;
  const { report: ended } = await startClient({
    url: server.url,
    trace,
    samples: samples as string,
    labels: labels as string,
  });
  const report = await ended;
  const simulated = await simulatePlan(bundle as string, { traces: [trace], records });
  const { overall, cascade } = simulated.report;
  const { labelled } = report;
  return {
    right: labelled === undefined ? Number.NaN : labelled.right / labelled.answered,
    p95Ms: report.latencyMs?.p95 ?? Number.NaN,
    inTime: report.attainment ?? Number.NaN,
    unanswered: report.sent - (labelled?.answered ?? 0),
    shifts: shifts - shiftsBefore,
    simulatedRight: cascade?.accuracy ?? Number.NaN,
    simulatedP95Ms: overall.latencyMs?.p95 ?? Number.NaN,
    simulatedInTime: overall.attainment ?? Number.NaN,
    simulatedShifts: cascade?.shifts ?? 0,
  };
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
