import { createRequire } from 'node:module';
import { type CiReport, countOf, detailsOf } from './verdict.js';

/** Characters that XML 1.0 cannot hold, not even escaped. Half of a pair of surrogates is one of them. */
const NOT_IN_XML =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are looked for.
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/**
 * junitText writes verdicts as JUnit's XML: a suite with a case for each, and remarks as on stderr. It has no
 * times, so that equal verdicts have equal bytes.
 */
export function junitText({ title, cases, notes }: CiReport): string {
  const { create } = createRequire(import.meta.url)('xmlbuilder2') as typeof import('xmlbuilder2');
  const counts = {
    tests: cases.length,
    failures: countOf(cases, 'failed'),
    errors: countOf(cases, 'broken'),
  };
  const root = create({ version: '1.0', encoding: 'UTF-8' }).ele('testsuites', {
    name: xml(title),
    ...counts,
  });
  const suite = root.ele('testsuite', { name: xml(title), ...counts, skipped: countOf(cases, 'skipped') });
  for (const one of cases) {
    const element = suite.ele('testcase', { name: xml(one.name), classname: xml(title) });
    const { outcome, says } = one;
    if (outcome === 'held') element.ele('system-out').txt(xml(says));
    else if (outcome === 'skipped') element.ele('skipped', { message: xml(says) });
    else {
      const name = outcome === 'failed' ? 'failure' : 'error';
      element
        .ele(name, { message: xml(says), type: outcome === 'failed' ? 'check' : 'input' })
        .txt(xml(detailsOf(one)));
    }
  }
  if (notes.length > 0) suite.ele('system-err').txt(xml(notes.join('\n')));
  return `${root.end({ prettyPrint: true })}\n`;
}

function xml(text: string): string {
  return text.replace(NOT_IN_XML, '\ufffd');
}
