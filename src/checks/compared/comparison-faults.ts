import { largestOf, smallestOf } from '../../collections/index.js';
import { type ComparisonDocument, type Fault, fault, proofFaults } from '../../formats/index.js';
import { addedUp, givenFaults, isBetween, rangeFaults, shareFaults } from '../figures.js';

type Row = ComparisonDocument['rows'][number];

/** Figures that differ by less than this share count as equal on a frontier. */
const SAME = 1e-9;

/**
 * comparisonFaults finds where a comparison of plans contradicts itself: in the rates, prices and proofs of each row, in rows that
 * have figures and no plan or the reverse, and in which rows are on the frontier.
 */
export function comparisonFaults({ rows, cases, complete }: ComparisonDocument): Fault[] {
  const ofRows = rows.flatMap((row, r) =>
    rowFaults(row).map((one) => fault(one.message, `/rows/${r}${one.path}`)),
  );
  return [
    ...(rows.length <= cases && complete === (rows.length === cases)
      ? []
      : [fault(`is ${complete}, and ${rows.length} of ${cases} cases have a row`, '/complete')]),
    ...(ofRows.length > 0 ? ofRows : frontierFaults(rows)),
  ];
}

function rowFaults(row: Row): Fault[] {
  const { status, objective, reasons, mix, used, unlimited = [], sloMs, margin, throughputRps } = row;
  const isPlanned = status === 'optimal' || status === 'feasible';
  const figures = [
    ...Object.entries(mix).flatMap(([name, count]) =>
      Number.isInteger(count) && count >= 0
        ? []
        : [fault(`is ${count}, which counts no GPUs`, `/mix/${name}`)],
    ),
    ...sloMs.flatMap((ms, i) => (ms > 0 ? [] : [fault(`is ${ms}; an SLO is some time`, `/sloMs/${i}`)])),
    ...shareFaults(margin, '/margin'),
    ...shareFaults(row.sloAccuracy, '/sloAccuracy'),
  ];
  if (!isPlanned)
    return [
      ...figures,
      ...(objective === undefined && used === undefined && throughputRps === undefined
        ? []
        : [fault(`is ${status}, and the row has the figures of a plan`, '/status')]),
      ...(reasons === undefined || reasons.length === 0
        ? [fault('are missing, and there is no plan', '/reasons')]
        : []),
      ...(row.smallestFeasibleSloMs === undefined || row.smallestFeasibleSloMs >= smallestOf(sloMs)
        ? []
        : [
            fault(
              `is ${row.smallestFeasibleSloMs}, and none was found for ${sloMs.join(', ')}`,
              '/smallestFeasibleSloMs',
            ),
          ]),
    ];
  if (throughputRps === undefined)
    return [...figures, fault(`is ${status}, and the row has no figures of a plan`, '/status')];
  return [
    ...figures,
    // Planners that prove nothing give no objective.
    ...(objective !== undefined
      ? proofFaults({ status, objective })
      : status === 'optimal'
        ? [fault('is optimal, and no objective is given', '/status')]
        : []),
    ...Object.entries(used ?? {}).flatMap(([name, count]) =>
      Number.isInteger(count) && count >= 0 && (unlimited.includes(name) || count <= (mix[name] ?? 0))
        ? []
        : [fault(`is ${count}, and the mix has ${mix[name] ?? 0}`, `/used/${name}`)],
    ),
    ...rateFaults(row),
    ...qualityFaults(row),
    ...utilisationFaults(row),
  ];
}

function perMillion(hourlyCost: number | undefined, rps: number | undefined): number | undefined {
  return hourlyCost === undefined || !rps ? undefined : (hourlyCost * 1e6) / (3600 * rps);
}

function rateFaults({
  objective,
  throughputRps,
  models,
  heldRps,
  hold,
  hourlyCost,
  used,
  ...row
}: Row): Fault[] {
  const isFree = addedUp(Object.values(used ?? {})) === 0;
  return [
    ...(models === undefined
      ? []
      : [
          ...givenFaults(
            throughputRps,
            addedUp(models.map((model) => model.throughputRps)),
            '/throughputRps',
          ),
          ...models.flatMap((model, m) =>
            model.throughputRps >= 0 &&
            (model.heldRps ?? 0) >= 0 &&
            (hold !== undefined || model.heldRps === undefined)
              ? []
              : [fault(`is ${model.throughputRps}`, `/models/${m}/throughputRps`)],
          ),
          ...givenFaults(
            heldRps,
            hold === undefined ? undefined : addedUp(models.map((model) => model.heldRps ?? 0)),
            '/heldRps',
          ),
        ]),
    ...(objective?.kind === 'cost' && hourlyCost !== undefined
      ? givenFaults(hourlyCost, objective.value, '/hourlyCost')
      : []),
    ...(hourlyCost === undefined || (hourlyCost >= 0 && (!isFree || hourlyCost === 0))
      ? []
      : [fault(`is ${hourlyCost}`, '/hourlyCost')]),
    ...millionFaults({ ...row, throughputRps, hourlyCost }),
    ...givenFaults(
      row.costPerMillionHeld,
      hold === undefined ? undefined : perMillion(hourlyCost, heldRps),
      '/costPerMillionHeld',
    ),
    ...(hold === undefined ||
    (objective?.kind === 'throughput'
      ? hold.value <= hold.bound * (1 + SAME)
      : hold.value >= hold.bound * (1 - SAME))
      ? []
      : [fault(`is ${hold.bound}, which the value ${hold.value} beats`, '/hold/bound')]),
    ...(hold !== undefined && objective !== undefined && objective.kind !== 'throughput'
      ? givenFaults(hold.value, objective.value, '/hold/value')
      : []),
    ...(objective?.kind === 'throughput' && throughputRps !== undefined && objective.value < 0
      ? [fault(`is ${objective.value}`, '/objective/value')]
      : []),
  ];
}

/**
 * millionFaults compares the price of a million requests with the rate: of a pipeline, that of its load, which it
 * serves at least.
 */
function millionFaults({
  costPerMillionRequests: has,
  hourlyCost,
  throughputRps,
  attainment,
}: {
  readonly [K in keyof Row]?: Row[K] | undefined;
}): Fault[] {
  const follows = perMillion(hourlyCost, throughputRps);
  const at = '/costPerMillionRequests';
  if (attainment === undefined) return givenFaults(has, follows, at);
  return has === undefined || follows === undefined || has >= follows * (1 - SAME)
    ? []
    : [fault(`is ${has}, and at ${throughputRps} requests/s it is ${follows}`, at)];
}

function qualityFaults({
  objective,
  accuracy,
  accuracyInterval,
  sloAccuracy,
  attainment,
  p99Ms,
  p95Ms,
  sloMs,
}: Row): Fault[] {
  return [
    ...shareFaults(accuracy, '/accuracy'),
    ...shareFaults(attainment, '/attainment'),
    ...(objective?.kind === 'accuracy' && accuracy !== undefined
      ? givenFaults(accuracy, objective.value, '/accuracy')
      : []),
    ...(accuracy !== undefined && sloAccuracy !== undefined && accuracy < sloAccuracy * (1 - SAME)
      ? [fault(`is ${accuracy}, and ${sloAccuracy} is promised`, '/accuracy')]
      : []),
    ...(accuracyInterval === undefined ? [] : wilsonFaults(accuracy, accuracyInterval)),
    // A row does not say to which quantile a latency is promised, so that the 95th may be above or below.
    ...(p95Ms === undefined || p95Ms > 0 ? [] : [fault(`is ${p95Ms}`, '/p95Ms')]),
    ...(p99Ms === undefined || p99Ms > 0 ? [] : [fault(`is ${p99Ms}`, '/p99Ms')]),
    ...(attainment === undefined ||
    p99Ms === undefined ||
    sloMs.length !== 1 ||
    sloMs[0] === undefined ||
    attainment >= 0.99 === p99Ms <= sloMs[0]
      ? []
      : [fault(`is ${p99Ms}, and ${attainment} were within ${sloMs[0]} ms`, '/p99Ms')]),
  ];
}

/** wilsonFaults compares an interval with Wilson's score of the share and the samples. */
function wilsonFaults(
  share: number | undefined,
  { low, high, samples }: NonNullable<Row['accuracyInterval']>,
): Fault[] {
  const at = '/accuracyInterval';
  if (!(Number.isInteger(samples) && samples > 0))
    return [fault(`is ${samples}, which counts no samples`, `${at}/samples`)];
  if (share === undefined) return [fault('is of no accuracy', at)];
  const z = 1.959963984540054;
  const middle = (share + z ** 2 / (2 * samples)) / (1 + z ** 2 / samples);
  const half =
    (z / (1 + z ** 2 / samples)) * Math.sqrt((share * (1 - share)) / samples + (z / (2 * samples)) ** 2);
  return Object.entries({
    low: [low, Math.max(0, middle - half)],
    high: [high, Math.min(1, middle + half)],
  } as const).flatMap(([name, [has, follows]]) =>
    Math.abs(has - follows) <= 1e-6
      ? []
      : [fault(`is ${has}, and ${samples} samples give ${follows}`, `${at}/${name}`)],
  );
}

function utilisationFaults({ utilisation, utilisationByClass, mix, used }: Row): Fault[] {
  if (utilisation === undefined || utilisationByClass === undefined) return [];
  const shares = Object.entries(utilisationByClass);
  const values = shares.map(([, share]) => share);
  const counts = shares.map(([name]) => mix[name] ?? 0);
  const all = addedUp(counts);
  const mean = addedUp(shares.map(([, share], i) => (share * (counts[i] as number)) / all));
  return [
    ...shareFaults(utilisation, '/utilisation'),
    ...shares.flatMap(([name, share]) => [
      ...shareFaults(share, `/utilisationByClass/${name}`),
      ...(share > 0 && (used?.[name] ?? 0) === 0
        ? [fault(`is ${share}, and none is used`, `/utilisationByClass/${name}`)]
        : []),
    ]),
    // GPUs that others have taken are in no class's time, and no row says how many.
    ...(isBetween(utilisation, mean, mean) || values.length === 0
      ? []
      : rangeFaults(utilisation, [smallestOf(values), largestOf(values)], {
          at: '/utilisation',
          by: 'the classes',
        })),
  ];
}

function meritOf({ objective, hold, throughputRps }: Row): number | undefined {
  if (objective?.kind === 'throughput') return hold?.value ?? objective.value;
  if (objective?.kind === 'accuracy') return objective.value;
  if (objective?.kind === 'cost' || objective?.kind === 'devices') return 0;
  return objective?.kind === 'latency' || objective?.kind === 'power' ? -objective.value : throughputRps;
}

/** frontierFaults finds rows that another row beats and that are on the frontier, or the reverse. */
function frontierFaults(rows: readonly Row[]): Fault[] {
  const isMore = (one: number, other: number) => one - other > SAME * Math.abs(other);
  return rows.flatMap((row, r) => {
    const own = meritOf(row);
    if (row.frontier === undefined || row.hourlyCost === undefined || own === undefined) return [];
    const cost = row.hourlyCost;
    const isBeaten = rows.some((other) => {
      const merit = meritOf(other);
      const isAlike =
        other.slo === row.slo && other.margin === row.margin && other.sloAccuracy === row.sloAccuracy;
      if (!isAlike || merit === undefined || other.hourlyCost === undefined) return false;
      if (isMore(other.hourlyCost, cost) || isMore(own, merit)) return false;
      return isMore(cost, other.hourlyCost) || isMore(merit, own);
    });
    return row.frontier === !isBeaten
      ? []
      : [
          fault(
            `is ${row.frontier}, and another row is ${isBeaten ? '' : 'not '}better and as cheap, or cheaper`,
            `/rows/${r}/frontier`,
          ),
        ];
  });
}
