import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';
import type { Node, Pair, YAMLMap } from 'yaml';
import { isYamlPath, parseArtifact } from '../artifacts/index.js';
import { fault, InputError, type PipelineSpec } from '../formats/index.js';

/** EdgeShare is the probability of an edge: `at` is its index in the `next` of a stage. */
export interface EdgeShare {
  readonly stage: number;
  readonly at: number;
  readonly probability: number;
}

/** SpecChanges is what is changed in a spec. */
export interface SpecChanges {
  readonly shares: readonly EdgeShare[];
  /** Where the files that it names are as seen from the new file; absent where both lie in one folder. */
  readonly moved?: ((path: string) => string) | undefined;
}

/** SpecText is a spec's text with what it says. */
export interface SpecText {
  readonly text: string;
  /** Quoted in faults. Its ending says whether the text is YAML or JSON. */
  readonly path: string;
  readonly spec: PipelineSpec;
}

const TASK = 'put the probabilities into the spec';

/**
 * changedSpec gives the text of a spec with other probabilities and paths. All else that the text says, its comments and
 * its layout stay as they are.
 * @throws InputError where a place to be changed is an alias, which stands for another place as well
 */
export function changedSpec(given: SpecText, { shares, moved }: SpecChanges): string {
  const editor = new SpecEditor(given);
  for (const { stage, at, probability } of shares)
    editor.setProbability(['stages', stage, 'next', at], probability);
  if (moved !== undefined) for (const place of pathPlaces(given.spec)) editor.rename(place, moved);
  const text = editor.changed();
  const edited = moved === undefined ? text : withMovedModeline(text, moved);
  // The edited text holds the value that was meant, whatever its layout.
  const { value } = parseArtifact(edited, given.path, ['pipeline']);
  if (!isDeepStrictEqual(value, expectedSpec(given.spec, { shares, moved })))
    throw new Error(`the probabilities would not be read from ${given.path} as they were written`);
  return edited;
}

type Place = readonly (string | number)[];

/** pathPlaces lists where a spec names files. */
function pathPlaces({ cluster, load, stages }: PipelineSpec): Place[] {
  return [
    ...(typeof cluster === 'string' ? [['cluster']] : []),
    ...(load !== undefined && 'trace' in load ? [['load', 'trace']] : []),
    ...stages.map((_, i) => ['stages', i, 'profile']),
  ];
}

function expectedSpec(spec: PipelineSpec, { shares, moved = (path) => path }: SpecChanges): PipelineSpec {
  const { cluster, load } = spec;
  return {
    ...spec,
    cluster: typeof cluster === 'string' ? moved(cluster) : cluster,
    ...(load !== undefined && 'trace' in load ? { load: { ...load, trace: moved(load.trace) } } : {}),
    stages: spec.stages.map((stage, i) => ({
      ...stage,
      profile: moved(stage.profile),
      ...(stage.next && {
        next: stage.next.map((edge, k) => {
          const share = shares.find(({ stage: of, at }) => of === i && at === k);
          if (share === undefined) return edge;
          const { probability } = share;
          return typeof edge === 'string' ? { to: edge, probability } : { ...edge, probability };
        }),
      }),
    })),
  };
}

/** withMovedModeline keeps the comment right by which editors find the schema. */
function withMovedModeline(text: string, moved: (path: string) => string): string {
  const modeline = /^(# yaml-language-server: \$schema=)(\.{1,2}\/\S+)/;
  return text.replace(modeline, (_, head: string, path: string) => `${head}${moved(path)}`);
}

/** Replacement is a text in place of what stands from one character to another. */
interface Replacement {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** SpecEditor notes what is to be put where in a text. JSON is read as YAML, which it is. */
class SpecEditor {
  private readonly yaml = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  private readonly replacements: Replacement[] = [];
  private readonly text: string;
  private readonly root: Node;
  private readonly isJson: boolean;

  constructor({ text, path }: SpecText) {
    this.text = text;
    this.root = this.yaml.parseDocument(text, { uniqueKeys: false }).contents as Node;
    this.isJson = !isYamlPath(path);
  }

  setProbability(place: Place, probability: number): void {
    const edge = this.at(place);
    const key = this.isJson ? '"probability"' : 'probability';
    if (!this.yaml.isMap(edge)) {
      const { from, to } = spanOf(edge);
      const [open, target] = [this.isJson ? '"to"' : 'to', this.text.slice(from, to)];
      this.replacements.push({ from, to, text: `{ ${open}: ${target}, ${key}: ${probability} }` });
      return;
    }
    const known = this.pairOf(edge, 'probability');
    if (known !== undefined) {
      const span = spanOf(this.written(known.value as Node, place));
      this.replacements.push({ ...span, text: String(probability) });
      return;
    }
    const target = this.pairOf(edge, 'to') as Pair;
    const { to } = spanOf(target.value as Node);
    const between = edge.flow === true ? ', ' : `\n${this.indentOf(target.key as Node)}`;
    this.replacements.push({ from: to, to, text: `${between}${key}: ${probability}` });
  }

  rename(place: Place, moved: (path: string) => string): void {
    const node = this.at(place);
    const path = moved((node as { value?: unknown }).value as string);
    this.replacements.push({ ...spanOf(node), text: JSON.stringify(path) });
  }

  changed(): string {
    const backwards = this.replacements.toSorted((a, b) => b.from - a.from);
    return backwards.reduce(
      (all, { from, to, text }) => all.slice(0, from) + text + all.slice(to),
      this.text,
    );
  }

  private at(place: Place): Node {
    return place.reduce<Node>(
      (node, key) => {
        const found = this.yaml.isMap(node)
          ? this.pairOf(node, key)?.value
          : (node as unknown as { items: Node[] }).items[key as number];
        return this.written(found as Node, place);
      },
      this.written(this.root, place),
    );
  }

  private pairOf(map: YAMLMap, key: unknown): Pair | undefined {
    return map.items.find(({ key: own }) => (this.yaml.isScalar(own) ? own.value : own) === key);
  }

  /** @throws InputError for an alias: what is changed there would be changed elsewhere, too */
  private written(node: Node, place: Place): Node {
    if (!this.yaml.isAlias(node)) return node;
    const said = `is the alias *${node.source}; write out what it stands for, because it is to be changed here alone`;
    throw new InputError(TASK, [fault(said, `/${place.join('/')}`)]);
  }

  /** indentOf gives as many spaces as stand before a key, or other characters such as the dash of a list. */
  private indentOf(key: Node): string {
    const { from } = spanOf(key);
    return ' '.repeat(from - (this.text.lastIndexOf('\n', from - 1) + 1));
  }
}

/** spanOf gives where a node's value stands in the text, without the comment after it. */
function spanOf(node: Node): { readonly from: number; readonly to: number } {
  const [from, to] = node.range as [number, number, number];
  return { from, to };
}
