import { relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { Option } from 'commander';
import { itemAt } from '../collections/index.js';
import type { InputError } from '../formats/index.js';
import type { CiCase, CiReport } from '../report/index.js';
import { EXIT, type ExitCode } from './exit.js';
import { harmlessLine } from './harmless.js';
import type { Terminal } from './terminal.js';

/** REPORTERS lists how verdicts are written for CI systems. */
const REPORTERS = ['github', 'junit'] as const;

/** Reporter says how verdicts are written. */
export type Reporter = (typeof REPORTERS)[number];

/** withReporter adds `--reporter` to a command that judges. */
export function withReporter(command: Command): Command {
  return command.addOption(
    new Option(
      '--reporter <name>',
      "print verdicts for a CI system, and nothing else on stdout: junit (XML), or github (annotations, and a summary in $GITHUB_STEP_SUMMARY's file)",
    ).choices(REPORTERS),
  );
}

/** reporterIn finds the reporter among arguments that may not be valid. It is undefined where none is named that exists. */
export function reporterIn(args: readonly string[]): Reporter | undefined {
  return REPORTERS.find((name) =>
    args.some((arg, i) => arg === `--reporter=${name}` || (arg === name && args[i - 1] === '--reporter')),
  );
}

/** Ended is how a command ended. */
interface Ended {
  readonly title: string;
  readonly exitCode: ExitCode;
  /** The refusal that ended it. */
  readonly error?: InputError | undefined;
}

/** printReport prints the verdicts of a command that has ended, and adds the summary for GitHub to its file. */
export async function printReport(reporter: Reporter, terminal: Terminal, ended: Ended): Promise<void> {
  const { annotations, junitText, summaryText } = await import('../report/index.js');
  const report: CiReport = {
    title: ended.title,
    cases: await casesOf(terminal.cases, ended),
    parts: terminal.told,
    notes: terminal.remarked,
  };
  if (reporter === 'junit') {
    terminal.raw(junitText(report));
    return;
  }
  for (const line of annotations(fromWorkspace(report))) terminal.raw(`${harmlessLine(line)}\n`);
  const { GITHUB_STEP_SUMMARY: file } = process.env;
  if (file === undefined || file === '') return;
  const { appendText } = await import('../artifacts/index.js');
  await appendText(file, summaryText(report));
}

/** casesOf gives the verdicts, and a case of its own for an end that none of them explains. */
async function casesOf(cases: readonly CiCase[], { title, exitCode, error }: Ended): Promise<CiCase[]> {
  const { isBad } = await import('../report/index.js');
  if (exitCode === EXIT.done || cases.some(isBad)) return [...cases];
  const outcome = exitCode === EXIT.checkFailed ? 'failed' : 'broken';
  if (error === undefined)
    return [...cases, { name: title, outcome, says: `Ended with exit code ${exitCode}` }];
  return [...cases, await refusedCase({ name: title, outcome, message: error.message }, error.faults)];
}

/** refusedCase makes the case of an input that is refused, with the places of its faults. */
export async function refusedCase(
  { name, outcome, message, file }: Pick<CiCase, 'name' | 'outcome'> & { message: string; file?: string },
  faults: InputError['faults'],
): Promise<CiCase> {
  const { placesOf } = await import('../artifacts/index.js');
  const says = itemAt(message.split('\n'), 0);
  // A refusal begins with the file that its faults are of, where that is one.
  const named =
    /^Cannot (?:read|use|confirm|check) (?:the files that )?(.+?)(?: names| against its inputs)?:(?: |$)/.exec(
      says,
    )?.[1] ?? file;
  const places = await placesOf(faults, named);
  return {
    name,
    outcome,
    says,
    faults: faults.map(({ path, message: told }, i) => ({
      message: path === '' ? told : `${path}: ${told}`,
      ...places[i],
    })),
  };
}

/** fromWorkspace names files as GitHub knows them: from the root of the checkout, wherever the command ran. */
function fromWorkspace(report: CiReport): CiReport {
  const { GITHUB_WORKSPACE: root } = process.env;
  if (root === undefined || root === '') return report;
  const cases = report.cases.map((one) => ({
    ...one,
    faults: (one.faults ?? []).map(({ file, ...fault }) =>
      file === undefined ? fault : { ...fault, file: relative(root, resolve(file)) },
    ),
  }));
  return { ...report, cases };
}
