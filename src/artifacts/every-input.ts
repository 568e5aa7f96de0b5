import { access, constants } from 'node:fs/promises';
import { type Fault, faultAt, InputError, MissingError } from './errors.js';
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
  if (errors.length > 1) throw together(task, errors);
  if (errors.length === 1) throw errors[0];
  return tried.map((one) => (one as PromiseFulfilledResult<unknown>).value) as unknown as T;
}

/**
 * withOwnFaults waits for the files that a spec names. Where they cannot be read, what is wrong with the spec itself is told
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
    const failures = faults.length === 0 ? [error] : [error, new InputError(task, faults)];
    await everyInput(
      task,
      failures.map((one) => Promise.reject(one)),
    );
    throw error;
  }
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
    return faultAt(one, one.path === '' ? file : `${file} ${one.path}`);
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
