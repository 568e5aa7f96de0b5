import { createRequire } from 'node:module';
import type { BundleTexts, LintRule, RuleFinding } from '../../lint/lint.js';
import { type FieldsOf, isMap, kindFaults } from '../../lint/schema-rule.js';
import type { Place } from '../../lint/yaml-file.js';

/** KubeObject is an object of Kubernetes in a file of a bundle. */
export interface KubeObject {
  readonly file: string;
  readonly document: number;
  readonly kind: string;
  readonly name: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** KubePods is a template of pods, with the object that makes them. */
export interface KubePods {
  readonly owner: KubeObject;
  /** Where the fields of the pods stand. */
  readonly at: Place;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly labels: Readonly<Record<string, unknown>>;
  readonly replicas: number;
}

/** kubeText writes objects of Kubernetes as YAML, below a comment. */
export function kubeText(comment: string, objects: readonly object[]): string {
  const { stringify } = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  const texts = objects.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }));
  const lines = comment.split('\n').map((line) => `# ${line}\n`);
  return `${lines.join('')}${texts.join('---\n')}`;
}

/** asMap gives a value of YAML as a map, which is empty where it is none. */
export function asMap(value: unknown): Readonly<Record<string, unknown>> {
  return isMap(value) ? value : {};
}

/** asList gives a value of YAML as a list, which is empty where it is none. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** objectsIn lists the objects of a bundle's YAML files. */
export function objectsIn(files: BundleTexts): KubeObject[] {
  return [...files.texts.keys()]
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) =>
      files.yaml(file).values.map((value, document) => {
        const fields = asMap(value);
        const { name } = asMap(fields.metadata);
        return { file, document, kind: String(fields.kind), name: String(name ?? ''), value: fields };
      }),
    );
}

/** Where the templates of pods stand in the objects that make them; each place may be a list. */
const TEMPLATES: Readonly<Record<string, readonly Place[]>> = {
  Deployment: [['spec', 'template']],
  RayService: [
    ['spec', 'rayClusterConfig', 'headGroupSpec', 'template'],
    ['spec', 'rayClusterConfig', 'workerGroupSpecs', '*', 'template'],
  ],
};

/** podsIn lists the templates of pods of a bundle. */
export function podsIn(files: BundleTexts): KubePods[] {
  return objectsIn(files).flatMap((owner) => {
    // The predictor of KServe has the fields of a pod itself, among its own.
    if (owner.kind === 'InferenceService') {
      const at = ['spec', 'predictor'];
      const spec = asMap(objectAt(owner.value, at));
      const replicas = Number(spec.minReplicas ?? 1);
      return [{ owner, at, spec, labels: asMap(spec.labels), replicas }];
    }
    return (TEMPLATES[owner.kind] ?? [])
      .flatMap((place) => placesAt(owner.value, place))
      .map((place) => {
        const template = asMap(objectAt(owner.value, place));
        const { replicas = 1 } = asMap(objectAt(owner.value, place.slice(0, -1)));
        return {
          owner,
          at: [...place, 'spec'],
          spec: asMap(template.spec),
          replicas: Number(replicas),
          labels: asMap(asMap(template.metadata).labels),
        };
      });
  });
}

/** placesAt gives the places that a place with `*` stands for. */
function placesAt(value: unknown, place: Place): Place[] {
  const star = place.indexOf('*');
  if (star < 0) return [place];
  return asList(objectAt(value, place.slice(0, star))).map((_, i) => [
    ...place.slice(0, star),
    i,
    ...place.slice(star + 1),
  ]);
}

/** folderOf gives the folder of a file, with the slash at its end. */
export function folderOf(file: string): string {
  return file.slice(0, file.lastIndexOf('/') + 1);
}

/** objectAt gives the value at a place, undefined where there is none. */
export function objectAt(value: unknown, place: Place): unknown {
  return place.reduce<unknown>(
    (inner, key) => (Array.isArray(inner) ? inner[key as number] : asMap(inner)[key]),
    value,
  );
}

/** inObject places a finding in an object. */
export function inObject({ file, document }: KubeObject, at: Place, message: string): RuleFinding {
  return { file, document, at, message };
}

/** objectsRule makes the rule that files hold objects of these kinds alone, which have the fields that Kubernetes knows. */
export function objectsRule(kinds: Readonly<Record<string, FieldsOf>>, wanted: readonly string[]): LintRule {
  return {
    name: 'engine-schema',
    breaks: 'fault',
    *check({ files }) {
      for (const file of wanted) if (!files.has(file)) yield { file, message: 'is missing' };
      for (const file of files.texts.keys())
        if (file.endsWith('.yaml'))
          for (const { line, message } of files.yaml(file).errors)
            yield { file, line, message: `is no YAML: ${message}` };
      for (const object of objectsIn(files)) {
        const fields = kinds[object.kind];
        if (fields === undefined)
          yield inObject(object, ['kind'], `is ${object.kind}, which no rule here knows`);
        else
          for (const { at, message } of kindFaults(object.value, fields, []))
            yield inObject(object, at, message);
      }
    },
  };
}
