import type {
  Changed,
  ChangedWords,
  PipelinePlan,
  PlanDifference,
  PlannedStage,
  StageDifference,
  StagePlacement,
  WhenOutput,
} from '../artifacts/index.js';
import { gpuRuns } from './gpu-runs.js';

/** PipelineDiff is a difference without the head of its file. */
export type PipelineDiff = Omit<PlanDifference, '$schema' | 'kind' | 'version' | 'tool' | 'inputs'>;

const ROUNDING = 1e-9;

/**
 * diffPipelines compares two plans of pipelines, `a` before and `b` after: cost (or rates, where a plan has no price),
 * SLO, stages by their names, and GPUs that hold other models than before.
 */
export function diffPipelines(a: PipelinePlan, b: PipelinePlan): PipelineDiff {
  const rates = change(a.throughputRps, b.throughputRps);
  const priced = a.hourlyCost !== undefined && b.hourlyCost !== undefined;
  const slo = change(a.sloMs, b.sloMs);
  const names = [...new Set([...a.stages, ...b.stages].map(({ name }) => name))];
  const stages = names
    .map((name) =>
      stageDifference(
        name,
        [a, b].map((plan) => plan.stages.find((stage) => stage.name === name)),
      ),
    )
    .filter(stageDiffers);
  const classNames = [...new Set([...Object.keys(a.classes), ...Object.keys(b.classes)])];
  const classes = classNames
    .map((name) => ({ name, used: change(a.classes[name]?.used, b.classes[name]?.used) }))
    .filter(({ used }) => differs(used));
  const gpusMoved = movedGpus(a, b);
  const objectives = words(objectivesText(a), objectivesText(b));
  const isAskedAlike = objectives.before === objectives.after && !differs(slo);
  const alike = stages.length + classes.length + gpusMoved === 0 && !differs(rates) && isAskedAlike;
  return {
    objective: priced
      ? { kind: 'cost', ...change(a.hourlyCost, b.hourlyCost) }
      : { kind: 'throughput', ...rates },
    models: [
      {
        ...{ name: b.name, throughputRps: rates, sloMs: slo },
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

/** objectivesText says which share of the requests must be answered within which SLO. */
function objectivesText({ sloMs, attainment, objectives = [] }: PipelinePlan): string {
  return [{ sloMs, attainment }, ...objectives]
    .map((one) => `${Number((100 * one.attainment).toPrecision(12))} % in ${one.sloMs} ms`)
    .join(', ');
}

function change(before = 0, after = 0): Changed {
  return { before, after };
}

function differs({ before, after }: Changed): boolean {
  return Math.abs(after - before) > ROUNDING * Math.max(1, Math.abs(before));
}

function stageDifference(name: string, [a, b]: readonly (PlannedStage | undefined)[]): StageDifference {
  return {
    name,
    devices: words(a && devicesText(a), b && devicesText(b)),
    batch: change(a?.batch, b?.batch),
    replicas: change(a?.replicas, b?.replicas),
    standby: change(a?.standby, b?.standby),
    scaleFactor: change(a?.scaleFactor, b?.scaleFactor),
    throughputRps: change(a?.throughputRps, b?.throughputRps),
    next: words(a && nextText(a), b && nextText(b)),
    inputs: words(a && inputsText(a), b && inputsText(b)),
  };
}

function words(before: string | undefined, after: string | undefined): ChangedWords {
  return { ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
}

function devicesText({ device, virtual }: PlannedStage): string {
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
  return [batch, replicas, standby, scaleFactor, throughputRps].some(differs);
}

interface SidePlacement extends StagePlacement {
  readonly side: 0 | 1;
}

/** movedGpus counts the GPUs that hold other models than before, or none any more, or some for the first time. */
function movedGpus(a: PipelinePlan, b: PipelinePlan): number {
  const places = [a, b].flatMap(({ placement }, side) =>
    placement.map((place): SidePlacement => ({ ...place, side: side === 0 ? 0 : 1 })),
  );
  const cluster = { devices: { ...a.cluster.devices, ...b.cluster.devices } };
  return gpuRuns(places, cluster).reduce(
    (moved, run) => (dutiesOf(run.places, 0) === dutiesOf(run.places, 1) ? moved : moved + run.count),
    0,
  );
}

function dutiesOf(places: readonly SidePlacement[], side: 0 | 1): string {
  return places
    .filter((place) => place.side === side)
    .map(({ stages, virtual, standby = false }) => `${[...stages].sort().join(' ')} ${virtual} ${standby}`)
    .sort()
    .join('; ');
}
