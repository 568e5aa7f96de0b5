import { createRequire } from 'node:module';
import type { Document, LineCounter } from 'yaml';
import { type Fault, refuseLargeYaml } from '../formats/index.js';
import type { PointedFault } from './faults.js';

/** TextPlaces finds the places of values in a text of YAML, or of JSON, which is YAML too. */
export class TextPlaces {
  constructor(
    private readonly document: Document.Parsed,
    private readonly lines: LineCounter,
  ) {}

  /** place gives the line and the column of what a JSON pointer names, or of the nearest thing around it that is there. */
  place(pointer: string): { line: number; column: number } | undefined {
    const steps = pointerSteps(pointer);
    for (let length = steps.length; length >= 0; length--) {
      const node = this.document.getIn(steps.slice(0, length), true) as { range?: [number] } | undefined;
      const from = this.keyAt(steps.slice(0, length)) ?? node?.range?.[0];
      if (from !== undefined) return this.at(from);
    }
    return undefined;
  }

  private at(offset: number): { line: number; column: number } {
    const { line, col } = this.lines.linePos(offset);
    return { line, column: col };
  }

  /** keyAt gives where the key of an entry of a map begins. */
  private keyAt(steps: readonly string[]): number | undefined {
    const last = steps.at(-1);
    const map = this.document.getIn(steps.slice(0, -1), true) as { items?: readonly unknown[] } | undefined;
    if (last === undefined || map?.items === undefined) return undefined;
    for (const item of map.items) {
      const key = (item as { key?: { value?: unknown; range?: [number] } | null }).key;
      if (key?.value !== undefined && String(key.value) === last) return key.range?.[0];
    }
    return undefined;
  }
}

/** textPlaces parses a text of YAML or JSON for its places; undefined where that cannot be done, or would take long. */
export function textPlaces(text: string): TextPlaces | undefined {
  try {
    refuseLargeYaml(text, 'find places');
    const yaml = createRequire(import.meta.url)('yaml') as typeof import('yaml');
    const lines = new yaml.LineCounter();
    const document = yaml.parseDocument(text, { prettyErrors: false, uniqueKeys: false, lineCounter: lines });
    return document.errors.length > 0 ? undefined : new TextPlaces(document, lines);
  } catch {
    return undefined;
  }
}

/** placedFaults adds to faults of the values of a text of YAML the line and the column where each is. */
export function placedFaults(faults: readonly PointedFault[], text: string): Fault[] {
  const places = textPlaces(text);
  return faults.map(({ pointer, ...fault }) => {
    const at = pointer ?? fault.path;
    const place = fault.more === undefined && at.startsWith('/') ? places?.place(at) : undefined;
    return place === undefined
      ? fault
      : { ...fault, message: `${fault.message} (line ${place.line}, column ${place.column})` };
  });
}

/** pointerSteps splits a JSON pointer. */
export function pointerSteps(pointer: string): string[] {
  if (pointer === '' || pointer === '/') return [];
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}
