import { smallestOf } from '../collections/index.js';
import { listed, type NoPlanReason, type PlannedComponent } from '../formats/index.js';
import type { BoundedSample } from './bounds.js';
import { byGroup } from './devices.js';
import type { PlacingProblem } from './placing.js';
import type { SampleFigures } from './problem.js';
import type { ResolvedWorkflows } from './resolve.js';
import type { Unplaced } from './trials.js';

/** Means of shares are no more exact than this. */
const ROUNDING = 1e-9;

/**
 * unrunnableReasons says which components that requests call run on no device of a group, so that such requests have no
 * end there.
 */
export function unrunnableReasons(
  { components, devices }: PlacingProblem,
  called: readonly string[],
): NoPlanReason[] {
  const groups = byGroup(devices).map((places) => new Set(places.map((d) => devices[d]?.class)));
  const used = components.filter(({ name }) => called.includes(name));
  return [
    ...used
      .filter(({ classes }) => classes.length === 0)
      .map(
        ({ name }): NoPlanReason => ({
          code: 'weights-exceed-memory',
          model: name,
          text: `${name} leaves no room on any class for the inputs of its largest task`,
        }),
      ),
    ...groups.flatMap((there, g) =>
      used
        .filter(({ classes }) => classes.length > 0 && !classes.some(({ device }) => there.has(device)))
        .map(({ name, classes }): NoPlanReason => {
          const where = groups.length === 1 ? 'is free' : `is in subcluster ${g}: give fewer of these`;
          const runs = listed(classes.map(({ device }) => device));
          return {
            code: 'too-few-gpus',
            model: name,
            text: `${name} runs on ${runs}, of which no device ${where}`,
          };
        }),
    ),
  ];
}

/** tooSlowReasons says which workflows have too many requests that take longer than their SLO under every plan. */
export function tooSlowReasons(
  { workflows, attainment }: ResolvedWorkflows,
  { promised }: BoundedSample,
): NoPlanReason[] {
  return workflows.flatMap(({ name, sloMs }, w): NoPlanReason[] => {
    const bound = promised[w];
    if (sloMs === undefined || bound === undefined || bound.leastSloMs <= sloMs) return [];
    const text = `${name}: ${percent(attainment)} of its requests need ${rounded(bound.leastSloMs)} ms or more with all devices for each, and its SLO is ${sloMs} ms`;
    return [{ code: 'slo-too-short', model: name, sloMs, latencyMs: bound.leastSloMs, text }];
  });
}

/** tooFewReasons reports that there are fewer devices than the work needs. */
export function tooFewReasons(bound: number, free: number): NoPlanReason[] {
  const text = `the requests that must be in time bring work for ${bound} devices at least, and ${free} are free`;
  return [{ code: 'too-few-gpus', text }];
}

/** unplacedReasons says which components find no room where none ever moves, and whether that is proved. */
export function unplacedReasons(
  { lacking, problem }: Unplaced,
  called: readonly string[],
): { readonly isProved: boolean; readonly reasons: NoPlanReason[] } {
  const gib = (bytes: number): number => bytes / 1024 ** 3;
  const neededGiB = problem.components
    .filter(({ name }) => called.includes(name))
    .reduce((sum, { memoryBytes }: PlannedComponent) => sum + gib(memoryBytes), 0);
  const groups = byGroup(problem.devices).map((places) =>
    places.reduce(
      (sum, d) => sum + (problem.cluster.devices[problem.devices[d]?.class ?? '']?.memoryGiB ?? 0),
      0,
    ),
  );
  const isProved = groups.some((memoryGiB) => memoryGiB < neededGiB);
  const memoryGiB = smallestOf(groups);
  const text = `no device has room for ${listed(lacking)} besides the other components, where each stays in memory: they take ${rounded(neededGiB)} GiB, and ${groups.length === 1 ? 'all devices have' : 'a subcluster has'} ${rounded(memoryGiB)}`;
  return { isProved, reasons: [{ code: 'weights-exceed-memory', neededGiB, memoryGiB, text }] };
}

/** notHeldReasons says which workflows have too few requests in time on all devices. */
export function notHeldReasons(
  { workflows, attainment }: ResolvedWorkflows,
  figures: readonly SampleFigures[],
): NoPlanReason[] {
  return workflows.flatMap(({ name, sloMs }, w): NoPlanReason[] => {
    if (sloMs === undefined) return [];
    const heldShare = meanAttainment(figures, w);
    if (heldShare >= attainment - ROUNDING) return [];
    const text = `${name}: ${percent(heldShare)} of its requests are in time on all devices, and ${percent(attainment)} are asked for`;
    return [{ code: 'not-held', model: name, sloMs, heldShare, attainment, text }];
  });
}

/** meanAttainment is the share of a workflow's requests in time, in the mean over samples that have some. */
export function meanAttainment(figures: readonly SampleFigures[], workflow: number): number {
  const shares = figures.flatMap(({ workflows }) => workflows[workflow]?.attainment ?? []);
  return shares.length === 0 ? 1 : shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(4))} %`;
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
