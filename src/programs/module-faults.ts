import type { Fault } from '../formats/index.js';
import { DATATYPES } from './datatypes.js';

/**
 * moduleFaults finds everything that keeps a module from being a program. The places of faults are JSON pointers into
 * its exports.
 */
export function moduleFaults(module: Readonly<Record<string, unknown>>): Fault[] {
  return [
    ...tensorListFaults(module.inputs, 'inputs'),
    ...tensorListFaults(module.outputs, 'outputs'),
    ...(isProgram(module.default) ? [] : [NO_FUNCTION]),
  ];
}

const NO_FUNCTION: Fault = {
  path: '/default',
  message:
    'the default export is no function that returns outputs, as generators and classes are none; write `export default async function (request, { call }) { … }`',
};

function isProgram(given: unknown): boolean {
  if (typeof given !== 'function') return false;
  const { name } = given.constructor;
  const isClass = /^class\b/.test(Function.prototype.toString.call(given));
  return (name === 'Function' || name === 'AsyncFunction') && !isClass;
}

function tensorListFaults(list: unknown, name: string): Fault[] {
  const path = `/${name}`;
  if (list === undefined)
    return [
      {
        path,
        message: `the module does not export ${name}; write \`export const ${name} = [{ name: 'x', datatype: 'FP32', shape: [-1, 8] }]\``,
      },
    ];
  if (!Array.isArray(list) || list.length === 0)
    return [
      { path, message: 'is no list of tensors; give one tensor at least, by name, datatype and shape' },
    ];
  const faults = list.flatMap((tensor: unknown, i) => tensorFaults(tensor, `${path}/${i}`));
  return [...faults, ...repeatedNames(list, path)];
}

function tensorFaults(tensor: unknown, path: string): Fault[] {
  if (typeof tensor !== 'object' || tensor === null)
    return [{ path, message: `is ${told(tensor)}; give an object with name, datatype and shape` }];
  const { name, datatype, shape } = tensor as Record<string, unknown>;
  const faults: Fault[] = [];
  if (typeof name !== 'string' || name === '')
    faults.push({ path: `${path}/name`, message: `is ${told(name)}; give a text` });
  if (typeof datatype !== 'string' || !DATATYPES.includes(datatype))
    faults.push({
      path: `${path}/datatype`,
      message: `is ${told(datatype)}; give one of ${DATATYPES.join(', ')}`,
    });
  if (!isShape(shape))
    faults.push({
      path: `${path}/shape`,
      message: `is ${told(shape)}; give a list of sizes, of which one at least: each a whole number from 1 on, or -1 where it is free`,
    });
  return faults;
}

function isShape(shape: unknown): boolean {
  return (
    Array.isArray(shape) &&
    shape.length > 0 &&
    shape.every((size) => Number.isSafeInteger(size) && (size === -1 || size >= 1))
  );
}

function repeatedNames(list: readonly unknown[], path: string): Fault[] {
  const names = list.map((tensor) => (tensor as { name?: unknown } | null)?.name);
  return names.flatMap((name, i) => {
    const first = names.indexOf(name);
    if (first === i || typeof name !== 'string') return [];
    return [
      {
        path: `${path}/${i}/name`,
        message: `is ${told(name)}, as that of ${path}/${first}; give each its own`,
      },
    ];
  });
}

/** told quotes a value of the module. The worker does without the room `artifacts`, which would be loaded on every thread. */
export function told(value: unknown): string {
  if (value === undefined) return 'absent';
  if (typeof value === 'function') return 'a function';
  try {
    const text = JSON.stringify(value) ?? String(value);
    return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS)}…` : text;
  } catch {
    return 'what is no JSON';
  }
}
const MOST_LETTERS = 60;
