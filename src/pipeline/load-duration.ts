import type { PipelineLoad } from '../artifacts/index.js';

const DEFAULT_DURATION = '60s';
const NS_PER_S = 1e9;
const UNITS_S: Readonly<Record<string, number>> = { ms: 1e-3, s: 1, m: 60, min: 60, h: 3600 };

/** drawnDurationNs is how long the requests of a load arrive that is drawn: a minute where it does not say. */
export function drawnDurationNs({
  duration = DEFAULT_DURATION,
}: Exclude<PipelineLoad, { trace: string }>): number {
  const [, digits, unit = 's'] = /^([0-9.]+)([a-z]+)$/.exec(duration) ?? [];
  return Math.round(Number(digits) * (UNITS_S[unit] as number) * NS_PER_S);
}
