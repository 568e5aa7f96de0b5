import { Command, Option } from 'commander';
import type { InfeasibilityExplanation } from '../../milp/index.js';
import type { EngineScheduler } from '../../serving/index.js';
import type { Solved } from '../../specs/index.js';
import { EXIT, type ExitCode } from '../exit.js';
import { gap, openShare, positiveNumber, wholeNumber, withJson } from '../options.js';
import { fileOf } from '../output.js';
import { action, type Context } from '../run.js';
import type { Terminal } from '../terminal.js';

interface Options {
  output?: string;
  gap?: number;
  work?: number;
  timeLimit?: number;
  baseline?: 'no-partitioning' | 'dart-r';
  formulation: 'columns' | 'literal';
  explain?: boolean;
  frontier?: boolean;
  measure?: boolean;
  hold?: number;
  for?: EngineScheduler;
  engine?: string;
  strictProfile?: boolean;
  json?: boolean;
}

/** solveCommand makes `plan solve`, which finds the plan that a spec asks for, with a proven bound. */
export function solveCommand(): Command {
  return withJson(
    forEngine(new Command('solve'))
      .description(
        'Find the plan that a spec asks for: pooled pipelines over pools of unlike devices, with a proven bound; a DAG of models at least cost; or cascades of models by load.',
      )
      .argument('<spec>', 'spec file (YAML or JSON); - is stdin, with paths relative to the working folder')
      .argument('[more...]', 'specs of further pipelines, which share the cluster of the first')
      .option(
        '-o, --output <file>',
        'write the plan here; - is stdout. Of several specs: the folder that gets their plans',
      )
      .option('--gap <share>', 'stop once the plan is proven this close to the best, such as 0.1%', gap)
      .option('--work <n>', 'stop after this amount of counted work', wholeNumber)
      .option(
        '--time-limit <seconds>',
        'stop after this time; the plan then says reproducible: false',
        positiveNumber,
      )
      .option(
        '--explain',
        'show what binds, what one device more or less gives, and at which SLO the plan would change; or why there is no plan',
      )
      .option(
        '--frontier',
        'of a cascade: show the accuracy that fewer and more devices, and other latencies, would give',
      )
      .option(
        '--hold <share>',
        "search for the plan that holds this share of each model's requests in time in simulation, such as 99%",
        openShare,
      )
      .option(
        '--measure',
        'time the partitions of the plan on this machine, add the figures to the profiles, and solve again until all of them were timed',
      )
      .option(
        '--strict-profile',
        'refuse profiles with unfit, emulated or imported figures that the plan could use',
      )
      .addOption(
        new Option('--baseline <name>', 'solve this baseline of PPipe instead; the plan names it').choices([
          'no-partitioning',
          'dart-r',
        ]),
      )
      .addOption(
        new Option('--formulation <name>', 'literal: the printed MILP of PPipe, for small specs')
          .choices(['columns', 'literal'])
          .default('columns'),
      )
      .action(action<[string, string[]], Options>(solveSpecFiles)),
  );
}

/** forEngine adds the options that say which engine is to serve the plan. */
function forEngine(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--for <engine>',
        'plan for another engine: by how it batches, routes and drops, in simulations too',
      ).choices(['ray-serve', 'ray-serve-batch', 'triton']),
    )
    .option('--engine <file>', 'what that engine takes beside its devices, from an engine profile');
}

async function solveSpecFiles(
  context: Context,
  options: Options,
  spec: string,
  more: string[],
): Promise<ExitCode> {
  return more.length === 0
    ? solveSpecFile(context, options, spec)
    : solveSeveral(context, options, [spec, ...more]);
}

/** solveSeveral plans pipelines that share a cluster, and writes a plan for each. */
async function solveSeveral(
  { terminal, signal, progress }: Context,
  options: Options,
  specs: string[],
): Promise<ExitCode> {
  const { refuseForSeveral, solveTogether } = await import('../../api/index.js');
  const { planSetParts } = await import('../../report/index.js');
  refuseForSeveral({ ...options });
  const { output, work, timeLimit, strictProfile } = options;
  const shown = await progress();
  const solved = await solveTogether(specs, {
    output: fileOf(output),
    work,
    timeLimit,
    strictProfile,
    signal,
    onProgress: (doing) => shown.show({ doing }),
    onNote: (text) => shown.note(text),
  });
  shown.stop();
  terminal.document(solved.document);
  switch (solved.outcome) {
    case 'infeasible':
      await terminal.error(`there are no plans for ${specs.join(', ')}:\n${indent(solved.reasons)}`);
      await terminal.warnings(solved.warnings);
      return EXIT.infeasible;
    case 'no-plan-in-time':
      await terminal.error(
        solved.reasons.length > 0
          ? `the search ended before it found plans that fit, or proved that there are none:\n${indent(solved.reasons)}`
          : `the search ended before it found plans that fit; give more with ${limitFlags(options)}`,
      );
      await terminal.warnings(solved.warnings);
      return EXIT.limitWithoutPlan;
    case 'plan-set':
      await terminal.parts(planSetParts(solved.document, solved.plans));
      await terminal.warnings(
        solved.plans.flatMap(({ name, notes = [] }) => notes.map((note) => `${name}: ${note}`)),
      );
      if (signal.aborted) return EXIT.interrupted;
      return solved.limitReached ? EXIT.limitWithPlan : EXIT.done;
  }
}

async function solveSpecFile(
  { terminal, signal, progress, inFlags }: Context,
  options: Options,
  spec: string,
): Promise<ExitCode> {
  const { solveSpec } = await import('../../api/index.js');
  const { solvedParts, solvedRemarks, timingLines } = await import('../../report/index.js');
  const shown = await progress();
  const solved = await solveSpec(spec, {
    ...options,
    output: fileOf(options.output),
    signal,
    onProgress: (doing) => shown.show({ doing }),
    onNote: (text) => shown.note(text),
    onTimed: (round) => {
      for (const line of timingLines(round)) shown.note(line);
    },
  });
  shown.stop();
  terminal.document(solved.document);
  if (solved.outcome === 'infeasible') {
    const { specName } = await import('../../artifacts/index.js');
    await terminal.error(`there is no plan for ${specName(spec)}:\n${indent(solved.reasons)}`);
    if (solved.advice !== undefined) terminal.note(inFlags(solved.advice));
    if (solved.explanation) await showInfeasible(terminal, solved.explanation);
    await terminal.warnings(solved.warnings);
    return solved.explanation?.complete === false ? EXIT.interrupted : EXIT.infeasible;
  }
  if (solved.outcome === 'no-plan-in-time') {
    await terminal.error(inFlags(await noPlanText(solved, options, signal)));
    await terminal.warnings(solved.warnings);
    return signal.aborted ? EXIT.interrupted : EXIT.limitWithoutPlan;
  }
  await terminal.parts(solvedParts(solved));
  await terminal.artifact('plan', options.output, solved.plan);
  for (const remark of solvedRemarks(solved)) terminal.note(remark);
  await terminal.warnings(solved.warnings);
  if (signal.aborted) return EXIT.interrupted;
  return solved.limitReached ? EXIT.limitWithPlan : EXIT.done;
}

/** limitFlags names the limits that can have ended a search: those that were given, else its own on the work. */
function limitFlags({ work, timeLimit }: Options): string {
  if (timeLimit === undefined) return '--work';
  return work === undefined ? '--time-limit' : '--time-limit or --work';
}

async function noPlanText(
  found: Extract<Solved, { readonly outcome: 'no-plan-in-time' }>,
  { work, hold }: Options,
  { aborted }: AbortSignal,
): Promise<string> {
  const { notHeld, document } = found;
  const { limit } = document;
  if (notHeld !== undefined) {
    const { notHeldText } = await import('../../report/index.js');
    return notHeldText(notHeld);
  }
  if (aborted) return 'the search was stopped before it found a plan';
  const advice = 'advice' in found ? found.advice : undefined;
  const reasons = 'reasons' in found ? found.reasons : [];
  if (reasons.length > 0)
    return `no plan was found that holds in simulation, and it is not proved that there is none:\n${indent(reasons)}`;
  if (advice !== undefined)
    return `the search ended before it found a plan, or proved that there is none; ${advice}`;
  if (limit === 'time' && hold !== undefined)
    return 'the time that --time-limit leaves the search, beside that of the runs that confirm a plan, was over before a plan was confirmed; give more, or solve without --hold';
  if (limit === 'time') return 'the time was over before a plan was found; give more with --time-limit';
  if (limit === 'work' && hold !== undefined)
    return 'as many requests were simulated as a search may before runs had confirmed what a plan holds; ask for a larger share with --hold, or solve without it';
  if (limit === 'copies') {
    const { COPIES_ENDED } = await import('../../specs/index.js');
    return `${COPIES_ENDED}; leave out --formulation literal`;
  }
  return work === undefined
    ? 'the search did the work that it allows itself before it found a plan; allow more with --work'
    : 'the work was done before a plan was found; give more with --work';
}

async function showInfeasible(terminal: Terminal, explanation: InfeasibilityExplanation): Promise<void> {
  const { infeasibilityTable } = await import('../../report/index.js');
  await terminal.table(infeasibilityTable(explanation));
  if (!explanation.complete) await terminal.warn('interrupted: the explanation is partial');
}

function indent(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}`).join('\n');
}
