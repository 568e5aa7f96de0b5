import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import { parseArtifact } from '../../src/artifacts/index.js';
import { ARTIFACT_KINDS, schemaText } from '../../src/artifacts/schemas.js';

// validatorOf() does not check the schemas, which would cost every command some milliseconds.
it.each(ARTIFACT_KINDS)('The schema of %s is a valid JSON Schema without unknown keywords', (kind) => {
  const ajv = new Ajv({ allowUnionTypes: true, strict: true, strictTypes: false, strictRequired: false });
  for (const other of ARTIFACT_KINDS) ajv.addSchema(JSON.parse(schemaText(other)) as object);
  const schema = JSON.parse(schemaText(kind)) as { $id: string };
  expect(ajv.validateSchema(schema)).toBe(true);
  expect(ajv.getSchema(schema.$id)).toBeTypeOf('function');
});

it.each(Object.getOwnPropertyNames(Object.prototype))('A device class cannot be called %s', (name) => {
  const text = `{ "kind": "cluster", "devices": { "${name}": { "count": 1 }, "fast": { "count": 1 } } }`;
  expect(() => parseArtifact(text, 'cluster.json', ['cluster'])).toThrow(
    `Cannot read cluster.json: /devices: has a key "${name}" that is not valid here`,
  );
  expect(() => parseArtifact(text.replace(name, 'slow'), 'cluster.json', ['cluster'])).not.toThrow();
});
