import type { CountedSamples, PipelineProfile, SampledRuns, SampledShare } from '../formats/index.js';
import { count, orDash, percent, type Table } from './table.js';

/** visitTable lists how many samples came to each stage of a pipeline. */
export function visitTable({ stages, confidence }: CountedSamples): Table {
  return {
    columns: ['stage', 'samples', 'scale factor', `${percent(confidence, 0)} interval`, 'if independent'],
    spare: ['if independent'],
    rows: stages.map(({ name, visits, scaleFactor, independentScaleFactor }) => [
      name,
      count(visits),
      percent(scaleFactor.share),
      interval(scaleFactor),
      percent(independentScaleFactor),
    ]),
  };
}

/** edgeTable lists how often each edge that depends on a verdict was taken. */
export function edgeTable({ stages, confidence }: CountedSamples): Table {
  return {
    columns: ['edge', 'taken', 'of', 'probability', `${percent(confidence, 0)} interval`, 'before'],
    spare: ['before', 'of', 'taken'],
    rows: stages.flatMap(({ name, edges }) =>
      edges.map(({ to, taken, of, probabilityBefore, ...share }) => [
        `${name} → ${to}`,
        count(taken),
        count(of),
        percent(share.share),
        interval(share),
        orDash(probabilityBefore, percent),
      ]),
    ),
  };
}

function interval({ low, high }: SampledShare): string {
  return `${percent(low)} to ${percent(high)}`;
}

/** callTable lists how often a program called each component for samples. */
export function callTable({ components, samples }: SampledRuns): Table {
  return {
    columns: ['component', 'calls', 'a sample'],
    rows: components.map(({ name, calls }) => [
      name,
      count(calls),
      (calls / Math.max(1, samples)).toFixed(2),
    ]),
  };
}

/** measuredLines says which profiles were measured, because they were missing. */
export function measuredLines({ profiles }: PipelineProfile): string[] {
  return profiles.flatMap(({ path, measured }) => (measured ? [`profile: ${path}`] : []));
}
