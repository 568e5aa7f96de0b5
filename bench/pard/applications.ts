/**
 * This program measures what it is worth to know the SLO of each of two applications that share a pipeline, against taking
 * the least of them for all requests, as PARD does which has one:
 *
 *     node dist/bench/pard/applications.js [--only tm,lv] [--factor 3] [--share 0.5] [--loads 0.9,1.2,1.5]
 *         [--schedulers pard,room-first] [--seconds 60] [--seed 1] [--seeds 5] [--json file]
 *
 * The pipelines are those of PARD's evaluation with the devices that are up in their plans and no tuner. One application has
 * the pipeline's SLO, and the other `--factor` times it; `--share` of the requests are of the first. Loads are of the rate at
 * which the busiest devices have no time left. Requests are judged by their own SLO either way, so that an answer after the
 * least SLO is in time where its application's is longer. The drop rate is the share that is not in time.
 */
import { mean, sampleStandardDeviation } from 'simple-statistics';
import { type PipelinePlan, ToldFaults } from '../../src/formats/index.js';
import { applicationsOf, pipelineTopologyOf, planOf } from '../../src/plans/index.js';
import { streamsOf } from '../../src/random/index.js';
import { chosenScheduler, makeCore } from '../../src/serving/index.js';
import { arrivalsOf, drawnFates } from '../../src/simulation/index.js';
import { OutcomeCode, simulate } from '../../src/simulator/index.js';
import { benchArguments, benchNumber } from '../arguments.js';
import { measuresOf, saveResult } from '../results/result.js';
import { tableText } from '../results/table.js';
import { type ApplicationName, applicationPlan } from './workloads.js';

const USAGE =
  'node dist/bench/pard/applications.js [--only tm,lv] [--factor 3] [--share 0.5] [--loads 0.9,1.2,1.5] [--schedulers pard,room-first] [--seconds 60] [--seed 1] [--seeds 5] [--json file]';

const { values } = benchArguments(USAGE, {
  only: { type: 'string', default: 'tm,lv,ga,da' },
  factor: { type: 'string', default: '3' },
  share: { type: 'string', default: '0.5' },
  loads: { type: 'string', default: '0.9,1.2,1.5' },
  schedulers: { type: 'string', default: 'pard,room-first' },
  seconds: { type: 'string', default: '60' },
  seed: { type: 'string', default: '1' },
  seeds: { type: 'string', default: '5' },
  json: { type: 'string' },
});
const factor = benchNumber(USAGE, '--factor', values.factor);
const share = benchNumber(USAGE, '--share', values.share);
const seconds = benchNumber(USAGE, '--seconds', values.seconds);
const first = benchNumber(USAGE, '--seed', values.seed);
const seeds = Array.from({ length: benchNumber(USAGE, '--seeds', values.seeds) }, (_, i) => first + i);

/** Row has the drop rates of one scheduler at one load by seed: of the two applications and of all, with each SLO known or not. */
interface Row {
  readonly name: string;
  readonly load: number;
  readonly scheduler: string;
  readonly known: readonly Rates[];
  readonly least: readonly Rates[];
}

/** Rates are drop rates: of the application with the shorter SLO, of the other, and of all requests. */
type Rates = readonly [number, number, number];

const rows: Row[] = [];
for (const name of values.only.split(',')) {
  const plan = await withTwo(name as ApplicationName);
  for (const load of values.loads.split(',').map(Number))
    for (const scheduler of values.schedulers.split(',')) {
      const ratesOf = (slosMs: (ms: number) => number) =>
        seeds.map((seed) => dropRates(plan, { slosMs, load, scheduler, seed }));
      rows.push({ name, load, scheduler, known: ratesOf((ms) => ms), least: ratesOf(() => plan.sloMs) });
    }
}
if (values.json !== '-') process.stdout.write(tableText(tableOf(rows)));
const { json, ...options } = values;
saveResult(json, {
  bench: 'pard-applications',
  options,
  measures: measuresOf(rows, ({ name, load, scheduler }) => `${name} at ${load}, ${scheduler}`, {
    'drop rate, each SLO known': ({ known }) => known.map(([, , all]) => all),
    'drop rate, the least for all': ({ least }) => least.map(([, , all]) => all),
  }),
  rows,
});

/** withTwo gives the plan of a pipeline two applications. */
async function withTwo(name: ApplicationName): Promise<PipelinePlan> {
  const plan = await applicationPlan(name);
  const applications = [
    { name: 'short', sloMs: plan.sloMs, share },
    { name: 'long', sloMs: factor * plan.sloMs, share: 1 - share },
  ];
  return { ...plan, applications };
}

/**
 * dropRates serves a draw of the load.
 * @param asked.slosMs what the scheduler takes for the SLO of each application
 */
function dropRates(
  plan: PipelinePlan,
  asked: {
    readonly slosMs: (ms: number) => number;
    readonly load: number;
    readonly scheduler: string;
    readonly seed: number;
  },
): Rates {
  const { slosMs, load, scheduler, seed } = asked;
  const told = new ToldFaults();
  const chosen = chosenScheduler({ scheduler }, told);
  if (chosen === undefined) throw told.error(`serve by ${scheduler}`);
  const topology = pipelineTopologyOf(planOf(plan).withSlos(plan, slosMs));
  const applications = applicationsOf(plan);
  const counted = applications.map(({ sloMs }) => ({ sloNs: 1e6 * sloMs, arrived: 0, inTime: 0 }));
  simulate({
    topology,
    arrivals: arrivalsOf(
      {
        kind: 'drawn',
        process: 'poisson',
        durationNs: 1e9 * seconds,
        rps: applications.map(({ throughputRps }) => load * throughputRps),
      },
      applications,
      seed,
    ),
    makeCore: (decisions) => makeCore(chosen, topology, { decisions, streams: streamsOf(seed, 'core') }),
    verdict: drawnFates(plan, seed),
    observers: [
      {
        ended: (endNs, model, _request, arrivedAtNs, outcome) => {
          const own = counted[model] as (typeof counted)[number];
          own.arrived++;
          if (outcome !== OutcomeCode.dropped && endNs - arrivedAtNs <= own.sloNs) own.inTime++;
        },
      },
    ],
  });
  const [short, long] = counted.map(({ arrived, inTime }) => 1 - inTime / arrived);
  const sum = (of: 'arrived' | 'inTime') => counted.reduce((all, one) => all + one[of], 0);
  return [short as number, long as number, 1 - sum('inTime') / sum('arrived')];
}

function tableOf(all: readonly Row[]): string[][] {
  const percent = (part: number) => (100 * part).toFixed(2);
  const meansOf = (rates: readonly Rates[]) =>
    [0, 1, 2].map((k) => percent(mean(rates.map((one) => one[k] as number))));
  const lines = all.map(({ name, load, scheduler, known, least }) => {
    const fewer = known.map((rates, i) => 100 * ((least[i] as Rates)[2] - rates[2]));
    const error = fewer.length < 2 ? 0 : sampleStandardDeviation(fewer) / Math.sqrt(fewer.length);
    return [
      ...[name, String(load), scheduler, ...meansOf(least), ...meansOf(known)],
      `${mean(fewer).toFixed(2)} ± ${error.toFixed(2)}`,
    ];
  });
  const heads = [
    'pipeline',
    'load',
    'scheduler',
    'least: short',
    'long',
    'all',
    'known: short',
    'long',
    'all',
  ];
  return [[...heads, 'points fewer'], ...lines];
}
