import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** This folder holds published models that this project did not make; tests that need it are skipped without it. */
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
