import { Argument, Command } from 'commander';
import { EXIT } from '../exit.js';
import { withJson } from '../options.js';
import { action } from '../run.js';

/** The shells, as the library of completions names them. */
const SHELLS = { bash: 'bash', zsh: 'zsh', fish: 'fish', pwsh: 'powershell' } as const;

/** completionCommand makes `plan completion`, which prints the script by which a shell completes what is typed. */
export function completionCommand(): Command {
  return withJson(
    new Command('completion')
      .description('Print the script by which a shell completes commands, options and their values.')
      .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)))
      .action(
        action<[keyof typeof SHELLS], object>(async ({ terminal }, _options, shell) => {
          const { script } = await import('@bomb.sh/tab');
          const made = printed(() => script(SHELLS[shell], 'plan', 'plan')).trimEnd();
          const text = shell === 'bash' ? completeBash(made) : made;
          terminal.line(text);
          const { emittedHead } = await import('../../artifacts/index.js');
          terminal.document({ ...emittedHead('completion', []), shell, script: `${text}\n` });
          return EXIT.done;
        }),
      ),
  );
}

/** COMPLETE is the command that the scripts call with what is typed. */
export const COMPLETE = 'complete';

/** complete prints what can follow the words of a command line, as the scripts read it. */
export async function complete(program: Command, words: readonly string[]): Promise<void> {
  const { default: tab } = await import('@bomb.sh/tab/commander');
  const own = 'print-script';
  await nameValues(program);
  const root = tab(program, { completionCommandName: own });
  // The program has a command of its own for the scripts.
  root.commands.delete(own);
  const isHelp = words[0] === 'help' && words.length > 1;
  const answer = printed(() => root.parse(isHelp ? words.slice(1) : [...words]));
  // The library never lets the shell complete files, which is what an empty answer to a place for files asks for.
  const isFile = !isHelp && takesFile(program, words);
  process.stdout.write(isFile ? answer.replace(/:\d+\n$/, ':0\n') : answer);
}

/** nameValues gives the options whose values are refused elsewhere, as plans differ in them, the values to complete. */
async function nameValues(program: Command): Promise<void> {
  const { SCHEDULER_NAMES, TUNERS } = await import('../../serving/index.js');
  for (const { options } of program.commands)
    for (const option of options) {
      if (option.long === '--scheduler') option.argChoices = [...SCHEDULER_NAMES];
      if (option.long === '--tuner') option.argChoices = [...TUNERS];
    }
}

/** The arguments that are no files, among those without choices. */
const NOT_FILES = ['device', 'url'];

/** takesFile tells whether the last of these words stands where a file or a folder may. */
function takesFile(program: Command, words: readonly string[]): boolean {
  const [last = '', before = ''] = [words.at(-1), words.at(-2)];
  let command = program;
  for (const word of words.slice(0, -1))
    command = command.commands.find((one) => one.name() === word) ?? command;
  const named = last.includes('=') ? last.slice(0, last.indexOf('=')) : before;
  const option = command.options.find(
    (one) => [one.short, one.long].includes(named) && (one.required || one.optional),
  );
  if (option !== undefined) return /file|folder|choice/.test(option.flags);
  if (last.startsWith('-')) return false;
  return command.registeredArguments.some(
    (one) => one.argChoices === undefined && !NOT_FILES.includes(one.name()),
  );
}

/** The script of the library calls this function of the package bash-completion, which is not everywhere. */
const WORDS_CALL = '    _get_comp_words_by_ref -n "=:" cur prev words cword';
const OWN_WORDS = `    if declare -F _get_comp_words_by_ref > /dev/null; then
    ${WORDS_CALL}
    else
        read -ra words <<< "\${COMP_LINE:0:COMP_POINT}"
        [[ "\${COMP_LINE:0:COMP_POINT}" == *' ' ]] && words+=('')
        cword=$((\${#words[@]} - 1))
        cur="\${words[cword]}"
    fi`;

/** completeBash makes the script for bash work without the package bash-completion, and complete files by default. */
function completeBash(script: string): string {
  return script
    .replace(WORDS_CALL, () => OWN_WORDS)
    .replace('complete -F __plan_complete plan', 'complete -o default -F __plan_complete plan');
}

/** printed gives what a function prints by `console.log`. */
function printed(print: () => void): string {
  const lines: string[] = [];
  const { log } = console;
  console.log = (text: string) => void lines.push(text);
  try {
    print();
  } finally {
    console.log = log;
  }
  return `${lines.join('\n')}\n`;
}
