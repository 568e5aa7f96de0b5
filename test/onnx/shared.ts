import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder of models nobody here wrote; tests that need it run wherever it is. */
const folder = fileURLToPath(new URL('../../../shared/models/', import.meta.url));

export const hasShared = existsSync(folder);

export function sharedFile(name: string): string {
  return `${folder}${name}`;
}

export function sharedBytes(name: string): Uint8Array {
  return new Uint8Array(readFileSync(sharedFile(name)));
}

export function sharedModels(): string[] {
  return hasShared ? readdirSync(folder).filter((name) => name.endsWith('.onnx')) : [];
}
