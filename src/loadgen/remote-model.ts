import { dtypeOfOip, elementCount, type Tensors } from '../execution/index.js';
import { type Fault, fault, type PlanServing, type TensorSpec } from '../formats/index.js';

/** RemoteModel is a model as a server describes it. */
export interface RemoteModel {
  name: string;
  inputs: TensorSpec[];
  outputs: TensorSpec[];
  /**
   * mayLackOutputs says whether an answer may lack outputs, those of branches that were not taken, without
   * saying which.
   */
  mayLackOutputs?: true;
  sloMs?: number;
  /** The rate that it was planned for, and its weight among the models. Servers of others do not tell these. */
  plannedRps?: number;
  weight?: number;
  /** The digest of the plan that is served. */
  planSha256?: string;
  /** The notes of that plan, such as those on measurements that are unfit; absent where there are none. */
  planNotes?: string[];
  /** How the server schedules. */
  serving?: PlanServing;
}

interface MetadataTensor {
  name: string;
  datatype: string;
  shape: number[];
}

/** Metadata is the description of a model, as a server sends it. */
export interface Metadata {
  name: string;
  inputs: MetadataTensor[];
  outputs: MetadataTensor[];
  properties?: {
    slo_ms?: string;
    planned_rps?: string;
    weight?: string;
    plan_sha256?: string;
    plan_notes?: string;
    scheduler?: string;
    policy?: string;
    may_lack_outputs?: string;
    [key: `fill.${string}`]: string;
  };
}

/** isMetadata says whether a server describes a model as the Open Inference Protocol does. */
export function isMetadata(json: unknown): json is Metadata {
  const { name, inputs, outputs } = (json ?? {}) as Record<string, unknown>;
  const isTensor = (value: unknown): boolean => {
    const tensor = (value ?? {}) as Record<string, unknown>;
    const named = typeof tensor.name === 'string' && typeof tensor.datatype === 'string';
    return (
      named && Array.isArray(tensor.shape) && tensor.shape.every((size) => Number.isInteger(Number(size)))
    );
  };
  const areTensors = (value: unknown): boolean => Array.isArray(value) && value.every(isTensor);
  return typeof name === 'string' && areTensors(inputs) && areTensors(outputs);
}

/**
 * The prefix of the names in a model's Triton configuration under which a bundle says things of the model.
 */
const CONFIGURED = 'inferplan.';

/** configuredProperties reads what a bundle tells of a model in Triton's configuration of it, undefined where that is nothing. */
export function configuredProperties(config: unknown): Metadata['properties'] {
  const { parameters } = (config ?? {}) as { parameters?: unknown };
  if (typeof parameters !== 'object' || parameters === null) return undefined;
  const told = Object.entries(parameters).flatMap(([key, value]) => {
    const { string_value: text } = (value ?? {}) as { string_value?: unknown };
    return key.startsWith(CONFIGURED) && typeof text === 'string'
      ? [[key.slice(CONFIGURED.length), text]]
      : [];
  });
  return told.length === 0 ? undefined : (Object.fromEntries(told) as Metadata['properties']);
}

/** readMetadata reads the description of a model. */
export function readMetadata({ name, inputs, outputs, properties }: Metadata): RemoteModel {
  const spec = ({ name: tensor, datatype, shape }: MetadataTensor): TensorSpec => {
    const axis = shape.findIndex((size) => Number(size) === -1);
    const fill = properties?.[`fill.${tensor}`];
    return {
      name: tensor,
      dtype: dtypeOfOip(datatype) ?? datatype,
      shape: shape.map((size) => Math.abs(Number(size))),
      ...(axis < 0 ? {} : { batchAxis: axis }),
      ...(fill === undefined ? {} : { fill: Number(fill) }),
    };
  };
  return {
    name,
    inputs: inputs.map(spec),
    outputs: outputs.map(spec),
    ...(properties?.may_lack_outputs === 'true' ? { mayLackOutputs: true } : {}),
    ...numberOf('sloMs', properties?.slo_ms),
    ...numberOf('plannedRps', properties?.planned_rps),
    ...numberOf('weight', properties?.weight),
    ...(typeof properties?.plan_sha256 === 'string' ? { planSha256: properties.plan_sha256 } : {}),
    ...planNotesOf(properties),
    ...servingOf(properties),
  };
}

/** planNotesOf gives the notes of the plan that a server serves, where it tells them in a way that is known here. */
function planNotesOf({ plan_notes: text }: NonNullable<Metadata['properties']> = {}): {
  planNotes?: string[];
} {
  if (typeof text !== 'string') return {};
  try {
    const notes = JSON.parse(text) as unknown;
    const areTold = Array.isArray(notes) && notes.every((note) => typeof note === 'string');
    return areTold && notes.length > 0 ? { planNotes: notes } : {};
  } catch {
    return {};
  }
}

/** servingOf gives how a server schedules, where it tells that in a way that is known here. */
function servingOf({ scheduler, policy }: NonNullable<Metadata['properties']> = {}): {
  serving?: PlanServing;
} {
  if (typeof scheduler !== 'string' || scheduler === '' || typeof policy !== 'string') return {};
  try {
    const choices = JSON.parse(policy) as unknown;
    const areTold =
      typeof choices === 'object' &&
      choices !== null &&
      !Array.isArray(choices) &&
      Object.values(choices).every((choice) => ['string', 'number', 'boolean'].includes(typeof choice));
    return areTold ? { serving: { scheduler, policy: choices as PlanServing['policy'] & {} } } : {};
  } catch {
    return {};
  }
}

/** numberOf gives a property that is a number, under the name that it has here. */
function numberOf<K extends string>(name: K, text: string | undefined): { [key in K]?: number } {
  const value = Number(text);
  return (text === undefined || Number.isNaN(value) ? {} : { [name]: value }) as { [key in K]?: number };
}

/**
 * inputFaults says what is wrong with given inputs of a model: a tensor is missing, has another type, or other elements
 * than its own shape needs. It does not compare shapes with the model's. The list is empty when nothing is wrong.
 * @param place the place of the faults
 */
export function inputFaults(model: RemoteModel, inputs: Tensors, place: string): Fault[] {
  return model.inputs.flatMap((spec) => {
    const tensor = inputs[spec.name];
    if (tensor === undefined) return [fault(`lacks ${spec.name}`, place)];
    if (tensor.dtype !== spec.dtype)
      return [fault(`${spec.name} is ${tensor.dtype}, not ${spec.dtype}`, place)];
    if (tensor.data.length === elementCount(tensor.dims)) return [];
    return [fault(`${spec.name} has ${tensor.data.length} elements for [${tensor.dims.join(', ')}]`, place)];
  });
}
