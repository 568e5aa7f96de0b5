import type { Emitted } from './common.js';

/** EngineFigures are what an engine itself takes of a request's time, beside the devices of the plan that it serves. */
export interface EngineFigures {
  /** The engine that was measured, as the deploy target is called. */
  target: string;
  ingress: EngineIngress;
  /** The mean time from the ingress to a stage, or back. From stage to stage it is both. */
  hopUs: number;
}

/** EngineProfile is a file with the figures of an engine. */
export interface EngineProfile extends Emitted, EngineFigures {
  kind: 'engine-profile';
  measurement?: EngineMeasurement;
}

/** EngineIngress is what every request passes first: replicas that take one request at a time. */
export interface EngineIngress {
  /** How many there are; a request goes to the one that is free first. */
  replicas: number;
  /** How long one is busy with a request. */
  requestUs: number;
}

/** EngineMeasurement says how the figures came about. */
export interface EngineMeasurement {
  /** The name and version that the server reports. */
  server?: string;
  /** How many requests were answered by stages, and how many the ingress alone answered. */
  requests?: number;
  refusals?: number;
  /** How many requests that stages answered came each second; absent where each waited for the one before. */
  rps?: number;
  /** The size of a request's body. */
  bodyBytes?: number;
  /** The digest of the plan that was served. */
  planSha256?: string;
}

/** engineFigures gives the figures of an engine profile, as plans and reports hold them. */
export function engineFigures({ target, ingress, hopUs }: EngineFigures): EngineFigures {
  return { target, ingress, hopUs };
}
