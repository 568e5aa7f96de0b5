import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import { ARTIFACT_KINDS, schemaText } from '../../src/artifacts/schemas.js';

// validatorOf() does not check the schemas, which would cost every command some milliseconds.
it.each(ARTIFACT_KINDS)('The schema of %s is a valid JSON Schema without unknown keywords', (kind) => {
  const ajv = new Ajv({ allowUnionTypes: true, strict: true, strictTypes: false, strictRequired: false });
  for (const other of ARTIFACT_KINDS) ajv.addSchema(JSON.parse(schemaText(other)) as object);
  const schema = JSON.parse(schemaText(kind)) as { $id: string };
  expect(ajv.validateSchema(schema)).toBe(true);
  expect(ajv.getSchema(schema.$id)).toBeTypeOf('function');
});
