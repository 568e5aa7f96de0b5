import { type TopologyOptions, topologyOf } from '../../src/plans/index.js';
import type { Stream } from '../../src/random/index.js';
import type { Pool, StageTopology, VirtualDevice } from '../../src/serving/index.js';
import { affine, type PipelineShape, planOf } from './plans.js';

const oneOf = <T>(stream: Stream, ...choices: readonly T[]): T => choices[stream.integer(choices.length)]!;

/**
 * randomTopology draws one to three models that share servers, with one to three pipelines of one to five stages.
 * Batches have up to 32 tasks and are of one size within a pipeline or not. SLOs range from shorter than any batch
 * takes to very long, and links from idle to the bottleneck.
 */
export function randomTopology(stream: Stream, options: TopologyOptions = {}): StageTopology {
  const models = Array.from({ length: oneOf(stream, 1, 1, 1, 2, 3) }, () => {
    const pipelines = Array.from({ length: 1 + stream.integer(3) }, () => randomPipeline(stream));
    const longestUs = Math.max(...pipelines.map(({ parts }) => parts.reduce(added, 0)));
    return { sloMs: (longestUs / 1000) * oneOf(stream, 0.2, 0.7, 1.2, 1.7, 1.7, 4, 100), pipelines };
  });
  const plan = planOf(models, oneOf(stream, 1, 10, 10, 100));
  const servers = oneOf(stream, 1, 1 + Math.floor(plan.placement.length / 3), 1000);
  plan.placement = plan.placement.map((place) => ({ ...place, server: `s${stream.integer(servers)}` }));
  return topologyOf(plan, options);
}

/** added adds the time that a full batch takes in a stage and on a link of 10 Gbps. */
function added(sumUs: number, { batch, latencyUs, transferBytes }: PipelineShape['parts'][number]): number {
  return sumUs + (latencyUs(batch) as number) + (batch * (transferBytes as number)) / 1250;
}

function randomPipeline(stream: Stream): PipelineShape {
  const batch = oneOf(stream, 1, 1, 2, 3, 4, 8, 16, 32);
  const alike = stream.uniform() < 0.6;
  const parts = Array.from({ length: 1 + stream.integer(5) }, () => ({
    batch: alike ? batch : oneOf(stream, 1, 2, 4, 5, 8, 16, 32),
    virtualGpus: 1 + stream.integer(5),
    latencyUs: randomLatency(stream),
    // A transfer of a few bytes takes no time, or only takes some for many rows.
    transferBytes: oneOf(stream, 0, 5, 1000, 200_000, stream.integer(3_000_000)),
  }));
  const least = Math.min(...parts.map((part) => part.batch));
  const rates = parts.map(
    ({ virtualGpus, latencyUs }) => (virtualGpus * least * 1e6) / (latencyUs(least) as number),
  );
  return { throughputRps: Math.min(...rates), parts };
}

/** randomLatency draws latencies that grow with the rows, always or mostly. */
function randomLatency(stream: Stream): (batch: number) => number {
  const even = affine(200 + stream.integer(9000), 20 + stream.integer(3000));
  if (stream.uniform() < 0.7) return even;
  const factors = Array.from({ length: 32 }, () => 0.5 + stream.uniform());
  return (batch) => even(batch) * (factors[batch - 1] as number);
}

/**
 * randomArrivals draws `perModel` or a few more arrivals of each model. They are Poisson or come in bursts of one
 * instant, at loads from hardly any to three times the planned one.
 */
export function randomArrivals(
  stream: Stream,
  { models }: StageTopology,
  perModel: number,
): { atNs: number; model: number }[] {
  const load = oneOf(stream, 0.05, 0.5, 0.9, 1, 1.3, 3);
  const burst = oneOf(stream, 1, 1, 60);
  return models
    .flatMap(({ throughputRps }, model) => {
      const all: { atNs: number; model: number }[] = [];
      let atNs = 0;
      while (all.length < perModel) {
        const together = 1 + stream.integer(burst);
        for (let i = 0; i < together; i++) all.push({ atNs: Math.round(atNs), model });
        atNs += (1e9 / (throughputRps * load)) * together * stream.exponential();
      }
      return all;
    })
    .sort((a, b) => a.atNs - b.atNs);
}

/**
 * withClasses gives the devices of most pools classes, one to three a pool, which take 0.4 to 4 times as long as planned. Pools
 * whose devices serve others too stay as they are.
 */
export function withClasses(stream: Stream, { pools, devices, ...topology }: StageTopology): StageTopology {
  const classOf = new Map<number, number>();
  const unequal = pools.map((pool): Pool => {
    const isAlone = pool.devices.every((device) => devices[device]!.otherPools === undefined);
    if (!isAlone || pool.devices.some((device) => devices[device]!.pool !== pools.indexOf(pool))) return pool;
    if (stream.uniform() < 0.2) return pool;
    const classes = Array.from({ length: 1 + stream.integer(3) }, () => {
      const factor = oneOf(stream, 1, 1, 0.4 + 3.6 * stream.uniform());
      const latencyNs = pool.latencyNs.map((ns) => Math.round(ns * factor));
      return { deviceClass: `by ${factor}`, virtual: 1, latencyNs };
    });
    const counts = classes.map(() => 0);
    for (const device of pool.devices) {
      const one = stream.integer(classes.length);
      classOf.set(device, one);
      counts[one]! += 1;
    }
    const rates = classes.map(({ latencyNs }, k) => counts[k]! / latencyNs.at(-1)!);
    const all = rates.reduce((sum, rate) => sum + rate, 0);
    const latencyNs = pool.latencyNs.map((_, i) =>
      Math.round(rates.reduce((sum, rate, k) => sum + (rate / all) * classes[k]!.latencyNs[i]!, 0)),
    );
    return { ...pool, latencyNs, classes };
  });
  const own = devices.map((device, d): VirtualDevice => {
    const poolClass = classOf.get(d);
    return poolClass === undefined ? device : { ...device, poolClass };
  });
  return { ...topology, pools: unequal, devices: own };
}
