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
          const text = { bash: safeBash, zsh: safeZsh, fish: endingNames, pwsh: asMade }[shell](made);
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
  await nameValues(program, typedValue(words));
  const root = tab(program, { completionCommandName: own });
  // The program has a command of its own for the scripts.
  root.commands.delete(own);
  const isHelp = words[0] === 'help' && words.length > 1;
  const answer = printed(() => root.parse(isHelp ? words.slice(1) : joinedValue(words)));
  // The library never lets the shell complete files, which is what an empty answer to a place for files asks for.
  const isFile = !isHelp && takesFile(program, words);
  const isBegun = isFile && /=(\t.*)?\n:\d+\n$/.test(answer);
  process.stdout.write(isFile ? answer.replace(/:\d+\n$/, isBegun ? ':2\n' : ':0\n') : answer);
}

/** joinedValue writes `--policy order=f` as one word: the library takes what is before any = for the name of an option. */
function joinedValue(words: readonly string[]): string[] {
  const [last = '', before = ''] = [words.at(-1), words.at(-2)];
  const isValue = before.startsWith('--') && !last.startsWith('-') && last.includes('=');
  return isValue ? [...words.slice(0, -2), `${before}=${last}`] : [...words];
}

/** typedValue is what is typed of the value of an option, also behind the `=` of the option. */
function typedValue(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return last.startsWith('--') ? last.slice(last.indexOf('=') + 1) : last;
}

/** nameValues gives the options whose values are refused elsewhere, as plans differ in them, the values to complete. */
async function nameValues(program: Command, typed: string): Promise<void> {
  const { SCHEDULER_NAMES, TUNERS } = await import('../../serving/index.js');
  const choices = await policyWords(typed);
  for (const command of program.commands) {
    // The oracle knows what comes, and is only simulated.
    const tuners = TUNERS.filter((name) => name !== 'oracle' || command.name() !== 'serve');
    const values: Readonly<Record<string, readonly string[]>> = {
      '--scheduler': SCHEDULER_NAMES,
      '--tuner': tuners,
      '--policy': choices,
      '--schedulers': listedWords(typed, SCHEDULER_NAMES),
    };
    for (const option of command.options) {
      const words = values[option.long ?? ''];
      if (words !== undefined) option.argChoices = [...words];
    }
  }
}

/** listedWords gives what a list with commas may be that is typed in part: each word that it does not have, behind the others. */
function listedWords(typed: string, names: readonly string[]): string[] {
  const before = typed.slice(0, typed.lastIndexOf(',') + 1);
  const taken = before.split(',');
  const left = names.filter((name) => !taken.includes(name)).map((name) => `${before}${name}`);
  return before === '' ? ['all', ...left] : left;
}

/** policyWords gives the keys of the choices of all schedulers, and behind the `=` of one the words that it takes. */
async function policyWords(typed: string): Promise<string[]> {
  const { choiceParts } = await import('../../artifacts/index.js');
  const families = [choiceParts('stage-local'), choiceParts('reservation')];
  const keys = [...new Set(families.flatMap((choices) => [...choices.keys()]))];
  if (!typed.includes('=')) return keys.map((key) => `${key}=`);
  const key = typed.slice(0, typed.indexOf('='));
  const words = families.flatMap((choices) => [...(choices.get(key)?.keys() ?? [])]);
  return [...new Set(words)].map((word) => `${key}=${word}`).filter((word) => word.startsWith(typed));
}

/** The arguments that are no files, among those without choices. */
const NOT_FILES = ['device', 'url'];

/** takesFile returns whether the last of these words stands where a file or a folder may. */
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

/** The script of the library gives what is typed to `eval`, by which `$(command)` in it would run. */
const ASKED_BY_EVAL = / {4}# Build the command to get completions\n[\s\S]*?out=\$\(eval .*\n/;
const ASKED = `    # What is typed is handed on as it is, and no part of it is evaluated.
    words=("\${words[@]:1:cword}")
    [[ \${#words[@]} -ge $cword ]] || words+=('')
    out=$(plan complete -- "\${words[@]}" 2>/dev/null)
`;

/** The script of the library lets `compgen -W` expand the answers, and knows no `--option=value`. */
const ANSWERED_BY_COMPGEN = / {4}COMPREPLY=\( \$\(compgen -W .*\n/;
const ANSWERED = `    # Behind an = or : that breaks words, only what follows it is replaced.
    local typed="$cur" kept=""
    [[ "$typed" == -*=* ]] && typed="\${typed#*=}"
    [[ "$typed" == *[=:]* && "$COMP_WORDBREAKS" == *=* ]] && kept="\${typed%"\${typed##*[=:]}"}"
    COMPREPLY=()
    for comp in "\${completions[@]}"; do
        [[ -n "$comp" && "$comp" == "$typed"* ]] && COMPREPLY+=("\${comp#"$kept"}")
    done
`;

/**
 * safeBash makes the script for bash evaluate nothing of what is typed, work without the package bash-completion, and complete
 * files by default.
 */
function safeBash(script: string): string {
  return (
    script
      .replace(WORDS_CALL, () => OWN_WORDS)
      .replace('requestComp out directive', 'comp out directive')
      // A script that is read twice may not declare them twice.
      .replaceAll(/^readonly (?=ShellComp)/gm, '')
      .replace(ASKED_BY_EVAL, () => ASKED)
      .replace(ANSWERED_BY_COMPGEN, () => ANSWERED)
      .replace('complete -F __plan_complete plan', 'complete -o default -F __plan_complete plan')
  );
}

/** The scripts of the library for zsh and fish take all up to the last = of a word for the name of an option. */
function endingNames(script: string): string {
  return script.replace("'-.*='", "'^-[^=]*='");
}

/** safeZsh quotes the one part of what is typed that the script of the library does not quote before it is evaluated. */
function safeZsh(script: string): string {
  return endingNames(script).replace(/(?<=flagPrefix="-P \$\{)(?=BASH_REMATCH\})/, '(q)');
}

function asMade(script: string): string {
  return script;
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
