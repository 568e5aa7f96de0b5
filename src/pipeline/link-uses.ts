import { itemAt } from '../collections/index.js';
import type { OpenCluster, PlannedStage, StagePlacement } from '../formats/index.js';
import { seatsOf } from '../formats/index.js';
import type { StageGraph } from '../plans/index.js';
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
  /** The share of a stage's requests that each set serves. */
  readonly shares: readonly number[];
}

/** linkUses says for each set of devices how it uses links. */
export function linkUses({ graph, cluster, factors, bytes, sets, shares }: SentStages): LinkUse[] {
  const serving = graph.names.map((_, i) => [...sets.keys()].filter((k) => sets[k]?.stages.includes(i)));
  const uses = sets.map(() => ({ ...NONE }));
  graph.edges.forEach((edges, from) => {
    edges.forEach(({ to, probability }, k) => {
      for (const sender of itemAt(serving, from))
        for (const receiver of itemAt(serving, to)) {
          const classes = [sets[sender]?.device as string, sets[receiver]?.device as string] as const;
          const us = linkUs(cluster, classes, bytes[from]?.[k] as number);
          const share = (shares[sender] as number) * (shares[receiver] as number);
          const perRequestS = (us / 1e6) * (factors[from] as number) * probability * share;
          itemAt(uses, sender).upS += perRequestS;
          itemAt(uses, receiver).downS += perRequestS;
        }
    });
  });
  return uses;
}

/**
 * uplinksRps is the mean rate up to which no server has more to send than time for it, where the devices of each set serve
 * alike many requests; Infinity where nothing takes time on a link. No link is counted by which a server receives, as it
 * is not known where a batch will be served next when it is sent: simulations do not wait for those either.
 * @param upS how long a device at such a place sends for a request, on average
 */
export function uplinksRps(
  placement: readonly StagePlacement[],
  cluster: OpenCluster,
  upS: (on: StagePlacement) => number,
): number {
  let most = 0;
  for (const { upS: busyS } of sentByServer(placement, cluster, upS)) most = Math.max(most, busyS);
  return 1 / most;
}

/** SendingServer is a server with how long it sends for a request to the pipeline, on average. */
interface SendingServer {
  readonly server: string;
  readonly class: string;
  /** The stages on it that send. */
  readonly stages: readonly string[];
  readonly upS: number;
}

function sentByServer(
  placement: readonly StagePlacement[],
  { devices }: OpenCluster,
  upS: (on: StagePlacement) => number,
): SendingServer[] {
  const sent = new Map<string, SendingServer>();
  for (const { place, server } of seatsOf(placement, devices)) {
    const more = place.standby === true ? 0 : upS(place);
    if (more === 0) continue;
    const known = sent.get(server);
    const stages = [...new Set([...(known?.stages ?? []), ...place.stages])];
    sent.set(server, { server, class: place.class, stages, upS: (known?.upS ?? 0) + more });
  }
  return [...sent.values()];
}

/** busiestUplink names the server of a plan whose devices, each of one stage, send longest for a request on average. */
export function busiestUplink(
  placement: readonly StagePlacement[],
  cluster: OpenCluster,
  stages: readonly PlannedStage[],
): SendingServer | undefined {
  const deviceOf = new Map(stages.map(({ name, device }) => [name, device]));
  const upS = new Map(
    stages.map(({ name, device, next, scaleFactor, replicas }) => {
      const visitUs = next.map(({ to, probability = 1, transferBytes }) => {
        return probability * linkUs(cluster, [device, deviceOf.get(to) as string], transferBytes);
      });
      return [name, (scaleFactor * visitUs.reduce((sum, us) => sum + us, 0)) / 1e6 / replicas];
    }),
  );
  const all = sentByServer(placement, cluster, (on) =>
    on.stages.reduce((sum, name) => sum + (upS.get(name) ?? 0), 0),
  );
  return all.sort((a, b) => b.upS - a.upS)[0];
}
