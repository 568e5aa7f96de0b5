import { emittedHead } from '../../artifacts/index.js';
import type { DeployTarget, LintFinding, LintReport } from '../../formats/index.js';
import type { StagePlan } from '../../plans/index.js';
import type { EngineGraph } from '../engine-graph.js';
import { type Place, pointerOf, YamlFile } from './yaml-file.js';

/** LintedBundle is a bundle for an engine of others, as its rules look at it. */
export interface LintedBundle {
  readonly plan: StagePlan;
  readonly graph: EngineGraph;
  readonly files: BundleTexts;
}

/** LintRule is one thing that the files of a bundle must keep. */
export interface LintRule {
  readonly name: string;
  /**
   * breaks says whether the engine refuses what breaks it, or serves otherwise than planned; else it only may
   * go wrong.
   */
  readonly breaks: 'fault' | 'warning';
  /** check finds where a bundle breaks it. */
  check(bundle: LintedBundle): Iterable<RuleFinding>;
}

/** RuleFinding is a place that breaks a rule. */
export interface RuleFinding {
  readonly file: string;
  readonly at?: Place;
  /** The document of a YAML file of several. */
  readonly document?: number;
  /** The line, where the file is no YAML. */
  readonly line?: number;
  readonly message: string;
}

/** BundleTexts are the texts of an engine's files, by path. Each is parsed once. */
export class BundleTexts {
  private readonly parsed = new Map<string, YamlFile>();

  constructor(readonly texts: ReadonlyMap<string, string>) {}

  has(path: string): boolean {
    return this.texts.has(path);
  }

  text(path: string): string {
    return this.texts.get(path) ?? '';
  }

  yaml(path: string): YamlFile {
    const known = this.parsed.get(path) ?? new YamlFile(this.text(path));
    this.parsed.set(path, known);
    return known;
  }

  /** value gives the value of a YAML file of one document, or undefined where that cannot be read. */
  value(path: string): unknown {
    return this.yaml(path).values[0];
  }
}

/** lintBundle looks at the files of a bundle by the rules of its target. Findings are in the order of the rules and places. */
export function lintBundle(
  target: DeployTarget,
  rules: readonly LintRule[],
  bundle: LintedBundle,
): LintReport {
  const found = rules.flatMap((rule) =>
    [...rule.check(bundle)].map((finding) => ({
      breaks: rule.breaks,
      finding: placed(rule, finding, bundle),
    })),
  );
  const broken = (breaks: LintRule['breaks']) =>
    found.flatMap((one) => (one.breaks === breaks ? [one.finding] : []));
  return { ...emittedHead('lint-report', []), target, faults: broken('fault'), warnings: broken('warning') };
}

function placed(
  { name }: LintRule,
  { file, at, document, line, message }: RuleFinding,
  { files }: LintedBundle,
): LintFinding {
  const found = line ?? (at === undefined ? undefined : files.yaml(file).lineOf(at, document));
  return {
    rule: name,
    file,
    ...(found === undefined ? {} : { line: found }),
    path: pointerOf(at ?? []),
    message,
  };
}
