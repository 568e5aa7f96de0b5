import { type Fault, fault, type GearPlan, proofFaults } from '../../formats/index.js';
import { isBetween } from '../figures.js';
import { gearFigureFaults } from './figure-faults.js';

/**
 * gearPlanFaults finds what is wrong with a gear plan that its schema cannot know: stages that gears or devices name and
 * the plan does not have, stages of no class or without a latency at their batch, models that no device holds or others than
 * it counts, load shares that are not one for each device of their stage, gears that leave loads out, and an SLO or a highest
 * load that is not that of the gears. It finds what `proofFaults` finds too.
 */
export function gearPlanFaults(plan: GearPlan): Fault[] {
  const { stages, gears, placement, slo, sloMs, maxRps, cluster } = plan;
  const names = stages.map(({ name }) => name);
  const holders = new Map<string, number>();
  const replicas = new Map<string, number>();
  for (const { stages: on, count = 1 } of placement)
    for (const name of on) {
      holders.set(name, (holders.get(name) ?? 0) + 1);
      replicas.set(name, (replicas.get(name) ?? 0) + count);
    }
  const last = gears.at(-1)?.toRps;
  const faults = [
    ...proofFaults(plan),
    ...(slo.latencyMs === undefined || slo.latencyMs === sloMs
      ? []
      : [fault(`is ${sloMs}; slo.latencyMs is ${slo.latencyMs}`, '/sloMs')]),
    // The end of the last range is divided and multiplied again, which may round.
    ...(last === undefined || isBetween(maxRps, last, last)
      ? []
      : [fault(`is ${maxRps}; the last gear is for loads up to ${last}`, '/maxRps')]),
    ...stages.flatMap((stage, i) =>
      holders.has(stage.name) && stage.replicas !== replicas.get(stage.name)
        ? [
            fault(
              `is ${stage.replicas}; ${replicas.get(stage.name)} devices hold it`,
              `/stages/${i}/replicas`,
            ),
          ]
        : [],
    ),
    ...stages.flatMap((stage, i) => stageFaults(stage, cluster, `/stages/${i}`)),
    ...names.flatMap((name, i) => [
      ...(names.indexOf(name) === i
        ? []
        : [fault(`${name} is the name of another stage too`, `/stages/${i}/name`)]),
      ...(holders.has(name) ? [] : [fault('is held by no device', `/stages/${i}`)]),
    ]),
    ...placement.flatMap(({ stages: on }, i) => unknownStages(on, names, `/placement/${i}/stages`)),
    ...gears.flatMap((gear, i) => gearFaults({ gear, before: gears[i - 1], names, holders }, `/gears/${i}`)),
  ];
  // The figures of gears whose stages are not there say nothing.
  return faults.length > 0 ? faults : gearFigureFaults(plan);
}

function stageFaults(
  { device, batch, latencyUsByBatch }: GearPlan['stages'][number],
  { devices }: GearPlan['cluster'],
  at: string,
): Fault[] {
  const full = latencyUsByBatch[batch - 1];
  return [
    ...(Object.hasOwn(devices, device)
      ? []
      : [fault(`is ${device}, which is no class of the cluster`, `${at}/device`)]),
    ...(latencyUsByBatch.length === batch && typeof full === 'number' && full > 0
      ? []
      : [fault(`has no latency at its batch ${batch}`, `${at}/latencyUsByBatch`)]),
  ];
}

function unknownStages(asked: readonly string[], names: readonly string[], at: string): Fault[] {
  return asked.flatMap((name, i) =>
    names.includes(name) ? [] : [fault(`names ${name}, which the plan does not have`, `${at}/${i}`)],
  );
}

function gearFaults(
  {
    gear: { cascade, fromRps, toRps },
    before,
    names,
    holders,
  }: {
    readonly gear: GearPlan['gears'][number];
    readonly before: GearPlan['gears'][number] | undefined;
    readonly names: readonly string[];
    readonly holders: ReadonlyMap<string, number>;
  },
  at: string,
): Fault[] {
  const places = cascade.map(({ stage }) => names.indexOf(stage));
  return [
    ...(fromRps === (before?.toRps ?? 0)
      ? []
      : [fault(`is ${fromRps}; the gear before ends at ${before?.toRps ?? 0}`, `${at}/fromRps`)]),
    ...(toRps > fromRps ? [] : [fault(`is ${toRps}, which is not above ${fromRps}`, `${at}/toRps`)]),
    ...cascade.flatMap(({ stage, threshold, loadShares }, step) => {
      const path = `${at}/cascade/${step}`;
      const isLast = step === cascade.length - 1;
      return [
        ...(places[step] === -1
          ? [fault(`names ${stage}, which the plan does not have`, `${path}/stage`)]
          : []),
        ...(isLast === (threshold === undefined)
          ? []
          : [fault(isLast ? 'is of the last step, which has none' : 'is missing', `${path}/threshold`)]),
        ...(loadShares.length === 0 || loadShares.length === (holders.get(stage) ?? 0)
          ? []
          : [
              fault(
                `are ${loadShares.length}; ${holders.get(stage) ?? 0} devices hold ${stage}`,
                `${path}/loadShares`,
              ),
            ]),
        ...(places[step] !== -1 && places.indexOf(places[step] as number) < step
          ? [fault(`${stage} comes a second time`, `${path}/stage`)]
          : []),
      ];
    }),
  ];
}
