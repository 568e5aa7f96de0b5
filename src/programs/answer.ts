import { arrayOf, tensorCopy } from './datatypes.js';
import type { CalledFace, ProgramResult, SourceName } from './messages.js';
import { told } from './module-faults.js';
import type { ProgramTensor, TensorMetadata } from './program.js';
import { misfitOf, names, type ProgramSources } from './program-sources.js';

/** resultOf checks what a program returned against its outputs. It gives the result, or everything that is wrong. */
export function resultOf(
  returned: unknown,
  { outputs }: CalledFace,
  sources: ProgramSources,
): ProgramResult | readonly string[] {
  if (!isPlain(returned)) return [`returned ${told(returned)}; return an object with ${names(outputs)}`];
  const given = returned as Readonly<Record<string, unknown>>;
  const faults = Object.keys(given)
    .filter((name) => !outputs.some((output) => output.name === name))
    .map((name) => `returned "${name}", which is none of its outputs ${names(outputs)}`);
  const taken: Record<string, ProgramTensor | SourceName> = {};
  const notTaken: string[] = [];
  for (const output of outputs.map(ofOneRow)) {
    const value = given[output.name];
    if (value === undefined || value === null) {
      notTaken.push(output.name);
      continue;
    }
    const checked = isTensor(value) ? checkedTensor(value, output) : checkedSource(value, output, sources);
    if (typeof checked === 'string') faults.push(`returned as ${output.name} what ${checked}`);
    else taken[output.name] = checked;
  }
  return faults.length > 0 ? faults : { outputs: taken, notTaken };
}

/** isPlain tells an object that was written as one from a list, a map or what a generator gives. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const above: unknown = Object.getPrototypeOf(value);
  return above === null || above === Object.prototype;
}

/** ofOneRow gives what an output is for one row of a request, which a run answers: the driver puts rows together. */
function ofOneRow(output: TensorMetadata): TensorMetadata {
  const [first, ...rest] = output.shape;
  return first === -1 ? { ...output, shape: [1, ...rest] } : output;
}

function isTensor(value: unknown): value is ProgramTensor {
  return (
    typeof value === 'object' && value !== null && 'datatype' in value && 'shape' in value && 'data' in value
  );
}

function checkedSource(value: unknown, output: TensorMetadata, sources: ProgramSources): SourceName | string {
  const found = sources.find(value);
  if (typeof found === 'string') return `${found}; or return a tensor { datatype, shape, data }`;
  return misfitOf(found, output) ?? found.source;
}

function checkedTensor(value: ProgramTensor, output: TensorMetadata): ProgramTensor | string {
  const { datatype, shape } = value;
  if (datatype !== output.datatype) return `is ${told(datatype)}, not ${output.datatype}`;
  if (!Array.isArray(shape) || !shape.every((size) => Number.isSafeInteger(size) && size >= 0))
    return `has the shape ${told(shape)}; give a list of sizes`;
  const fits = output.shape.every((size, axis) => size === -1 || size === shape[axis]);
  if (shape.length !== output.shape.length || !fits)
    return `has the shape [${shape.join(', ')}], not [${output.shape.join(', ')}]`;
  const copy = tensorCopy(value);
  if (copy === undefined)
    return `holds its data otherwise than in ${arrayOf(datatype)}, as ${datatype} is held`;
  const elements = shape.reduce((product, size) => product * size, 1);
  if (copy.data.length !== elements) return `has ${copy.data.length} elements; its shape has ${elements}`;
  return copy;
}
