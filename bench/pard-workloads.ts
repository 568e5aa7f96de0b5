/**
 * This benchmark shows the workloads of PARD's evaluation as `bench/pard/workloads.ts` makes them; it simulates nothing:
 *
 *     node dist/bench/pard-workloads.js [--seconds 1200] [--seeds 5] [--json file]
 *
 * - applications: the mean rate, and the batch, workers and standby devices of each stage, with latencies 0.7, 1 and 1.3
 *   times as long as stated.
 * - traces: the CV of the rate over time, and the highest rate in multiples of the mean; of rates that are made, by seed,
 *   and of the published traces of `../shared/traces`.
 */
import { replicaCount } from '../src/pipeline/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { madeRates, TRACE_VARIATIONS, type TraceName } from './pard/made-traces.js';
import { hasPublished, PUBLISHED_FILES, publishedRates } from './pard/published-traces.js';
import { rateVariation, smoothedRates } from './pard/rate-variation.js';
import { APPLICATIONS, sizedSpec } from './pard/workloads.js';
import { inputsAt, measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const USAGE = 'node dist/bench/pard-workloads.js [--seconds 1200] [--seeds 5] [--json file]';
const FACTORS = [1, 0.7, 1.3];

interface TraceRow {
  readonly trace: TraceName;
  readonly from: string;
  readonly variation: number;
  /** The highest smoothed rate over the mean. */
  readonly peak: number;
}

const { values } = benchArguments(USAGE, {
  seconds: { type: 'string', default: '1200' },
  seeds: { type: 'string', default: '5' },
  json: { type: 'string' },
});
const seconds = benchNumber(USAGE, '--seconds', values.seconds);
const seeds = benchNumber(USAGE, '--seeds', values.seeds);

await showApplications();
const rows = (Object.keys(TRACE_VARIATIONS) as TraceName[]).flatMap(rowsOf);
process.stdout.write(`\ntraces of ${seconds} s\n`);
process.stdout.write(
  tableText([
    ['trace', 'rates', 'CV', 'the paper', 'highest/mean'],
    ...rows.map(({ trace, from, variation, peak }) => {
      return [trace, from, variation.toFixed(3), `${TRACE_VARIATIONS[trace]}`, peak.toFixed(2)];
    }),
  ]),
);
saveResult(values.json, {
  bench: 'pard-workloads',
  options: { seconds, seeds },
  inputs: Object.assign({}, ...Object.values(PUBLISHED_FILES).map((path) => inputsAt(path))) as Record<
    string,
    string
  >,
  measures: measuresOf(rows, ({ trace, from }) => `${trace}, ${from}`, {
    CV: ({ variation }) => variation,
    'highest/mean': ({ peak }) => peak,
  }),
  rows,
});

async function showApplications(): Promise<void> {
  const cells = [['application', 'latencies', 'requests/s', 'GPUs', 'stages: batch, workers + standby']];
  for (const latencyFactor of FACTORS)
    for (const application of APPLICATIONS) {
      const { stages, load } = await sizedSpec(application, { latencyFactor });
      const gpus = stages.reduce((sum, stage) => sum + (replicaCount(stage) ?? 0), 0);
      const rps = load !== undefined && 'rps' in load ? load.rps : 0;
      const told = stages.map(
        ({ name, batch, replicas, standby }) => `${name} ${batch}, ${replicas} + ${standby}`,
      );
      cells.push([application, `${latencyFactor}`, `${rps}`, `${gpus}`, told.join('; ')]);
    }
  process.stdout.write(tableText(cells));
}

function rowsOf(trace: TraceName): TraceRow[] {
  const made = Array.from({ length: seeds }, (_, seed) => {
    return rowOf(trace, `made, seed ${seed}`, madeRates(trace, seconds, seed));
  });
  if (!hasPublished()) return made;
  const { rates, what } = publishedRates(trace, seconds);
  return [...made, rowOf(trace, what, rates)];
}

function rowOf(trace: TraceName, from: string, rates: Float64Array): TraceRow {
  return { trace, from, variation: rateVariation(rates), peak: Math.max(...smoothedRates(rates)) };
}
