import { dirname, resolve, sep } from 'node:path';
import { relativePath } from './input-paths.js';
import { schemaPath } from './schema-text.js';

/**
 * schemaModeline gives the comment by which an editor finds the schema of a YAML file at `holder` (without one, in the
 * working folder). It is undefined where this package is not installed in the folder of a project that the file lies
 * in, because the path would then hold on this machine only.
 */
export function schemaModeline(kind: string, holder: string | undefined): string | undefined {
  const path = schemaPath(kind);
  const parts = path.split(sep);
  const modules = parts.indexOf('node_modules');
  const project = modules === -1 ? dirname(dirname(path)) : parts.slice(0, modules).join(sep);
  const folder = holder === undefined ? process.cwd() : dirname(resolve(holder));
  if (project === '' || !`${folder}${sep}`.startsWith(`${project}${sep}`)) return undefined;
  return `# yaml-language-server: $schema=${relativePath(path, holder)}`;
}
