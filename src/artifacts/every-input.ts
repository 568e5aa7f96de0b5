import { access, constants } from 'node:fs/promises';
import { type Fault, faultAt, faultInFile, InputError, MissingError } from '../formats/index.js';
import { checkPlainFile, unreadable } from './read-file.js';

/**
 * everyInput waits for all of the inputs, which are read at the same time, and gives them in their order, or reports
 * all that cannot be read.
 * @param task the common purpose of the inputs: completes "Cannot …" where several cannot be read
 * @throws the error of the one input that cannot be read; where there are several, one error with the faults of all:
 *   MissingError where they are only missing, InputError otherwise. An error that is no InputError goes before all.
 */
export async function everyInput<T extends readonly unknown[]>(
  task: string,
  reads: { readonly [K in keyof T]: Promise<T[K]> },
): Promise<T> {
  const tried = await Promise.allSettled(reads);
  const failures = tried.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  const errors = failures.filter((error) => error instanceof InputError);
  if (failures.length > errors.length) throw failures.find((error) => !(error instanceof InputError));
  if (errors.length > 0) throw oneErrorOf(task, errors);
  return tried.map((one) => (one as PromiseFulfilledResult<unknown>).value) as unknown as T;
}

/**
 * withOwnFaults waits for the files that a spec names. Where they cannot be read, what is wrong with the spec itself is reported
 * together with them; where they can, its faults are left to the caller.
 * @param own finds what is wrong with the spec itself
 * @throws as `everyInput` does
 */
export async function withOwnFaults<T>(
  task: string,
  reading: Promise<T>,
  own: () => readonly Fault[],
): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    const faults = own();
    if (!(error instanceof InputError) || faults.length === 0) throw error;
    throw oneErrorOf(task, [error, new InputError(task, faults)]);
  }
}

/**
 * attempted waits for work on an input. Where that is refused it adds the error to those that are reported later, and gives
 * undefined.
 * @throws an error that is no InputError
 */
export async function attempted<T>(errors: InputError[], work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    errors.push(error);
    return undefined;
  }
}

/**
 * oneErrorOf makes one error of several, at least one, with the faults of all. A single one it gives as it is. It does not
 * throw it.
 * @param task the common purpose of the inputs: completes "Cannot …"
 * @returns a MissingError where all are, else an InputError
 */
export function oneErrorOf(task: string, errors: readonly InputError[]): InputError {
  const [first] = errors;
  return errors.length === 1 && first !== undefined ? first : together(task, errors);
}

function together(task: string, errors: readonly InputError[]): InputError {
  const faults = new Map(errors.flatMap(placed).map((fault) => [`${fault.path}: ${fault.message}`, fault]));
  const advice = [...new Set(errors.flatMap((error) => error.advice ?? []))].join('\n') || undefined;
  const missing = errors.every((error) => error instanceof MissingError);
  return missing
    ? new MissingError(task, [...faults.values()], advice)
    : new InputError(task, [...faults.values()], advice);
}

/** placed gives an error's faults with their file: the error of a file that cannot be read names the file in its task. */
export function placed({ task, faults }: InputError): Fault[] {
  const file = /^read (.+)$/s.exec(task)?.[1];
  return faults.map((one) => {
    if (file === undefined) return one.path === '' ? faultAt(one, task) : one;
    return faultInFile(file, one);
  });
}

/**
 * checkReadable checks that a path leads to a plain file that this user may read, without reading it.
 * @throws MissingError where there is no such file; InputError otherwise
 */
export async function checkReadable(path: string): Promise<void> {
  await checkPlainFile(path);
  try {
    await access(path, constants.R_OK);
  } catch (error) {
    throw unreadable(path, error);
  }
}
