import { itemAt } from '../collections/index.js';
import { type PipelineSpec, toldApart } from '../formats/index.js';
import { busiestUplink, type GivenReason, objectivesOf } from '../pipeline/index.js';
import type { PipelinePlanBody } from '../plans/index.js';
import type { NearestLinked } from './linked.js';

/**
 * busyLinks says which server's link is in the way of the plan that came nearest to the objectives, and what would help:
 * more work does where a limit cut the search off, and only then.
 */
export function busyLinks(
  { placement, cluster, stages, rps = 0 }: PipelinePlanBody,
  { attainments, isCut }: NearestLinked,
  spec: PipelineSpec,
): GivenReason | undefined {
  const busiest = busiestUplink(placement, cluster, stages);
  if (busiest === undefined) return undefined;
  const { server, class: device, stages: sending, upS } = busiest;
  const busyShare = rps * upS;
  const missed = objectivesOf(spec).findIndex(({ attainment }, k) => (attainments[k] as number) < attainment);
  const { attainment, sloMs, name } = itemAt(objectivesOf(spec), missed);
  const own = name === undefined ? '' : ` of ${name}`;
  const [reached, wanted] = toldApart([100 * (attainments[missed] as number), 100 * attainment]);
  const isLimited = cluster.devices[device]?.count !== undefined;
  const isSpread = maySpread(
    spec,
    sending,
    placement.filter((place) => place.server === server).flatMap((place) => place.stages),
  );
  const helps = [
    ...(isLimited && isSpread ? [`more servers of ${device}`] : []),
    ...['faster links (linkGbps, networkGbps)', 'a longer SLO'],
    ...(isCut ? ['a longer search'] : []),
  ];
  const text = `over idle links there is a plan, but batches wait for links: in the plan that came nearest, the uplink of ${server} (class ${device}), which sends for ${sending.join(', ')}, would be busy for ${percent(busyShare)} of the time at ${Number(rps.toPrecision(3))} requests/s, and ${reached} %${own} of a draw of the load are in time, where ${wanted} % must be within ${sloMs} ms; ${helps.slice(0, -1).join(', ')} or ${helps.at(-1)} would help`;
  return { code: 'links-too-busy', class: device, stages: sending, busyShare, rps, sloMs, attainment, text };
}

/**
 * maySpread says whether stages could send from more servers: the planner chooses the replicas of one, or one server has
 * several of those that the spec fixes.
 * @param held the stages on the devices of the server, one by one
 */
function maySpread({ stages }: PipelineSpec, sending: readonly string[], held: readonly string[]): boolean {
  const isChosen = stages.some(({ name, replicas }) => sending.includes(name) && replicas === undefined);
  return isChosen || held.filter((name) => sending.includes(name)).length > 1;
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(3))} %`;
}
