import {
  type Fault,
  fault,
  type GateCheck,
  gapTimes,
  type LoadDocument,
  type LoadOutcomes,
  NS_PER_S,
} from '../../formats/index.js';
import { givenFaults } from '../figures.js';
import { type FoundFigure, gateFaults } from '../gate-faults.js';
import { summaryFaults } from '../latency-faults.js';
import { outcomeFaults, partFaults, type SloOf } from './outcome-faults.js';
import { servedFaults } from './served-faults.js';

const ROUNDING = 1e-9;
/** Random counts and spreads are believed within this many standard deviations, */
const DEVIATIONS = 8;
/** and counts that follow from whole seconds and gaps within this many requests. */
const MORE_REQUESTS = 8;
/** Gaps that differ by less than this share of their mean come at even times. */
const EVEN = 0.01;
/** A client that is this many seconds behind when its time is over stops sending. */
const BEHIND_S = 1;

/**
 * loadReportFaults finds where a report of a load contradicts itself: in its counts and shares, of all requests, by model
 * and by priority; in its latencies; in its times, rates and the moments when requests were sent; and in what the server
 * says of its work. It shares nothing with what writes such reports.
 */
export function loadReportFaults(report: LoadDocument): Fault[] {
  const { models, priorities, sloMs = 'none' } = report;
  const judgedBy: SloOf = models === undefined ? sloMs : 'several';
  const all = { judgedBy, hasShare: hasShare(report, models ?? [report]) };
  const faults = [
    ...outcomeFaults(report, { at: '', ...all }),
    ...(models ?? []).flatMap((model, i) =>
      outcomeFaults(model, {
        at: `/models/${i}`,
        judgedBy: model.sloMs ?? 'none',
        hasShare: hasShare(report, [model]),
      }),
    ),
    ...(models === undefined ? [] : partFaults(report, models, 'models')),
    ...(priorities ?? []).flatMap((one, i) => outcomeFaults(one, { at: `/priorities/${i}`, ...all })),
    ...(priorities === undefined ? [] : partFaults(report, priorities, 'priorities')),
    ...failureFaults(report),
    ...dropFaults(report),
    ...overallFaults(report),
    ...modelFaults(report),
    ...priorityFaults(report),
    ...timeFaults(report),
    ...latenessFaults(report),
    ...rowsFaults(report),
    ...labelledFaults(report),
    ...answeredByFaults(report),
    ...servedFaults(report),
    ...gateFaults(report, (check) => judgedOf(check, report)),
  ];
  return faults.length > 0 ? faults : sendFaults(report);
}

/**
 * hasShare says whether an SLO judged all requests of these outcomes. Reports before version 1.6 have a share in time
 * even without.
 */
function hasShare({ version }: LoadDocument, outcomes: readonly LoadOutcomes[]): boolean {
  return /^1\.[0-5]$/.test(version) || outcomes.every(({ sloMs, sent }) => sloMs !== undefined || sent === 0);
}

/** judgedOf gives the figure of a load that a gate judges. */
function judgedOf(
  { what, model }: GateCheck,
  { models = [], attainment, failed }: LoadDocument,
): FoundFigure {
  if (what === 'failedRequests') return { value: failed };
  if (model === undefined) return { value: attainment };
  return { value: models.find(({ name }) => name === model)?.attainment };
}

/** overallFaults finds another attainment of all requests than that of the counts. */
function overallFaults({ overall, attainment }: LoadDocument): Fault[] {
  return overall === undefined || overall.attainment === attainment
    ? []
    : [fault(`is ${overall.attainment}, and attainment is ${attainment}`, '/overall/attainment')];
}

function failureFaults({ failures, failed }: LoadDocument): Fault[] {
  const sum = Object.values(failures).reduce((all, one) => all + one, 0);
  return sum === failed ? [] : [fault(`sum to ${sum}, and ${failed} requests failed`, '/failures')];
}

function dropFaults({ drops, dropped }: LoadDocument): Fault[] {
  const sum = Object.values(drops ?? {}).reduce((all, one) => all + one, 0);
  return drops === undefined || sum === dropped
    ? []
    : [fault(`sum to ${sum}, and ${dropped} requests were dropped`, '/drops')];
}

function modelFaults({ model, models, sloMs, url }: LoadDocument): Fault[] {
  const names = models?.map(({ name }) => name) ?? [];
  return [
    ...(URL.canParse(url) ? [] : [fault(`is ${JSON.stringify(url)}, which is no URL`, '/url')]),
    ...(model === undefined && models === undefined
      ? [fault('is missing, and so are the outcomes of several models', '/model')]
      : []),
    ...(model !== undefined && models !== undefined
      ? [fault(`is ${JSON.stringify(model)}, and there are outcomes of several models`, '/model')]
      : []),
    ...(sloMs !== undefined && models !== undefined
      ? [fault(`is ${sloMs}, and every model has its own`, '/sloMs')]
      : []),
    ...names.flatMap((name, i) =>
      names.indexOf(name) === i
        ? []
        : [fault(`is ${JSON.stringify(name)}, as another is`, `/models/${i}/name`)],
    ),
  ];
}

function priorityFaults({ priorities = [], sent }: LoadDocument): Fault[] {
  if (priorities.length === 0) return [];
  const levels = priorities.map(({ priority }) => priority);
  const sum = priorities.reduce((all, { share }) => all + share, 0);
  return [
    ...levels.flatMap((level, i) =>
      levels.indexOf(level) === i ? [] : [fault(`is ${level}, as another is`, `/priorities/${i}/priority`)],
    ),
    ...(Math.abs(sum - 1) <= ROUNDING
      ? []
      : [fault(`have shares that sum to ${sum}, and not to 1`, '/priorities')]),
    ...priorities.flatMap(({ share, sent: drawn }, i) => {
      const off = DEVIATIONS * Math.sqrt(sent * share * (1 - Math.min(1, share))) + MORE_REQUESTS;
      if (Math.abs(drawn - share * sent) <= off) return [];
      return [fault(`is ${share}, and ${drawn} of ${sent} requests sent it`, `/priorities/${i}/share`)];
    }),
  ];
}

/** timeFaults finds rates that do not follow from counts and times, and an end before what came before it. */
function timeFaults(report: LoadDocument): Fault[] {
  const { durationS, elapsedS, answered, inTime, complete, cancelled, latencyMs, rps } = report;
  const faults: Fault[] = [];
  if (!(durationS > 0)) faults.push(fault(`is ${durationS}; a load lasts some time`, '/durationS'));
  if (!(rps > 0)) faults.push(fault(`is ${rps}; a load has a rate`, '/rps'));
  if (!(elapsedS > 0)) faults.push(fault(`is ${elapsedS}; a load takes some time`, '/elapsedS'));
  if (faults.length > 0) return faults;
  const latestS = latencyMs === undefined ? 0 : latencyMs.max / 1e3;
  return [
    ...(complete === true && cancelled > 0
      ? [fault(`is true, and ${cancelled} requests were cancelled`, '/complete')]
      : []),
    ...(complete === true && isLess(elapsedS, durationS)
      ? [fault(`is ${elapsedS}, and the load of ${durationS} s was complete`, '/elapsedS')]
      : []),
    ...(isLess(elapsedS, latestS)
      ? [fault(`is ${elapsedS}, and an answer took ${latestS} s`, '/elapsedS')]
      : []),
    ...givenFaults(report.throughputRps, answered / elapsedS, '/throughputRps'),
    ...givenFaults(report.goodputRps, inTime / elapsedS, '/goodputRps'),
    ...sendingFaults(report),
  ];
}

/** sendingFaults finds a rate of sending that no time between the duration and the end gives. */
function sendingFaults({ sent, sentRps, durationS, elapsedS, complete }: LoadDocument): Fault[] {
  if (sent === 0 || sentRps === 0)
    return sent === 0 && sentRps === 0 ? [] : [fault(`is ${sentRps}, and ${sent} were sent`, '/sentRps')];
  const sendingS = sent / sentRps;
  // The client looks at its clock once more after the last answer, and may then have slept for as long as it was sending.
  const most = 2 * Math.max(durationS, elapsedS) + BEHIND_S;
  const least = complete === true ? durationS : 0;
  if (!isLess(sendingS, least) && sendingS <= most) return [];
  return [
    fault(
      `is ${sentRps}, as if ${sent} requests had been sent in ${sendingS} s; by its times, the load sent for ${least} to ${most} s`,
      '/sentRps',
    ),
  ];
}

function latenessFaults({ sendLatenessMs, sent }: LoadDocument): Fault[] {
  if (sendLatenessMs === undefined) return [];
  return summaryFaults(sendLatenessMs, { at: '/sendLatenessMs', count: sent });
}

function labelledFaults({ labelled, answered, inputs }: LoadDocument): Fault[] {
  const isRead = (inputs ?? []).some(({ role }) => role === 'labels');
  if (labelled === undefined)
    return inputs !== undefined && isRead ? [fault('is missing, and labels were read', '/labelled')] : [];
  const { samples, right, accuracy } = labelled;
  return [
    ...(inputs === undefined || isRead
      ? []
      : [fault('counts right answers, and no labels were read', '/labelled')]),
    ...(labelled.answered === answered
      ? []
      : [fault(`is ${labelled.answered}, and ${answered} requests were answered`, '/labelled/answered')]),
    ...(right <= labelled.answered
      ? []
      : [fault(`is ${right}, of ${labelled.answered} answers`, '/labelled/right')]),
    ...(samples > 0 || labelled.answered === 0
      ? []
      : [fault('is 0, and samples were answered', '/labelled/samples')]),
    ...givenFaults(
      accuracy,
      labelled.answered === 0 ? undefined : right / labelled.answered,
      '/labelled/accuracy',
    ),
  ];
}

/** rowsFaults finds samples that were not sent each by itself. */
function rowsFaults({ rows, inputs = [] }: LoadDocument): Fault[] {
  const isSampled = inputs.some(({ role }) => role === 'samples');
  return isSampled && rows !== 1 ? [fault(`is ${rows}; a sample is sent as one row`, '/rows')] : [];
}

function answeredByFaults({ answeredBy = [], answered, rows }: LoadDocument): Fault[] {
  const all = answeredBy.reduce((sum, one) => sum + one.rows, 0);
  const names = answeredBy.map(({ stage }) => stage);
  return [
    ...names.flatMap((name, i) =>
      names.indexOf(name) === i
        ? []
        : [fault(`is ${JSON.stringify(name)}, as another is`, `/answeredBy/${i}/stage`)],
    ),
    ...(all <= answered * rows
      ? []
      : [fault(`have ${all} rows, and ${answered * rows} were answered`, '/answeredBy')]),
    ...answeredBy.flatMap((one, i) => givenFaults(one.share, one.rows / all, `/answeredBy/${i}/share`)),
  ];
}

/** sendFaults compares when requests were to be sent with their numbers, the rate, the arrivals and the times. */
function sendFaults(report: LoadDocument): Fault[] {
  const { sends, model, models, sent, arrivals, inputs } = report;
  const isTraced = (inputs ?? []).some(({ role }) => role === 'trace');
  if (inputs !== undefined && isTraced !== (arrivals === 'trace'))
    return [fault(`is ${arrivals}, and ${isTraced ? 'a trace was read' : 'no trace was read'}`, '/arrivals')];
  if (sends === undefined) return rateFaults(report, undefined);
  const counts = new Map((models ?? [{ name: model, sent }]).map((one) => [one.name, one.sent]));
  const seen = new Set<string>();
  const all: Float64Array[] = [];
  const faults: Fault[] = [];
  for (const [i, { model: name, gapsNs }] of sends.entries()) {
    const times = gapTimes(gapsNs);
    const wanted = counts.get(name);
    if (times === undefined) faults.push(fault('does not list whole nanoseconds', `/sends/${i}/gapsNs`));
    else if (wanted === undefined || seen.has(name))
      faults.push(
        fault(
          `is ${JSON.stringify(name)}, ${seen.has(name) ? 'as another is' : 'of which there are no outcomes'}`,
          `/sends/${i}/model`,
        ),
      );
    else if (times.length !== wanted)
      faults.push(fault(`lists ${times.length} requests, and ${wanted} were sent`, `/sends/${i}/gapsNs`));
    else all.push(times);
    seen.add(name);
  }
  for (const [name, count] of counts)
    if (count > 0 && !seen.has(name as string))
      faults.push(fault(`lacks the ${count} requests for ${JSON.stringify(name)}`, '/sends'));
  return faults.length > 0 ? faults : rateFaults(report, all);
}

/** rateFaults compares the rate and the arrivals that were asked for with the requests that were sent. */
function rateFaults(report: LoadDocument, times: readonly Float64Array[] | undefined): Fault[] {
  const { durationS, elapsedS, rps, sent, sentRps, arrivals, complete } = report;
  const lastS = times === undefined ? 0 : latestOf(times) / NS_PER_S;
  const faults: Fault[] = [];
  if (isLess(durationS, lastS))
    faults.push(fault(`is ${durationS}, and a request was to be sent after ${lastS} s`, '/durationS'));
  if (isLess(elapsedS, lastS))
    faults.push(fault(`is ${elapsedS}, and a request was to be sent after ${lastS} s`, '/elapsedS'));
  if (sent > 0 && isLess(sent / sentRps, lastS))
    faults.push(fault(`is ${sentRps}, and the last of ${sent} was sent after ${lastS} s`, '/sentRps'));
  if (faults.length > 0) return faults;
  const spread = times === undefined ? undefined : spreadOf(times);
  const isShort = sent > 0 && sent / sentRps > durationS + BEHIND_S;
  const expected = rps * durationS;
  const off = DEVIATIONS * Math.max(1, spread ?? 1) * Math.sqrt(expected) + MORE_REQUESTS;
  // An interrupted load says by its requests alone how long it was to be.
  const soFar = rps * lastS;
  if (spread !== undefined && arrivals !== 'trace') {
    const least = soFar - DEVIATIONS * Math.max(1, spread) * Math.sqrt(soFar) - MORE_REQUESTS;
    if (sent < least)
      faults.push(fault(`is ${rps}, and ${sent} requests were to be sent in ${lastS} s`, '/rps'));
  }
  // How far gamma arrivals spread is known by their gaps alone.
  if (faults.length === 0 && (arrivals !== 'gamma' || spread !== undefined)) {
    if (sent > expected + off || (complete === true && !isShort && sent < expected - off))
      faults.push(fault(`is ${rps}, and ${sent} requests were sent of a load of ${durationS} s`, '/rps'));
  }
  if (spread !== undefined && arrivals === 'uniform' && spread > EVEN)
    faults.push(fault('is uniform, and requests were sent at uneven times', '/arrivals'));
  if (spread !== undefined && arrivals === 'poisson' && Math.abs(spread - 1) > DEVIATIONS / Math.sqrt(sent))
    faults.push(
      fault(
        `is poisson, and the times between requests spread by ${spread.toFixed(3)} of their mean, not 1`,
        '/arrivals',
      ),
    );
  return faults;
}

function latestOf(times: readonly Float64Array[]): number {
  return times.reduce((latest, one) => Math.max(latest, one.at(-1) ?? 0), 0);
}

/** spreadOf gives the standard deviation of the gaps between requests over their mean; undefined of fewer than 16. */
function spreadOf(times: readonly Float64Array[]): number | undefined {
  const sorted = new Float64Array(times.reduce((sum, one) => sum + one.length, 0));
  let filled = 0;
  for (const one of times) {
    sorted.set(one, filled);
    filled += one.length;
  }
  sorted.sort();
  if (sorted.length < 16) return undefined;
  const gaps = sorted.length - 1;
  const mean = ((sorted[gaps] as number) - (sorted[0] as number)) / gaps;
  if (mean === 0) return undefined;
  let squares = 0;
  for (let i = 0; i < gaps; i++) {
    const gap = (sorted[i + 1] as number) - (sorted[i] as number);
    squares += (gap - mean) ** 2;
  }
  return Math.sqrt(squares / gaps) / mean;
}

function isLess(value: number, least: number): boolean {
  return value < least - ROUNDING * Math.max(1, least);
}
