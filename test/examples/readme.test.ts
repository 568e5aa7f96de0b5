import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { quickstartTranscript } from '../../scripts/quickstart-shape.js';
import { fewOf } from '../cases.js';
import { plan } from '../cli/plan.js';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const README = readFileSync(join(PROJECT, 'README.md'), 'utf8');
const QUICKSTART = readFileSync(join(PROJECT, 'docs/quickstart.md'), 'utf8');
const OMITTED = '…';

interface Shown {
  readonly args: readonly string[];
  /** What the page shows of the command's output: pieces between which lines are left out. */
  readonly pieces: readonly string[];
}

/** shownUnder gives the commands of a section that begin with `$`, each with the output under it. */
function shownUnder(page: string, heading: string): Shown[] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const [body = ''] = section.split('\n## ');
  const lines = body
    .replaceAll(/```[\s\S]*?```/g, '')
    .split('\n')
    .filter((line) => line === '' || line.startsWith('    '));
  const [, ...commands] = lines
    .map((line) => line.slice(4))
    .join('\n')
    .split('$ plan ');
  return commands.map((text) => {
    const [command = '', ...output] = text.trim().split('\n');
    const pieces = output
      .join('\n')
      .split(OMITTED)
      .map((piece) => piece.trim())
      .filter((piece) => piece !== '');
    return { args: command.split(' '), pieces };
  });
}

/** optionsShown gives each command that a page shows without output, and the options it is shown with. */
function optionsShown(page: string): { readonly command: string[]; readonly option: string }[] {
  const commands = page.matchAll(/(?:^ {4}|`)plan ([a-z][^`\n#]*)/gm);
  return [...commands].flatMap(([, line = '']) => {
    const words = line.trim().split(' ');
    const command = words.slice(
      0,
      Math.max(
        1,
        words.findIndex((word) => !/^[a-z]+$/.test(word)),
      ),
    );
    const options = words.filter((word) => word.startsWith('--'));
    return options.map((option) => ({ command, option }));
  });
}

/** headline gives the first line that `plan solve` prints of a spec. */
async function headline(spec: string, cwd: string): Promise<string | undefined> {
  const { stdout } = await plan(['solve', spec, '-o', 'headline.json'], { cwd });
  return stdout.split('\n')[0];
}

describe('README.md', () => {
  const folder = mkdtempSync(join(tmpdir(), 'inferplan-readme-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(
    fewOf<[page: string, text: string, heading: string, count: number]>(
      [
        ['README.md', README, 'A plan in three commands', 3],
        ['docs/quickstart.md', QUICKSTART, 'How much load a plan holds', 3],
      ],
      1,
    ),
  )('%s shows what its commands print', async (_page, text, heading, count) => {
    const shown = shownUnder(text, heading);
    expect(shown).toHaveLength(count);
    const cwd = mkdtempSync(join(folder, 'shown-'));
    for (const { args, pieces } of shown) {
      const { code, stdout, stderr } = await plan(args, { cwd });
      expect({ args, code, stderr: code === 0 ? '' : stderr }).toEqual({ args, code: 0, stderr: '' });
      expect(
        pieces.filter((piece) => !stdout.includes(piece)),
        stdout,
      ).toEqual([]);
    }
  });

  it('has a spec that gets the plan of the example it shows', async () => {
    const [, spec = ''] = /```yaml\n([\s\S]*?)```/.exec(README) ?? [];
    cpSync(join(PROJECT, 'examples/pooled'), join(folder, 'pooled'), { recursive: true });
    writeFileSync(join(folder, 'pooled/short.yaml'), spec);
    const [short, example] = [
      await headline('pooled/short.yaml', folder),
      await headline('pooled/spec.yaml', folder),
    ];
    expect(short).toMatch(/requests\/s per unit of weight/);
    expect(short).toBe(example);
  });

  it('takes the figures of its four lines from the run that the quickstart shows', () => {
    const lines = README.split('\n').filter((line) => /^ {4}(profile|plan|hold|serve) {2}/.test(line));
    expect(lines).toHaveLength(4);
    const figures = lines.flatMap((line) => line.match(/\d+\.\d( %)?/g) ?? []);
    const run = quickstartTranscript(QUICKSTART);
    expect(figures.length).toBeGreaterThan(5);
    expect(figures.filter((figure) => !run.includes(figure))).toEqual([]);
  });

  it('and the quickstart show commands with options that they take', async () => {
    const shown = [README, QUICKSTART].flatMap(optionsShown);
    expect(shown.length).toBeGreaterThan(40);
    const helps = new Map<string, string>();
    const wrong: string[] = [];
    for (const { command, option } of shown) {
      const name = command.join(' ');
      const help = helps.get(name) ?? (await plan([...command, '--help'])).stdout;
      helps.set(name, help);
      if (!new RegExp(`${option}[ ,\n]`).test(help)) wrong.push(`plan ${name} ${option}`);
    }
    expect(wrong).toEqual([]);
  });
});
