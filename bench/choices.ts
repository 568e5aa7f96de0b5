/**
 * This benchmark compares choices that no preset makes with the policy of their scheduler, over the same
 * arrivals:
 *
 *     node dist/bench/choices.js [--loads 0.5,0.9,1.1] [--seconds 5] [--seeds 4] [--jitter 0] [--only word]
 *
 * The plans are that of examples/pooled and, where the published data lie beside the checkout, the published
 * ones; the published one-model plans are shown as their mean, and so are those of three models. `--jitter`
 * is the coefficient of variation of executions, and `--only` names a part of the choices that are shown.
 */
import { existsSync, readFileSync } from 'node:fs';
import { type PooledPlan, ToldFaults } from '../src/formats/index.js';
import { topologyOf } from '../src/plans/index.js';
import { streamOf, streamsOf } from '../src/random/index.js';
import { type ChosenScheduler, chosenScheduler, makeCore, type StageTopology } from '../src/serving/index.js';
import { simulate } from '../src/simulator/index.js';
import { DrawnArrivals, mergedArrivals, steadyLoad } from '../src/workload/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { profilesIn, publishedInstances, publishedPlan } from './ppipe/plans.js';

const EXAMPLE = new URL('../../examples/pooled/expected-plan.json', import.meta.url);
const PUBLISHED = new URL('../../../shared/data/ppipe/', import.meta.url);
/** CHOICES lists the choices of each scheduler that are compared with its own, as `--policy` takes them. */
const CHOICES: readonly (readonly [scheduler: string, policy: readonly string[]])[] = [
  ['stage-local', ['drop=expired']],
  ['stage-local', ['drop=hopeless']],
  ['stage-local', ['formation=last-moment', 'formation.leaves=transfer', 'formation.stepNs=1']],
  ['reactive', ['drop=expired']],
  ['reactive', ['drop=hopeless']],
  ['reactive', ['drop.share=0']],
  ['reservation', ['lateSingles=as-others']],
  ['reservation', ['firstSight=never']],
  ['reservation', ['askOthers=false']],
];
const USAGE =
  'node dist/bench/choices.js [--loads 0.5,0.9,1.1] [--seconds 5] [--seeds 4] [--jitter 0] [--only word]';

const { values } = benchArguments(USAGE, {
  loads: { type: 'string', default: '0.5,0.9,1.1' },
  seconds: { type: 'string', default: '5' },
  seeds: { type: 'string', default: '4' },
  jitter: { type: 'string', default: '0' },
  only: { type: 'string', default: '' },
});
const loads = values.loads.split(',').map((text) => benchNumber(USAGE, '--loads', text));
const seconds = benchNumber(USAGE, '--seconds', values.seconds);
const seeds = Array.from({ length: benchNumber(USAGE, '--seeds', values.seeds) }, (_, i) => i + 1);
const jitter = benchNumber(USAGE, '--jitter', values.jitter);

/** Shares of the requests, in percent. */
interface Shares {
  readonly inTime: number;
  readonly dropped: number;
}

for (const [plans, topologies] of plansToSimulate()) {
  process.stdout.write(`\n| ${plans} | ${loads.map((load) => `at ${load}`).join(' | ')} |\n`);
  process.stdout.write(`| --- |${' --- |'.repeat(loads.length)}\n`);
  const known = new Map<string, Shares[][]>();
  for (const [scheduler, policy] of CHOICES) {
    if (!`${scheduler} ${policy.join(' ')}`.includes(values.only)) continue;
    const own = known.get(scheduler) ?? simulated(topologies, schedulerOf(scheduler, []));
    if (!known.has(scheduler))
      process.stdout.write(`| **\`${scheduler}\`** | ${own.map(shown).join(' | ')} |\n`);
    known.set(scheduler, own);
    const chosen = simulated(topologies, schedulerOf(scheduler, policy));
    const cells = chosen.map((runs, i) => difference(runs, own[i] as Shares[]));
    process.stdout.write(`| ${policy.map((text) => `\`${text}\``).join(' ')} | ${cells.join(' | ')} |\n`);
  }
}

function plansToSimulate(): [string, StageTopology[]][] {
  const example = JSON.parse(readFileSync(EXAMPLE, 'utf8')) as PooledPlan;
  const sets: [string, StageTopology[]][] = [['examples/pooled', [topologyOf(example)]]];
  if (!existsSync(PUBLISHED)) return sets;
  const profileOf = profilesIn(PUBLISHED);
  for (const models of [1, 3]) {
    const instances = publishedInstances(PUBLISHED).filter((instance) => instance.models.length === models);
    const plans = instances.flatMap((instance) => publishedPlan(instance, 'reference', { profileOf }) ?? []);
    sets.push([`published, models: ${models}`, plans.map((plan) => topologyOf(plan))]);
  }
  return sets;
}

function schedulerOf(scheduler: string, policy: readonly string[]): ChosenScheduler {
  const told = new ToldFaults();
  const chosen = chosenScheduler({ scheduler, policy }, told);
  if (chosen === undefined || told.count > 0) throw told.error('compare choices');
  return chosen;
}

/** simulated gives, by load and seed, the mean shares over the plans. */
function simulated(topologies: readonly StageTopology[], scheduler: ChosenScheduler): Shares[][] {
  return loads.map((load) =>
    seeds.map((seed) => {
      const runs = topologies.map((topology) => simulatedOnce(topology, scheduler, load, seed));
      return {
        inTime: mean(runs.map(({ inTime }) => inTime)),
        dropped: mean(runs.map(({ dropped }) => dropped)),
      };
    }),
  );
}

function simulatedOnce(
  topology: StageTopology,
  scheduler: ChosenScheduler,
  load: number,
  seed: number,
): Shares {
  const arrivals = topology.models.map(
    ({ name, throughputRps }, model) =>
      new DrawnArrivals({
        process: 'poisson',
        load: steadyLoad(load * throughputRps, seconds),
        stream: streamOf(seed, `arrivals/${name}`),
        model,
      }),
  );
  const executions = streamOf(seed, 'executions');
  const variance = Math.log(1 + jitter * jitter);
  const { requests, inTime, dropped } = simulate({
    topology,
    makeCore: (decisions) => makeCore(scheduler, topology, { decisions, streams: streamsOf(1, 'core') }),
    arrivals: mergedArrivals(arrivals),
    execution: (_pool, _size, plannedNs) =>
      plannedNs * Math.exp(Math.sqrt(variance) * executions.normal() - variance / 2),
  });
  return { inTime: (100 * inTime) / requests, dropped: (100 * dropped) / requests };
}

/** shown is the share in time with its spread over the seeds, and the share dropped in brackets. */
function shown(runs: readonly Shares[]): string {
  const inTime = runs.map((run) => run.inTime);
  return `${mean(inTime).toFixed(2)} ± ${deviation(inTime).toFixed(2)} (${mean(runs.map((run) => run.dropped)).toFixed(2)})`;
}

/** difference gives how a choice changes these shares, seed by seed. */
function difference(runs: readonly Shares[], own: readonly Shares[]): string {
  const inTime = runs.map((run, i) => run.inTime - (own[i] as Shares).inTime);
  const dropped = runs.map((run, i) => run.dropped - (own[i] as Shares).dropped);
  return `${signed(mean(inTime))} ± ${deviation(inTime).toFixed(2)} (${signed(mean(dropped))})`;
}

function signed(points: number): string {
  const text = Math.abs(points).toFixed(2);
  return Number(text) === 0 ? text : `${points > 0 ? '+' : '−'}${text}`;
}

function mean(list: readonly number[]): number {
  return list.reduce((sum, value) => sum + value, 0) / list.length;
}

function deviation(list: readonly number[]): number {
  const middle = mean(list);
  return Math.sqrt(
    list.reduce((sum, value) => sum + (value - middle) ** 2, 0) / Math.max(1, list.length - 1),
  );
}
