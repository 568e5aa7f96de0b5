import { type Fault, fault, type SimulatedCascade, type SimulationReport } from '../../formats/index.js';
import { addedUp, givenFaults, isBetween, rangeFaults, shareFaults } from '../figures.js';

/** Counts are reported as shares, which give them up to rounding. */
const NEAR_COUNT = 1e-6;

/** cascadeFaults finds where what a run says of the answers and gears of a cascade contradicts itself. */
export function cascadeFaults(report: SimulationReport): Fault[] {
  const { cascade, overall, workload, complete } = report;
  if (cascade === undefined) return [];
  const { accuracy, plannedAccuracy, samples, answeredBy } = cascade;
  // Answers are counted from the beginning, also of requests that come before the time that counts.
  const answered = workload.warmUpS === undefined && complete ? overall.inTime + overall.late : undefined;
  const shares = addedUp(answeredBy.map(({ share }) => share));
  const right = addedUp(answeredBy.map((one) => one.share * (one.accuracy ?? 0)));
  const isAnswered = shares > 0;
  const faults = [
    ...shareFaults(plannedAccuracy, '/cascade/plannedAccuracy'),
    ...(samples > 0 ? [] : [fault(`is ${samples}; records have samples`, '/cascade/samples')]),
    ...(isAnswered ? givenFaults(shares, 1, '/cascade/answeredBy') : []),
    ...(answered !== undefined && isAnswered !== answered > 0
      ? [
          fault(
            `say that ${isAnswered ? 'some' : 'none'} was answered, and ${answered} were`,
            '/cascade/answeredBy',
          ),
        ]
      : []),
    ...givenFaults(accuracy, isAnswered ? right : undefined, '/cascade/accuracy'),
    ...answeredBy.flatMap((one, i) => answerFaults(one, { at: `/cascade/answeredBy/${i}`, answered })),
    ...gearFaults(cascade),
  ];
  return faults.length > 0 ? faults : cascadeWindowFaults(cascade, report);
}

function answerFaults(
  { share, accuracy }: SimulatedCascade['answeredBy'][number],
  { at, answered }: { readonly at: string; readonly answered: number | undefined },
): Fault[] {
  const faults = [
    ...shareFaults(share, `${at}/share`),
    ...shareFaults(accuracy, `${at}/accuracy`),
    ...((accuracy === undefined) === (share === 0)
      ? []
      : [fault(`is ${accuracy ?? 'missing'}, of a share of ${share}`, `${at}/accuracy`)]),
  ];
  if (faults.length > 0 || answered === undefined) return faults;
  return Object.entries({ share: share * answered, accuracy: share * answered * (accuracy ?? 0) }).flatMap(
    ([name, count]) =>
      Math.abs(count - Math.round(count)) <= NEAR_COUNT * Math.max(1, answered)
        ? []
        : [fault(`gives ${count} requests of ${answered}, which is no whole number`, `${at}/${name}`)],
  );
}

function gearFaults({ gears, shifts }: SimulatedCascade): Fault[] {
  const at = (i: number) => `/cascade/gears/${i}`;
  const used = gears.filter(({ share }) => share > 0).length;
  return [
    ...gears.flatMap(({ fromRps, toRps, share, plannedShare }, i) => [
      ...shareFaults(share, `${at(i)}/share`),
      ...shareFaults(plannedShare, `${at(i)}/plannedShare`),
      ...(fromRps < toRps &&
      (i === 0 ? fromRps === 0 : isBetween(fromRps, gears[i - 1]?.toRps ?? 0, gears[i - 1]?.toRps ?? 0))
        ? []
        : [fault(`is from ${fromRps} to ${toRps}, which is not the next range`, at(i))]),
    ]),
    ...(addedUp(gears.map(({ share }) => share)) === 0
      ? []
      : givenFaults(addedUp(gears.map(({ share }) => share)), 1, '/cascade/gears')),
    ...givenFaults(addedUp(gears.map(({ plannedShare }) => plannedShare)), 1, '/cascade/gears'),
    ...(Number.isInteger(shifts) && shifts >= used - 1
      ? []
      : [fault(`is ${shifts}, and ${used} gears were in force`, '/cascade/shifts')]),
  ];
}

function cascadeWindowFaults(
  cascade: SimulatedCascade,
  { windows, workload, complete }: SimulationReport,
): Fault[] {
  const rows = cascade.windows ?? [];
  const { seconds = 0, rows: counted = [] } = windows ?? {};
  const faults = rows.flatMap(({ fromS, accuracy, gear, p95Ms }, i) => [
    ...givenFaults(fromS, i * seconds, `/cascade/windows/${i}/fromS`),
    ...shareFaults(accuracy, `/cascade/windows/${i}/accuracy`),
    ...(Number.isInteger(gear) && gear >= 0 && gear < cascade.gears.length
      ? []
      : [fault(`is ${gear}, which is no gear of the plan`, `/cascade/windows/${i}/gear`)]),
    ...((cascade.gears[gear]?.share ?? 1) > 0
      ? []
      : [fault(`is ${gear}, which was in force at no time`, `/cascade/windows/${i}/gear`)]),
    ...latencyFaults(p95Ms, counted[i], `/cascade/windows/${i}/p95Ms`),
  ]);
  if (faults.length > 0 || rows.length === 0 || workload.warmUpS !== undefined || !complete) return faults;
  const answered = counted.map(({ inTime, late }) => inTime + late);
  const right = rows.map(({ accuracy = 0 }, i) => accuracy * (answered[i] ?? 0));
  return [
    ...right.flatMap((count, i) =>
      Math.abs(count - Math.round(count)) <= NEAR_COUNT * Math.max(1, answered[i] ?? 0)
        ? []
        : [fault(`gives ${count} right answers, which is no whole number`, `/cascade/windows/${i}/accuracy`)],
    ),
    ...givenFaults(
      cascade.accuracy,
      addedUp(answered) === 0 ? undefined : addedUp(right) / addedUp(answered),
      '/cascade/accuracy',
    ),
  ];
}

function latencyFaults(
  p95Ms: number | undefined,
  row: { readonly latencyMs?: { readonly p50: number; readonly p99: number } } | undefined,
  at: string,
): Fault[] {
  if (row?.latencyMs === undefined) return [];
  const off = 1 / 256;
  const { p50, p99 } = row.latencyMs;
  return rangeFaults(p95Ms, [p50 * (1 - off), p99 * (1 + off)], { at, by: 'the percentiles of the window' });
}

/** simulatedPriorityFaults finds where what became of requests by their priorities contradicts itself and the whole run. */
export function simulatedPriorityFaults(
  { priorities, overall, models }: SimulationReport,
  spanS: number | undefined,
): Fault[] {
  if (priorities === undefined) return [];
  const { levels, weightedDropRate } = priorities;
  const weight = addedUp(levels.map((one) => one.weight * one.arrived));
  const inTime = addedUp(levels.map((one) => one.weight * one.inTime));
  const faults = [
    ...givenFaults(addedUp(levels.map(({ share }) => share)), 1, '/priorities/levels'),
    ...levels.flatMap((level, i) => {
      const at = `/priorities/levels/${i}`;
      const off = 8 * Math.sqrt(overall.arrived * level.share * (1 - Math.min(1, level.share))) + 8;
      return [
        ...shareFaults(level.share, `${at}/share`),
        ...(level.weight > 0
          ? []
          : [fault(`is ${level.weight}; a priority weighs something`, `${at}/weight`)]),
        ...givenFaults(
          level.attainment,
          level.arrived === 0 ? undefined : level.inTime / level.arrived,
          `${at}/attainment`,
        ),
        ...(spanS === undefined
          ? []
          : givenFaults(level.goodputRps, level.inTime / spanS, `${at}/goodputRps`)),
        ...(Math.abs(level.share * overall.arrived - level.arrived) <= off
          ? []
          : [
              fault(
                `is ${level.share}, and ${level.arrived} of ${overall.arrived} requests sent it`,
                `${at}/share`,
              ),
            ]),
        ...(levels.findIndex((one) => one.priority === level.priority) === i
          ? []
          : [fault(`is ${level.priority}, as another is`, `${at}/priority`)]),
      ];
    }),
    ...(['arrived', 'inTime', 'late', 'dropped', 'failed'] as const).flatMap((name) =>
      addedUp(levels.map((level) => level[name])) === overall[name]
        ? []
        : [
            fault(
              `sum to ${addedUp(levels.map((level) => level[name]))} ${name}, of ${overall[name]}`,
              '/priorities/levels',
            ),
          ],
    ),
  ];
  if (faults.length > 0 || models.length > 1) return faults;
  return givenFaults(
    weightedDropRate,
    weight === 0 ? undefined : 1 - inTime / weight,
    '/priorities/weightedDropRate',
  );
}
