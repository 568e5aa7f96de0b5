import { createRequire } from 'node:module';
import type { Ajv, ErrorObject, KeywordCxt } from 'ajv';
import { itemAt } from '../collections/index.js';
import { MOST_FAULTS } from '../formats/index.js';

/** MORE_ERRORS is the keyword of an error that stands for others, which are counted and not kept. */
export const MORE_ERRORS = 'more';

/** CountedErrors stands for the errors of the later entries of a list. */
export interface CountedErrors extends ErrorObject {
  readonly keyword: typeof MORE_ERRORS;
  readonly params: { count: number };
}

/** COUNTED is what code that is written to a file calls `counted`. */
export const COUNTED = 'counted';

/** A value may have any number of parts by these keywords, and an error for each. */
const LOOPS = ['items', 'additionalProperties', 'propertyNames'] as const;

/**
 * countErrors lets the validators that a compiler makes keep the errors of the first entries of each list or
 * map, as many as are reported, and count those of the others. Ajv keeps all, and copies them each time that
 * a definition was looked at: as many copies as entries, each as long as what is wrong so far.
 */
export function countErrors(ajv: Ajv): void {
  const require = createRequire(import.meta.url);
  const { _, Name } =
    require('ajv/dist/compile/codegen') as typeof import('ajv/dist/compile/codegen/index.js');
  const { default: names } = require('ajv/dist/compile/names') as typeof import('ajv/dist/compile/names.js');
  for (const keyword of LOOPS) {
    const rule = ajv.RULES.all[keyword] as { definition: { code: (cxt: KeywordCxt) => void } };
    const { code } = rule.definition;
    rule.definition = {
      ...rule.definition,
      code(cxt) {
        const { gen } = cxt;
        const counting = gen.scopeValue('func', { ref: countedOnce, code: _`${new Name(COUNTED)}` });
        const start = gen.const('_start', names.errors);
        // Each entry of the loop ends in one of these two calls.
        for (const call of ['subschema', 'error'] as const) {
          const own = cxt[call].bind(cxt) as (...args: unknown[]) => unknown;
          const bounded = (...args: unknown[]): unknown => {
            const before = gen.const('_before', names.errors);
            const result = own(...args);
            gen.if(_`${names.errors} > ${before} && ${before} - ${start} >= ${MOST_FAULTS}`, () =>
              gen.assign(names.errors, _`${counting}(${names.vErrors}, ${before}, ${start})`),
            );
            return result;
          };
          Object.assign(cxt, { [call]: bounded });
        }
        code(cxt);
      },
    };
  }
}

/**
 * countedOnce puts one error that counts in place of those of an entry, or adds them to it.
 * @param before the number of errors before the entry
 * @param start the number of errors before the list
 * @returns the number of errors now
 */
export function countedOnce(errors: ErrorObject[], before: number, start: number): number {
  const count = [...toldErrors(errors, before)].reduce((sum, error) => sum + standsFor(error), 0);
  const last = itemAt(errors, before - 1);
  if (before > start && last.keyword === MORE_ERRORS) {
    (last as CountedErrors).params.count += count;
    errors.length = before;
  } else {
    const { instancePath, schemaPath } = itemAt(errors, before);
    errors[before] = { keyword: MORE_ERRORS, instancePath, schemaPath, params: { count } };
    errors.length = before + 1;
  }
  return errors.length;
}

function standsFor(error: ErrorObject): number {
  return error.keyword === MORE_ERRORS ? (error as CountedErrors).params.count : 1;
}

/**
 * toldErrors gives the errors that a person is told of, from the last to the first: for a `oneOf` its own alone. Ajv
 * gives the errors of its alternatives before it, and no schema has other keywords beside a `oneOf` (tested).
 */
export function* toldErrors(errors: readonly ErrorObject[], from = 0): Generator<ErrorObject> {
  for (let i = errors.length - 1; i >= from; i--) {
    const error = itemAt(errors, i);
    if (error.keyword === 'if' || error.propertyName !== undefined) continue;
    yield error;
    if (error.keyword !== 'oneOf') continue;
    while (i > from && isWithin(itemAt(errors, i - 1), error)) i--;
  }
}

function isWithin({ instancePath: path }: ErrorObject, { instancePath: at }: ErrorObject): boolean {
  return path === at || path.startsWith(`${at}/`);
}
