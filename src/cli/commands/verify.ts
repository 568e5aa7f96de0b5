import { Command } from 'commander';
import { EXIT, type ExitCode } from '../exit.js';
import { each, share, withJson, withStrict } from '../options.js';
import { fileOf, STDOUT } from '../output.js';
import { withReporter } from '../reporter.js';
import { action, type Context } from '../run.js';
import { warnUnchecked } from '../unchecked.js';

interface Options {
  plan: string;
  records?: string;
  engine?: string;
  within?: number;
  correct?: string[];
  output?: string;
  strict?: boolean;
}

/** verifyCommand makes `plan verify`, which compares a load on a server with the simulation of the same arrivals. */
export function verifyCommand(): Command {
  return withJson(
    withReporter(withStrict(new Command('verify')))
      .description(
        'Compare a load report with the simulation of the same arrivals, and say what the differences come from.',
      )
      .argument('<load>', 'load report, as plan load writes it')
      .requiredOption('--plan <file>', 'plan that the server served, or its bundle')
      .option(
        '--records <file>',
        'what the models of a gear plan say of samples, in place of the records that the plan was made from',
      )
      .option(
        '--engine <file>',
        'what the engine that served takes beside its devices, from an engine profile, in place of what the plan says of it',
      )
      .option(
        '--within <share>',
        'exit with 6 if the attainments, of all requests or of one model, differ by more than this, such as 5%',
        share,
      )
      .option(
        '--correct <file>',
        "write the model's profile with the measured latencies here; model=file where there are several (repeatable)",
        each,
      )
      .option('-o, --output <file>', 'write the verification here (JSON); - is stdout')
      .action(action<[string], Options>(verify)),
  );
}

async function verify(
  { terminal, signal, inFlags }: Context,
  options: Options,
  load: string,
): Promise<ExitCode> {
  const { verifyLoad } = await import('../../api/index.js');
  const { isHeld } = await import('../../formats/index.js');
  await refuseCorrectedOnStdout(options);
  const {
    causeLines,
    checkCases,
    correctedLines,
    verifiedAnswersTable,
    verifiedExecutionTable,
    verifyTable,
    withinLines,
  } = await import('../../report/index.js');
  const verification = await verifyLoad(load, { ...options, output: fileOf(options.output), signal });
  await terminal.table(verifyTable(verification.figures));
  for (const { name, figures } of verification.models) {
    terminal.line();
    await terminal.table(verifyTable(figures, name));
  }
  for (const { priority, figures } of verification.priorities ?? []) {
    terminal.line();
    await terminal.table(verifyTable(figures, priority === 0 ? 'no priority' : `priority ${priority}`));
  }
  if (verification.answeredBy !== undefined) {
    terminal.line();
    await terminal.table(verifiedAnswersTable(verification.answeredBy));
  }
  terminal.line();
  await terminal.table(verifiedExecutionTable(verification));
  for (const line of [...causeLines(verification), ...withinLines(verification)]) terminal.line(line);
  for (const corrected of verification.corrected ?? []) {
    for (const line of correctedLines(corrected)) terminal.line(line);
    terminal.line(`profile: ${corrected.path}`);
  }
  await terminal.artifact('verification', options.output, verification);
  terminal.document(verification);
  await warnUnchecked({ terminal, inFlags }, verification);
  await terminal.warnings(verification.notes);
  terminal.judge(checkCases(verification, 'the load is compared'));
  return isHeld(verification) ? EXIT.done : EXIT.checkFailed;
}

/** refuseCorrectedOnStdout refuses a corrected profile on stdout, where the tables go, or the verification. */
async function refuseCorrectedOnStdout({ correct = [] }: Options): Promise<void> {
  const { InputError } = await import('../../formats/index.js');
  const faults = correct
    .filter((text) => text === STDOUT || text.endsWith(`=${STDOUT}`))
    .map((text) => ({ path: `--correct "${text}"`, message: 'a profile is written to a file: name one' }));
  if (faults.length > 0) throw new InputError("correct the plan's profiles", faults);
}
