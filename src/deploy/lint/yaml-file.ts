import { createRequire } from 'node:module';
import type { Document, LineCounter, Node, Pair, Scalar, YAMLParseError } from 'yaml';

/** Place is where something is in a file: the keys and indices that lead there. */
export type Place = readonly (string | number)[];

/** YamlFile is a text of YAML, whose values are looked up with the lines that they stand on. */
export class YamlFile {
  /** What is wrong with the text as YAML, with lines. */
  readonly errors: readonly { readonly line: number; readonly message: string }[];
  readonly values: readonly unknown[];
  private readonly lines: LineCounter;
  private readonly documents: readonly Document[];

  /** @param text one document, or several */
  constructor(text: string) {
    const yaml = createRequire(import.meta.url)('yaml') as typeof import('yaml');
    this.lines = new yaml.LineCounter();
    const parsed = yaml.parseAllDocuments(text, { lineCounter: this.lines, prettyErrors: false });
    this.documents = 'empty' in parsed ? [] : parsed;
    this.errors = this.documents.flatMap(({ errors }) =>
      errors.map(({ pos, message }: YAMLParseError) => ({ line: this.lines.linePos(pos[0]).line, message })),
    );
    this.values =
      this.errors.length > 0
        ? []
        : this.documents.map((document) => document.toJS({ maxAliasCount: 100 }) as unknown);
  }

  /** lineOf gives the line of a place in a document, or of the closest place around it that the text has. */
  lineOf(place: Place, document = 0): number {
    for (let length = place.length; length >= 0; length--) {
      const from = this.offsetOf(place.slice(0, length), document);
      if (from !== undefined) return this.lines.linePos(from).line;
    }
    return 1;
  }

  /** A field begins at its key, and an entry of a list at its value. */
  private offsetOf(place: Place, document: number): number | undefined {
    const found = this.documents[document];
    const holder = found?.getIn(place.slice(0, -1), true) as
      | { readonly items?: readonly unknown[] }
      | undefined;
    const key = place.at(-1);
    const pair = holder?.items?.find((one) => (one as Pair<Scalar>).key?.value === key) as
      | Pair<Scalar>
      | undefined;
    const node = pair?.key ?? (found?.getIn(place, true) as Node | undefined);
    return node?.range?.[0];
  }
}

/** pointerOf writes a place as a JSON pointer. */
export function pointerOf(place: Place): string {
  return place.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
