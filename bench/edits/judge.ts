import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CheckedInput, type InputFile, type PlanChecks, sha256Of } from '../../src/formats/index.js';
import { faultsOf, plan, type Ran } from '../fuzz/program.js';
import type { Edit } from './edits.js';
import type { WrittenPlan } from './written-plans.js';

/** OUTCOMES lists what may become of an edited plan. The last one may not: it runs as if nobody had edited it. */
export const OUTCOMES = ['refused', 'unchecked', 'no effect', 'unnoticed'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/**
 * Judged is what became of an edited plan: without its inputs, without the inputs of one kind, beside all of them, and as the
 * plan of a bundle, which a server opens.
 */
export interface Judged {
  readonly away: Outcome;
  readonly lacking: Outcome;
  readonly beside: Outcome;
  readonly opened: Outcome;
  /** The rules for all commands that were broken. */
  readonly faults: readonly string[];
}

/** INPUTS says what is said to be unchecked where the files of a role are gone. */
const INPUTS: Readonly<Record<string, CheckedInput>> = {
  spec: 'spec',
  cluster: 'cluster',
  profile: 'profiles',
  records: 'records',
  trace: 'trace',
  runs: 'runs',
  program: 'program',
};
/** Without these files a plan cannot be simulated, which is told; no option names others. */
const NEEDED = 'runs';

/** Lacking is a folder with all that a plan was made from, but for the files of one role. */
interface Lacking {
  readonly folder: string;
  readonly input: CheckedInput;
  readonly options: readonly string[];
}

const SIMULATE = ['--duration', '0.2s', '--json'];
const EDITED = 'edited.json';
const BUNDLE = 'bundle';
const MANIFEST = 'manifest.json';

/** Judge tries edits of a plan, and compares what the commands do with what they do with the plan as it is. */
export class Judge {
  private readonly awayFolder: string;
  private readonly text: string;
  private readonly lackings: readonly Lacking[];
  private readonly needed: readonly string[];
  private turn = 0;

  private constructor(private readonly written: WrittenPlan) {
    this.awayFolder = join(written.folder, 'away');
    this.text = readFileSync(join(written.folder, written.file), 'utf8');
    const inputs = (JSON.parse(this.text) as Told).inputs as InputFile[];
    this.lackings = lackingFolders(written, inputs);
    this.needed = inputs.flatMap(({ role, path }) => (role === NEEDED ? [path] : []));
  }

  private manifest = '';
  private asIs!: { readonly away: string; readonly beside: string; readonly bundle: string };

  /** of makes the judge of a plan. @throws Error where a command refuses the plan as it is */
  static async of(written: WrittenPlan): Promise<Judge> {
    const judge = new Judge(written);
    mkdirSync(judge.awayFolder);
    for (const name of judge.needed) cpSync(join(written.folder, name), join(judge.awayFolder, name));
    const document = judge.document();
    judge.write(document);
    const validated = await judge.validated();
    const [away, beside, deployed] = [await judge.away(), await judge.beside(), await judge.deployed()];
    for (const { code, args, stdout, stderr } of [validated, away, beside, deployed])
      if (code !== 0) throw new Error(`plan ${args.join(' ')} ended with ${code}: ${stdout}${stderr}`);
    for (const lacking of judge.lackings) {
      const outcome = judge.outcome(await judge.lacking(lacking), [lacking.input]);
      if (outcome !== 'unchecked') throw new Error(`without its ${lacking.input} the plan is ${outcome}`);
    }
    judge.keepBundle();
    judge.asIs = { away: reported(away), beside: reported(beside), bundle: bundled(deployed) };
    return judge;
  }

  /** document gives the plan as it was written. */
  document(): object {
    return JSON.parse(this.text) as object;
  }

  /** judged tries an edit. The folders that lack the inputs of one kind have their turns, one an edit. */
  async judged(edit: Edit): Promise<Judged> {
    const edited = edit.edited(this.document());
    this.write(edited);
    const away = await this.away();
    const lacks = this.lackings[this.turn++ % this.lackings.length] as Lacking;
    const lacking = await this.lacking(lacks);
    const opened = await this.opened(edited);
    const validated = await this.validated();
    const rans = [away, lacking, opened, validated];
    // A plan whose list of inputs is edited is made from what is left in it.
    const isNamed = !/^\/inputs\b/.test(edit.path);
    const all = isNamed ? this.lackings.map(({ input }) => input) : [];
    const isValid = validated.code === 0;
    let beside: Outcome = 'refused';
    if (isValid) {
      const [simulated, deployed] = [await this.beside(), await this.deployed()];
      rans.push(simulated, deployed);
      const isSame =
        simulated.code === 0 &&
        reported(simulated) === this.asIs.beside &&
        deployed.code === 0 &&
        bundled(deployed) === this.asIs.bundle;
      beside = isSame ? 'no effect' : 'unnoticed';
      if ((checksOf(validated).unchecked ?? []).length > 0 || saysUnconfirmed(validated, edit.path))
        beside = 'unchecked';
    }
    return {
      away: this.outcome(away, all),
      lacking: this.outcome(lacking, isNamed ? [lacks.input] : []),
      beside,
      opened: this.outcome(opened, all),
      faults: rans.flatMap((ran) => faultsOf(ran, JSON.stringify(edited))),
    };
  }

  /** outcome says what became of a plan where some of its inputs are gone, each of which is to be said to be unchecked. */
  private outcome(ran: Ran, gone: readonly CheckedInput[]): Outcome {
    if (ran.code !== 0) return 'refused';
    const { checked = [], unchecked = [] } = checksOf(ran);
    const isSaid = gone.every((input) => unchecked.includes(input) && !checked.includes(input));
    if (unchecked.length > 0 && isSaid) return 'unchecked';
    return reported(ran) === this.asIs.away && gone.length === 0 ? 'no effect' : 'unnoticed';
  }

  private write(document: object): void {
    const text = JSON.stringify(document);
    const folders = [this.written.folder, this.awayFolder, ...this.lackings.map(({ folder }) => folder)];
    for (const folder of folders) writeFileSync(join(folder, EDITED), text);
  }

  /** keepBundle puts the bundle of the plan as it is where none of its inputs is. */
  private keepBundle(): void {
    const bundle = join(this.awayFolder, BUNDLE);
    cpSync(join(this.written.folder, BUNDLE), bundle, { recursive: true });
    this.manifest = readFileSync(join(bundle, MANIFEST), 'utf8');
  }

  /** opened opens a bundle with the edited plan as a server does, but for its executors. Its manifest has the plan's new digest. */
  private opened(document: object): Promise<Ran> {
    const text = JSON.stringify(document);
    const { plan: deployed } = JSON.parse(this.manifest) as { plan: { path: string; sha256: string } };
    const bundle = join(this.awayFolder, BUNDLE);
    writeFileSync(join(bundle, deployed.path), text);
    writeFileSync(
      join(bundle, MANIFEST),
      this.manifest.replaceAll(deployed.sha256, sha256Of(Buffer.from(text))),
    );
    return plan(['validate', BUNDLE, '--json'], this.awayFolder);
  }

  private lacking({ folder, options }: Lacking): Promise<Ran> {
    return plan(['simulate', EDITED, ...SIMULATE, ...options], folder);
  }

  private away(): Promise<Ran> {
    return plan(['simulate', EDITED, ...SIMULATE, ...this.written.options], this.awayFolder);
  }

  private beside(): Promise<Ran> {
    return plan(['simulate', EDITED, ...SIMULATE], this.written.folder);
  }

  private validated(): Promise<Ran> {
    return plan(['validate', EDITED, '--json'], this.written.folder);
  }

  private async deployed(): Promise<Ran> {
    rmSync(join(this.written.folder, BUNDLE), { recursive: true, force: true });
    return plan(['deploy', EDITED, '-o', BUNDLE, '--json'], this.written.folder);
  }
}

type Told = Record<string, unknown>;

/** lackingFolders makes a folder for each role of a plan's inputs, without the files of that role. */
function lackingFolders({ folder, options }: WrittenPlan, inputs: readonly InputFile[]): Lacking[] {
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  const roles = new Set(inputs.map(({ role }) => role).filter((role) => role !== NEEDED));
  return [...roles].map((role): Lacking => {
    const to = join(folder, `without-${role}`);
    mkdirSync(to);
    const gone = inputs.filter((input) => input.role === role).map(({ path }) => path);
    for (const { name } of files) if (!gone.includes(name)) cpSync(join(folder, name), join(to, name));
    const isOption = role === 'records' || role === 'trace';
    return { folder: to, input: INPUTS[role] as CheckedInput, options: isOption ? options : [] };
  });
}

/** checksOf reads what a command says that a plan was compared with, of the one file that it was given. */
function checksOf({ stdout }: Ran): PlanChecks {
  const told = JSON.parse(stdout) as PlanChecks & { readonly files?: readonly PlanChecks[] };
  return told.files?.[0] ?? told;
}

/**
 * saysUnconfirmed says whether `plan validate` names a field among those that nothing confirms, or had it before an
 * edit dropped it.
 */
function saysUnconfirmed({ stdout }: Ran, path: string): boolean {
  const [file] = (JSON.parse(stdout) as { files: { unconfirmed?: string[] }[] }).files;
  return (file?.unconfirmed ?? []).some((field) => path === field || path.startsWith(`${field}/`));
}

/** reported gives a report without what names the plan's file and says what was checked of it. */
function reported({ stdout, code }: Ran): string {
  if (code !== 0) return '';
  const { inputs: _, checked: __, unchecked: ___, ...told } = JSON.parse(stdout) as Told;
  return JSON.stringify(told);
}

function bundled({ stdout, code }: Ran): string {
  if (code !== 0) return '';
  const { inputs: _, checked: __, unchecked: ___, plan: ____, ...told } = JSON.parse(stdout) as Told;
  return JSON.stringify(told);
}
