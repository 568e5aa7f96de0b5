import type { OpenCluster, StagePlacement } from '../artifacts/index.js';
import { seatsOf } from '../artifacts/index.js';
import type { StageGraph } from './graph.js';
import { linkUs } from './transfers.js';

/** LinkUse is how long a set of devices uses links for a request to the pipeline, on average, all of its devices together. */
export interface LinkUse {
  /** The seconds that its servers send for it. */
  readonly upS: number;
  /** The seconds that its servers receive for it. */
  readonly downS: number;
}

const NONE: LinkUse = { upS: 0, downS: 0 };

/** SentStages says what the stages of a pipeline send, and on which devices they are. */
interface SentStages {
  readonly graph: StageGraph;
  readonly cluster: OpenCluster;
  /** The probability that a request visits each stage. */
  readonly factors: readonly number[];
  /** The bytes that a row sends along each edge of each stage. */
  readonly bytes: readonly (readonly number[])[];
  /** The sets of devices, with the stages that each holds. */
  readonly sets: readonly { readonly device: string; readonly stages: readonly number[] }[];
}

/** linkUses says for each set of devices how it uses links. */
export function linkUses({ graph, cluster, factors, bytes, sets }: SentStages): LinkUse[] {
  const setOf = graph.names.map((_, i) => sets.findIndex(({ stages }) => stages.includes(i)));
  const uses = sets.map(() => ({ ...NONE }));
  graph.edges.forEach((edges, from) => {
    edges.forEach(({ to, probability }, k) => {
      const [sender, receiver] = [setOf[from] as number, setOf[to] as number];
      const classes = [sets[sender]?.device as string, sets[receiver]?.device as string] as const;
      const us = linkUs(cluster, classes, bytes[from]?.[k] as number);
      const perRequestS = (us / 1e6) * (factors[from] as number) * probability;
      uses[sender]!.upS += perRequestS;
      uses[receiver]!.downS += perRequestS;
    });
  });
  return uses;
}

/**
 * uplinksRps is the mean rate up to which no server has more to send than time for it, where the devices of each set serve
 * alike many requests; Infinity where nothing takes time on a link. No link is counted by which a server receives, as it
 * is not known where a batch will be served next when it is sent: simulations do not wait for those either.
 * @param upS how long a device that holds these stages sends for a request, on average
 */
export function uplinksRps(
  placement: readonly StagePlacement[],
  { devices }: OpenCluster,
  upS: (stages: readonly string[]) => number,
): number {
  const sent = new Map<string, number>();
  for (const { place, server } of seatsOf(placement, devices))
    if (place.standby !== true) sent.set(server, (sent.get(server) ?? 0) + upS(place.stages));
  let most = 0;
  for (const busyS of sent.values()) most = Math.max(most, busyS);
  return 1 / most;
}
