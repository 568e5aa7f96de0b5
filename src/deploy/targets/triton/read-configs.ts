import type { BundleTexts, LintedBundle, LintRule, RuleFinding } from '../../lint/lint.js';
import { isMap } from '../../lint/schema-rule.js';
import { type ReadText, readTextFormat } from '../../lint/text-format.js';
import { type Place, pointerOf } from '../../lint/yaml-file.js';
import { type TritonPlan, tritonPlanOf } from './bundle.js';
import { MODEL_CONFIG } from './model-config.js';
import { configPath, REPOSITORY } from './names.js';
import type { Layout } from './servers.js';

/** ReadConfig is a model's configuration as the bundle has it. */
export interface ReadConfig extends ReadText {
  readonly file: string;
  readonly model: string;
  /** The kind of server that it is for; absent of the model's own. */
  readonly layout?: string;
}

const READ = new WeakMap<BundleTexts, readonly ReadConfig[]>();
const CONFIG_PATH = new RegExp(`^${REPOSITORY}/([^/]+)/(?:config|configs/([^/]+))\\.pbtxt$`);

/** configsIn reads the configurations of a bundle, each once. */
export function configsIn(files: BundleTexts): readonly ReadConfig[] {
  const known = READ.get(files);
  if (known !== undefined) return known;
  const read = [...files.texts].flatMap(([file, text]) => {
    const [, model, layout] = CONFIG_PATH.exec(file) ?? [];
    if (model === undefined) return [];
    return [
      { ...readTextFormat(text, MODEL_CONFIG), file, model, ...(layout === undefined ? {} : { layout }) },
    ];
  });
  READ.set(files, read);
  return read;
}

/** configOn gives the configuration that a kind of server takes of a model, undefined where there is none. */
export function configOn(
  files: BundleTexts,
  model: string,
  { name }: Pick<Layout, 'name'>,
): ReadConfig | undefined {
  const all = configsIn(files);
  return (
    all.find(({ file }) => file === configPath(model, name)) ??
    all.find(({ file }) => file === configPath(model))
  );
}

/** foundIn finds a place in a configuration, with its line or that of the closest place around it. */
export function foundIn(config: ReadConfig, at: Place, message: string): RuleFinding {
  for (let length = at.length; length > 0; length--) {
    const line = config.lines.get(pointerOf(at.slice(0, length)));
    if (line !== undefined) return { file: config.file, line, at, message };
  }
  return { file: config.file, line: 1, at, message };
}

/** mapIn gives a message of a configuration, an empty one where there is none. */
export function mapIn(value: unknown): Readonly<Record<string, unknown>> {
  return isMap(value) ? value : {};
}

/** listIn gives the values of a repeated field. */
export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** mapEntries gives the entries of a field that is a map. */
export function mapEntries(value: unknown): readonly { readonly key: string; readonly value: unknown }[] {
  return listIn(value).map((entry) => ({ key: String(mapIn(entry).key), value: mapIn(entry).value }));
}

/** ConfigOfModel is a configuration with what the plan says of its model. */
export interface ConfigOfModel {
  readonly config: ReadConfig;
  readonly triton: TritonPlan;
  readonly files: BundleTexts;
}

/** ofConfigs makes a rule that looks at each configuration by itself. */
export function ofConfigs(
  name: string,
  check: (one: ConfigOfModel) => Iterable<RuleFinding>,
  breaks: LintRule['breaks'] = 'fault',
): LintRule {
  return {
    name,
    breaks,
    *check(bundle: LintedBundle) {
      const triton = tritonPlanOf(bundle);
      for (const config of configsIn(bundle.files)) yield* check({ config, triton, files: bundle.files });
    },
  };
}

/** stageIndexOf gives the place of the stage in the graph that a model runs, −1 of another model. */
export function stageIndexOf({ names }: TritonPlan, model: string): number {
  return names.stages.indexOf(model);
}

/** layoutsWith lists the kinds of servers that take a configuration. */
export function layoutsWith({ layouts }: TritonPlan, files: BundleTexts, config: ReadConfig): Layout[] {
  return layouts.filter((layout) => configOn(files, config.model, layout) === config);
}
