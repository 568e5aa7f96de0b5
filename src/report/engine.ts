import type { EngineFigures, EngineProfile } from '../formats/index.js';
import { figure, milliseconds } from './table.js';

/** engineText says in a clause what an engine takes beside its devices. */
export function engineText({ target, ingress: { replicas, requestUs }, hopUs }: EngineFigures): string {
  const capacity = requestUs === 0 ? 'any rate' : `${figure((1e6 * replicas) / requestUs)} requests/s`;
  return `the engine ${target} with an ingress of ${replicas} × ${milliseconds(requestUs / 1e3)} (${capacity}) and hops of ${milliseconds(hopUs / 1e3)}`;
}

/** engineLines says what was measured of an engine, and by what. */
export function engineLines(profile: EngineProfile): string[] {
  const { requests = 0, refusals = 0, bodyBytes = 0, server } = profile.measurement ?? {};
  const of = server === undefined ? '' : ` of ${server}`;
  return [
    engineText(profile),
    `measured${of} by ${requests} requests of ${bodyBytes} bytes, and ${refusals} that its ingress refused`,
  ];
}
