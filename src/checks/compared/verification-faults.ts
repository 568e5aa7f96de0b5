import { largestOf, smallestOf } from '../../collections/index.js';
import {
  type Fault,
  fault,
  type Verification,
  type VerifiedFigure,
  type VerifiedFigureName,
} from '../../formats/index.js';
import { addedUp, givenFaults, isBetween, rangeFaults, shareFaults } from '../figures.js';
import { gateFaults } from '../gate-faults.js';

const SHARES: readonly VerifiedFigureName[] = ['attainment', 'dropRate', 'accuracy'];
const RANKED: readonly VerifiedFigureName[] = [
  'p50LatencyMs',
  'p90LatencyMs',
  'p95LatencyMs',
  'p99LatencyMs',
];
const SIDES = ['simulated', 'live'] as const;

/**
 * verificationFaults finds where a verification contradicts itself: differences that are not those of the two sides, shares,
 * percentiles and rates that cannot be true together, causes that do not add up, and a verdict that the attainments do not give.
 */
export function verificationFaults(verification: Verification): Fault[] {
  const { figures, models, priorities = [], executions, answeredBy = [], causes, within } = verification;
  const lists = [
    { at: '/figures', figures },
    ...models.map((model, m) => ({ at: `/models/${m}/figures`, figures: model.figures })),
    ...priorities.map((one, p) => ({ at: `/priorities/${p}/figures`, figures: one.figures })),
  ];
  const faults = lists.flatMap((list) => listFaults(list.figures, list.at));
  if (faults.length > 0) return faults;
  return [
    ...(Number.isInteger(verification.requests) && verification.requests >= 0
      ? []
      : [fault(`is ${verification.requests}`, '/requests')]),
    ...countFaults(verification),
    ...batchFaults(executions, figures),
    ...(causes === undefined ? [] : causeFaults(causes, figures)),
    ...SIDES.flatMap((side) => {
      const all = addedUp(answeredBy.map((one) => one[side]));
      return all === 0 ? [] : givenFaults(all, 1, '/answeredBy');
    }),
    ...answeredBy.flatMap((one, i) =>
      SIDES.flatMap((side) => shareFaults(one[side], `/answeredBy/${i}/${side}`)),
    ),
    ...(within === undefined ? [] : withinFaults(within, [figures, ...models.map((model) => model.figures)])),
    ...correctedFaults(verification),
    ...gateFaults(verification, ({ model }) => ({
      value: attainmentOff(models.find(({ name }) => name === model)?.figures ?? figures),
    })),
  ];
}

function listFaults(figures: readonly VerifiedFigure[], at: string): Fault[] {
  const of = (name: VerifiedFigureName, side: (typeof SIDES)[number]) =>
    figures.find((one) => one.name === name)?.[side];
  const ranks = RANKED.map((name) => figures.findIndex((one) => one.name === name)).filter((i) => i >= 0);
  return [
    ...figures.flatMap(({ name, simulated, live, difference }, i) => [
      ...givenFaults(
        difference,
        simulated === undefined || live === undefined ? undefined : live - simulated,
        `${at}/${i}/difference`,
      ),
      ...SIDES.flatMap((side) => {
        const value = side === 'live' ? live : simulated;
        if (SHARES.includes(name)) return shareFaults(value, `${at}/${i}/${side}`);
        return value === undefined || value >= 0
          ? []
          : [fault(`is ${value}, less than 0`, `${at}/${i}/${side}`)];
      }),
      ...(figures.findIndex((one) => one.name === name) === i
        ? []
        : [fault(`is ${name}, as another is`, `${at}/${i}/name`)]),
    ]),
    ...SIDES.flatMap((side) => [
      ...ranks.flatMap((i, k) => {
        const before = figures[ranks[k - 1] ?? -1]?.[side];
        const value = figures[i]?.[side];
        return before === undefined || value === undefined || value >= before
          ? []
          : [fault(`is ${value}, below the percentile before it, ${before}`, `${at}/${i}/${side}`)];
      }),
      ...((of('goodputRps', side) ?? 0) <=
      (of('throughputRps', side) ?? Number.POSITIVE_INFINITY) * (1 + 1e-9)
        ? []
        : [fault(`has a goodput above its throughput, ${side}`, at)]),
      ...((of('attainment', side) ?? 0) + (of('dropRate', side) ?? 0) <= 1 + 1e-9
        ? []
        : [fault(`has shares in time and dropped that are above 1 together, ${side}`, at)]),
      ...meanFaults(of('meanLatencyMs', side), of('p50LatencyMs', side), `${at}: ${side}`),
    ]),
  ];
}

function meanFaults(mean: number | undefined, p50: number | undefined, at: string): Fault[] {
  return mean === undefined || p50 === undefined || mean >= (p50 / 2) * (1 - 1e-9)
    ? []
    : [fault(`has a mean of ${mean}, and half took ${p50}`, at)];
}

/** countFaults finds shares and rates of the simulation that are of no whole number of its requests. */
function countFaults({ requests, figures }: Verification): Fault[] {
  return figures.flatMap(({ name, simulated }, i) => {
    if ((name !== 'attainment' && name !== 'dropRate') || simulated === undefined) return [];
    const count = simulated * requests;
    if (Math.abs(count - Math.round(count)) <= 1e-6 * Math.max(1, requests)) return [];
    return [
      fault(`gives ${count} of ${requests} requests, which is no whole number`, `/figures/${i}/simulated`),
    ];
  });
}

function batchFaults(executions: Verification['executions'], figures: readonly VerifiedFigure[]): Fault[] {
  const batches = figures.findIndex(({ name }) => name === 'batches');
  const told = figures[batches];
  const simulated = addedUp(executions.map((one) => one.simulatedBatches));
  const live = addedUp(executions.map((one) => one.liveBatches));
  return [
    ...executions.flatMap(({ plannedUs, measuredUs, factor, simulatedBatches, liveBatches }, i) => {
      const at = `/executions/${i}`;
      return [
        ...(factor === undefined || !plannedUs || measuredUs === undefined
          ? []
          : givenFaults(factor, measuredUs / plannedUs, `${at}/factor`)),
        ...(factor !== undefined && (!plannedUs || measuredUs === undefined)
          ? [fault('is of no time that was measured', `${at}/factor`)]
          : []),
        ...Object.entries({ plannedUs, measuredUs, simulatedBatches, liveBatches }).flatMap(
          ([name, value]) =>
            value === undefined || value >= 0 ? [] : [fault(`is ${value}, less than 0`, `${at}/${name}`)],
        ),
        ...(measuredUs !== undefined && liveBatches === 0
          ? [fault(`is ${measuredUs}, and none was executed`, `${at}/measuredUs`)]
          : []),
      ];
    }),
    ...(told?.simulated === undefined
      ? []
      : rangeFaults(told.simulated, [simulated, simulated], {
          at: `/figures/${batches}/simulated`,
          by: 'the executions',
        })),
    // Applications that share stages have the same batches.
    ...(told?.live === undefined || executions.some(({ stage }) => stage !== undefined)
      ? []
      : rangeFaults(told.live, [live, live], { at: `/figures/${batches}/live`, by: 'the executions' })),
  ];
}

/** causeFaults finds parts that do not add up to the difference that they explain. */
function causeFaults(
  causes: NonNullable<Verification['causes']>,
  figures: readonly VerifiedFigure[],
): Fault[] {
  const { frontMs } = causes;
  const parts = ['attainment', 'meanLatencyMs', 'p95LatencyMs'] as const;
  return [
    ...(frontMs >= 0 ? [] : [fault(`is ${frontMs}, less than 0`, '/causes/frontMs')]),
    ...parts.flatMap((name) => {
      const cause = causes[name];
      if (cause === undefined) return [];
      const { executions, front, queueing } = cause;
      const figure = figures.find((one) => one.name === name);
      const difference = (figure?.live ?? 0) - (figure?.simulated ?? 0);
      const sum = executions + front + queueing;
      return [
        ...(Math.abs(sum - difference) <=
        1e-9 * Math.max(1, Math.abs(executions), Math.abs(front), Math.abs(queueing))
          ? []
          : [fault(`sum to ${sum}, and the difference is ${difference}`, `/causes/${name}`)]),
        ...(name === 'attainment' || Math.abs(front - frontMs) <= 1e-9 * Math.max(1, frontMs) * 1e3
          ? []
          : [fault(`is ${front}, and the front takes ${frontMs} ms`, `/causes/${name}/front`)]),
      ];
    }),
  ];
}

function attainmentOff(figures: readonly VerifiedFigure[]): number {
  const { simulated = 0, live = 0 } = figures.find(({ name }) => name === 'attainment') ?? {};
  return Math.abs(live - simulated);
}

function withinFaults(
  { allowed, held }: NonNullable<Verification['within']>,
  lists: readonly (readonly VerifiedFigure[])[],
): Fault[] {
  const isHeld = lists.every((figures) => {
    return attainmentOff(figures) <= allowed;
  });
  return [
    ...shareFaults(allowed, '/within/allowed'),
    ...(held === isHeld
      ? []
      : [fault(`is ${held}, and the attainments are ${isHeld ? '' : 'not '}as near`, '/within/held')]),
  ];
}

function correctedFaults({ corrected = [], executions }: Verification): Fault[] {
  return corrected.flatMap(({ model, cells }, c) =>
    cells.flatMap((cell, k) => {
      const factors = executions
        .filter(
          (one) =>
            one.model === model &&
            one.class === cell.class &&
            one.virtual === cell.virtual &&
            one.batch === cell.batch,
        )
        .flatMap(({ factor }) => factor ?? []);
      const at = `/corrected/${c}/cells/${k}`;
      if (factors.length === 0) return cell.factor > 0 ? [] : [fault(`is ${cell.factor}`, `${at}/factor`)];
      const isOf = isBetween(cell.factor, smallestOf(factors), largestOf(factors));
      return isOf
        ? []
        : [fault(`is ${cell.factor}, and the executions have ${factors.join(', ')}`, `${at}/factor`)];
    }),
  );
}
