import { largestOf } from '../../collections/index.js';
import {
  byName,
  changeOf,
  classChanges,
  counted,
  differs,
  type EnvelopeWindow,
  type FieldChange,
  type PipelinePlan,
  type PlanDifference,
  type PlannedStage,
  planChanges,
  type StageDifference,
  sidesOf,
  type WhenOutput,
} from '../../formats/index.js';
import { movedGpus } from '../stages/index.js';

/** PipelineDiff is a difference without the head of its file. */
export type PipelineDiff = Omit<PlanDifference, '$schema' | 'kind' | 'version' | 'tool' | 'inputs'>;

/**
 * diffPipelines compares two plans of pipelines, `a` before and `b` after: cost (or rates, where a plan has no price),
 * SLO, stages by their names, and GPUs that hold other models than before.
 */
export function diffPipelines(a: PipelinePlan, b: PipelinePlan): PipelineDiff {
  const rates = changeOf(a.throughputRps, b.throughputRps);
  const priced = a.hourlyCost !== undefined && b.hourlyCost !== undefined;
  const slo = changeOf(a.sloMs, b.sloMs);
  const names = [...new Set([...a.stages, ...b.stages].map(({ name }) => name))];
  const stages = names
    .map((name) =>
      stageDifference(
        name,
        [a, b].map((plan) => plan.stages.find((stage) => stage.name === name)),
      ),
    )
    .filter(stageDiffers);
  const classes = classChanges(a.classes, b.classes);
  const gpusMoved = movedGpus(a, b);
  const objectives = sidesOf(objectivesText(a), objectivesText(b));
  const isAskedAlike = objectives.before === objectives.after && !differs(slo);
  const alike = stages.length + classes.length + gpusMoved === 0 && !differs(rates) && isAskedAlike;
  return {
    objective: priced
      ? { kind: 'cost', ...changeOf(a.hourlyCost, b.hourlyCost) }
      : { kind: 'throughput', ...rates },
    models: [
      {
        name: b.name,
        throughputRps: rates,
        sloMs: slo,
        ...(isAskedAlike ? {} : { objectives }),
        pipelines: [],
      },
    ],
    stages,
    classes,
    gpusMoved,
    same: alike && JSON.stringify(a.exclusive ?? []) === JSON.stringify(b.exclusive ?? []),
  };
}

/**
 * The fields that `diffPipelines` reports: rate, SLO and objectives, the GPUs in use, and stages that come,
 * go or are served otherwise.
 */
const TOLD: readonly RegExp[] = [
  /^\/(throughputRps|sloMs|attainment)$/,
  /^\/objectives(\/\d+(\/(sloMs|attainment))?)?$/,
  /^\/applications(\/\d+(\/(name|sloMs|share|weight))?)?$/,
  /^\/classes\/[^/]+\/used$/,
  /^\/stages\/[^/]+(\/(device|virtual|batch|replicas|standby|scaleFactor|throughputRps))?$/,
  /^\/stages\/[^/]+\/others\/\d+\/(device|virtual|replicas)$/,
  /^\/stages\/[^/]+\/next\/\d+(\/(to|probability|when.*))?$/,
  /^\/stages\/[^/]+\/inputs(\/\d+(\/(name|from.*))?)?$/,
];

/**
 * pipelineFieldChanges lists all fields that differ and that `diffPipelines` does not tell. A trace is
 * described by the envelope that it gives, as its path is relative to another file, and an envelope in one
 * line.
 */
export function pipelineFieldChanges(a: PipelinePlan, b: PipelinePlan): FieldChange[] {
  const own = ({ stages, load }: PipelinePlan) => ({
    stages: byName(stages),
    load: load !== undefined && 'trace' in load ? undefined : load,
    envelope: undefined,
  });
  return [...planChanges([a, b], own, TOLD), ...envelopeChange(a.envelope, b.envelope)];
}

/**
 * envelopeChange tells of two envelopes that differ by the window in which they do most: its requests before and after. Where
 * they have other windows, it is the longest of each.
 */
function envelopeChange(
  before: readonly EnvelopeWindow[] | undefined,
  after: readonly EnvelopeWindow[] | undefined,
): FieldChange[] {
  const [a, b] = [before ?? [], after ?? []];
  const isAlike = a.length === b.length && a.every(({ windowUs }, k) => windowUs === b[k]?.windowUs);
  const moved = isAlike ? a.map(({ requests }, k) => factorOf(requests, b[k]?.requests ?? 0)) : [];
  const changed = moved.filter((factor) => factor > 1).length;
  if (isAlike && changed === 0) return [];
  const most = isAlike ? moved.indexOf(largestOf(moved)) : -1;
  const windows = isAlike ? ` (${changed} of ${counted(a.length, 'window')} differ)` : '';
  const text = (one: EnvelopeWindow | undefined) =>
    one && `at most ${counted(one.requests, 'request')} in ${one.windowUs / 1e3} ms${windows}`;
  return [{ path: '/envelope', ...sidesOf(text(a.at(most)), text(b.at(most))) }];
}

/** factorOf says by which factor the larger of two counts exceeds the smaller. */
function factorOf(one: number, other: number): number {
  return Math.max(one, other) / Math.max(1, Math.min(one, other));
}

/** objectivesText says which share of the requests must be answered within which SLO, and of which application. */
function objectivesText({ sloMs, attainment, objectives = [], applications }: PipelinePlan): string {
  if (applications !== undefined)
    return applications
      .map((one) => {
        const { name, share, weight } = one;
        const weighed = weight === undefined ? '' : `, weight ${weight}`;
        return `${name} (${share} of the load${weighed}) ${shareText(attainment)} in ${one.sloMs} ms`;
      })
      .join(', ');
  return [{ sloMs, attainment }, ...objectives]
    .map((one) => `${shareText(one.attainment)} in ${one.sloMs} ms`)
    .join(', ');
}

function shareText(share: number): string {
  return `${Number((100 * share).toPrecision(12))} %`;
}

function stageDifference(name: string, [a, b]: readonly (PlannedStage | undefined)[]): StageDifference {
  return {
    name,
    devices: sidesOf(a && devicesText(a), b && devicesText(b)),
    batch: changeOf(a?.batch, b?.batch),
    replicas: changeOf(a?.replicas, b?.replicas),
    standby: changeOf(a?.standby, b?.standby),
    scaleFactor: changeOf(a?.scaleFactor, b?.scaleFactor),
    throughputRps: changeOf(a?.throughputRps, b?.throughputRps),
    next: sidesOf(a && nextText(a), b && nextText(b)),
    inputs: sidesOf(a && inputsText(a), b && inputsText(b)),
  };
}

function devicesText({ others = [], ...first }: PlannedStage): string {
  return [deviceText(first), ...others.map((one) => `${one.replicas} ${deviceText(one)}`)].join(' + ');
}

function deviceText({ device, virtual }: Pick<PlannedStage, 'device' | 'virtual'>): string {
  return virtual === 1 ? device : `1/${virtual} ${device}`;
}

function nextText({ next }: PlannedStage): string {
  if (next.length === 0) return 'none';
  return next
    .map(({ to, probability, when }) => {
      const share = probability === undefined ? to : `${to} ${probability}`;
      return when === undefined ? share : `${share} where ${whenText(when)}`;
    })
    .join(', ');
}

function whenText({ output, index, atLeast, below }: WhenOutput): string {
  const value = index === undefined ? output : `${output}[${index}]`;
  return atLeast === undefined ? `${value} < ${below}` : `${value} >= ${atLeast}`;
}

function inputsText({ inputs }: PlannedStage): string {
  return (inputs ?? []).map(({ name, from }) => `${name} from ${from.join(' or ')}`).join(', ') || 'none';
}

function stageDiffers(stage: StageDifference): boolean {
  const { batch, replicas, standby, scaleFactor, throughputRps } = stage;
  if ([stage.devices, stage.next, stage.inputs].some((one) => one?.before !== one?.after)) return true;
  return [batch, replicas, standby, scaleFactor, throughputRps].some((one) => one && differs(one));
}
