import { createRequire } from 'node:module';
import type { Ajv, ValidateFunction } from 'ajv';
import { COUNTED, countErrors } from './counted-errors.js';
import { completeSchema } from './schema-text.js';

/** ALONE lists by kind the definitions that values are validated by alone. */
const ALONE: Readonly<Record<string, readonly string[]>> = {
  policy: ['stageLocal', 'reservation', 'workflow'],
};

/** WHOLE is the name of the validator of a kind among those of its definitions. */
export const WHOLE = 'whole';

/** Validators are those of a kind: of its files, and by their names of its definitions that stand alone. */
export type Validators = Readonly<Record<string, ValidateFunction>>;

let compiler: Ajv | undefined;

/** compiled compiles a schema at once, which takes some 10 ms, and for the first one 100 ms to load ajv. */
export function compiled(schema: object): ValidateFunction {
  compiler ??= schemaCompiler();
  return compiler.compile(schema);
}

/** compiledKind compiles the validators of a kind at once. */
export function compiledKind(kind: string): Validators {
  const ajv = schemaCompiler();
  return Object.fromEntries(
    Object.entries(addedKind(ajv, kind)).map(([name, id]) => [name, ajv.getSchema(id) as ValidateFunction]),
  );
}

/**
 * validatorsCode gives the code of a CommonJS module with the validators of a kind. It exports a function that takes what
 * counts errors, `counted`, and gives the validators.
 */
export function validatorsCode(kind: string): string {
  const ajv = schemaCompiler({ source: true });
  const standalone = createRequire(import.meta.url)(
    'ajv/dist/standalone',
  ) as typeof import('ajv/dist/standalone/index.js');
  const code = standalone.default(ajv, addedKind(ajv, kind));
  return `module.exports = (${COUNTED}) => {\nconst exports = {};\n${code}\nreturn exports;\n};\n`;
}

/** addedKind adds the schema of a kind to a compiler, and gives the names of its validators with what they are found by. */
function addedKind(ajv: Ajv, kind: string): Record<string, string> {
  const schema = completeSchema(kind) as { readonly $id: string };
  ajv.addSchema(schema);
  const definitions = (ALONE[kind] ?? []).map((name) => [name, `${schema.$id}#/definitions/${name}`]);
  return { [WHOLE]: schema.$id, ...Object.fromEntries(definitions) };
}

function schemaCompiler({ source = false } = {}): Ajv {
  const { default: Ajv } = createRequire(import.meta.url)('ajv') as typeof import('ajv');
  const ajv = new Ajv({
    allErrors: true,
    verbose: true,
    allowUnionTypes: true,
    strictTypes: false,
    // The tests check the schemas themselves, and compiling shorter code takes longer than running what is saved.
    validateSchema: false,
    code: { optimize: false, source },
  });
  countErrors(ajv);
  return ajv;
}
