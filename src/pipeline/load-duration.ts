import { NS_PER_S, type PipelineLoad, writtenSeconds } from '../formats/index.js';

const DEFAULT_DURATION = '60s';

/** drawnDurationNs is how long the requests of a load arrive that is drawn: a minute where it does not say. */
export function drawnDurationNs({
  duration = DEFAULT_DURATION,
}: Exclude<PipelineLoad, { trace: string }>): number {
  return Math.round((writtenSeconds(duration) as number) * NS_PER_S);
}

/** tracedSpan gives the window of the trace that is a load, in seconds from the trace's start. */
export function tracedSpan({ from, to }: Extract<PipelineLoad, { trace: string }>): {
  readonly fromS?: number;
  readonly toS?: number;
} {
  return {
    ...(from === undefined ? {} : { fromS: writtenSeconds(from) as number }),
    ...(to === undefined ? {} : { toS: writtenSeconds(to) as number }),
  };
}
