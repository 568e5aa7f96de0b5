import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { validateXML } from 'xmllint-wasm';
import { annotations, type CiReport, junitText, summaryText } from '../../../src/report/index.js';

const REPORT: CiReport = {
  title: "plan validate 'a & b.yaml'",
  cases: [
    { name: 'good', outcome: 'held', says: 'is <good>' },
    {
      name: 'bad, worse: worst',
      outcome: 'broken',
      says: 'Cannot read it',
      faults: [
        { file: 'a,b:c.yaml', line: 7, message: 'is 50 %\nof ::error::\u0000"\ud800' },
        { message: 'has no place' },
      ],
    },
    { name: 'gate', outcome: 'failed', says: 'Attainment is 0.9, below 0.99' },
    { name: 'mix', outcome: 'skipped', says: 'infeasible' },
  ],
  parts: ['a line | of *marks*', '', { columns: ['a|b'], rows: [['x\ny']] }],
  notes: ['a <note>\nof two lines', 'warning: another\u0000'],
};

describe('junitText()', () => {
  it('is XML that the schema accepts, whatever the messages hold', async () => {
    const contents = junitText(REPORT);
    const schema = await readFile(new URL('junit.xsd', import.meta.url), 'utf8');
    const { valid, errors } = await validateXML({
      xml: [{ fileName: 'junit.xml', contents }],
      schema: [{ fileName: 'junit.xsd', contents: schema }],
    });
    expect(errors).toEqual([]);
    expect(valid).toBe(true);
    expect(contents).toContain(
      '<system-err>a &lt;note&gt;\nof two lines\nwarning: another\ufffd</system-err>',
    );
    expect(contents).toContain('tests="4" failures="1" errors="1" skipped="1"');
    const refused = await validateXML({
      xml: [{ fileName: 'junit.xml', contents: contents.replaceAll('tests=', 'test=') }],
      schema: [{ fileName: 'junit.xsd', contents: schema }],
    });
    expect(refused.valid).toBe(false);
  });
});

describe('annotations()', () => {
  it("escapes as GitHub's toolkit does, and has one for each fault of what failed", () => {
    const title = "title=plan validate 'a & b.yaml'%3A ";
    expect(annotations(REPORT)).toEqual([
      `::error file=a%2Cb%3Ac.yaml,line=7,${title}bad%2C worse%3A worst::is 50 %25%0Aof ::error::\u0000"\ud800`,
      `::error ${title}bad%2C worse%3A worst::has no place`,
      `::error ${title}gate::Attainment is 0.9, below 0.99`,
    ]);
  });
});

describe('summaryText()', () => {
  it('has fewer bytes than GitHub takes, whatever they are of, and ends between two characters', () => {
    const text = summaryText({ title: 'long', cases: [], notes: [], parts: ['😀'.repeat(400_000)] });
    expect(Buffer.byteLength(text)).toBeLessThan(1024 * 1024);
    expect(text).toMatch(/😀\n\n… cut\n\n$/u);
  });

  it('has the verdict first, then each case, then what people are shown', () => {
    const text = summaryText(REPORT);
    expect(text).toMatch(/^### ❌ Failed \(2 of 4 checks\): plan validate 'a &amp; b\.yaml'\n/);
    expect(text).toMatch(/\| ✅ +\| good +\| is &lt;good&gt; +\|/);
    expect(text).toContain('a line | of \\*marks\\*');
    expect(text).toContain('\n\n- a &lt;note&gt;<br>of two lines\n- warning: another');
    expect(text).toMatch(/\| a\\\|b +\|\n\| -+ \|\n\| x<br>y +\|/);
  });
});
