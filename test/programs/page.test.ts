import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseArtifact } from '../../src/artifacts/index.js';
import { PROGRAM_LIMITS } from '../../src/programs/index.js';
import { moduleFile, ONE, PATIENT, programOf, started } from './started.js';

const PAGE = readFileSync(new URL('../../docs/programs.md', import.meta.url), 'utf8');

/** rowsUnder gives the cells of the table whose header begins so. */
function rowsUnder(header: string): string[][] {
  const [, table = ''] = PAGE.split(`\n| ${header} |`);
  const lines = table.split('\n').slice(2);
  const end = lines.findIndex((line) => !line.startsWith('|'));
  return lines.slice(0, end).map((line) =>
    line
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1),
  );
}

describe('docs/programs.md', () => {
  it('has the limits with their defaults', () => {
    const told = rowsUnder('limit').map(([name = '', value]) => [name.replaceAll('`', ''), Number(value)]);
    expect(Object.fromEntries(told)).toEqual(PROGRAM_LIMITS);
  });

  it('has every reason with which a run ends', () => {
    const source = readFileSync(new URL('../../src/programs/messages.ts', import.meta.url), 'utf8');
    const [, union = ''] = /type FailureReason =([^;]*);/.exec(source) ?? [];
    const reasons = [...union.matchAll(/'([^']+)'/g)].map(([, reason]) => reason);
    expect(reasons).toHaveLength(4);
    expect(rowsUnder('reason').map(([name = '']) => name.replaceAll('`', ''))).toEqual(reasons);
  });

  it('names what is withheld', async () => {
    const [, sentence = ''] = /- Timers \(([\s\S]*?) are withheld/.exec(PAGE) ?? [];
    const names = [...sentence.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string);
    expect(names.length).toBeGreaterThan(8);
    const driver = await started(
      programOf(`
        const said = [];
        for (const withheld of ${JSON.stringify(names)}) {
          const [name, of = 'globalThis'] = withheld.split('.').reverse();
          try { (of === 'globalThis' ? globalThis : globalThis[of])[name](); said.push(withheld); }
          catch (error) { if (!error.message.startsWith(withheld + ' is withheld')) said.push(error.message); }
        }
        throw new Error(JSON.stringify(said));`),
      { limits: PATIENT },
    );
    expect((await driver.run(0, ONE)).failure?.message).toMatch(/^threw Error: \[\] /);
  });

  it('shows a program that is one', async () => {
    const [, code = ''] = /```js\n([\s\S]*?)```/.exec(PAGE) ?? [];
    const driver = await started(moduleFile(code));
    expect(driver.host?.face.outputs.map(({ name }) => name)).toEqual(['reply', 'picture']);
  });

  it('shows a program and a spec of own models that fit to one another', async () => {
    const [, own = ''] = PAGE.split('## A workflow of your own models');
    const [, code = ''] = /```js\n([\s\S]*?)```/.exec(own) ?? [];
    const [, text = ''] = /```yaml\n([\s\S]*?)```/.exec(own) ?? [];
    const { value: spec } = parseArtifact(text, 'spec.yaml', ['workflow']);
    const called = [...code.matchAll(/call\('([^']+)'/g)].map(([, name]) => name);
    expect(new Set(called)).toEqual(new Set(spec.components.map(({ name }) => name)));
    expect(spec.workflows.map(({ program }) => program)).toEqual([/`own\/(\w+\.mjs)`/.exec(own)?.[1]]);
    const driver = await started(moduleFile(code));
    expect(driver.host?.face.outputs.map(({ name }) => name)).toEqual(['logits']);
  });

  it('says that the environment is empty', async () => {
    const driver = await started(programOf(`throw new Error(Object.keys(process.env).length);`));
    expect((await driver.run(0, ONE)).failure?.message).toMatch(/^threw Error: 0 /);
  });
});
