/** TouchedFiles lists, for each addition, the files that no longer compile. */
export type TouchedFiles = ReadonlyMap<string, readonly string[]>;

/** The mark before the table in CONTRIBUTING.md, and the one after it. */
const BEGIN = '<!-- additions -->';
const END = '<!-- /additions -->';

/** tableText writes the table of CONTRIBUTING.md. */
export function tableText(touched: TouchedFiles): string {
  const rows = [...touched].map(
    ([name, files]) => `| ${name} | ${files.map((file) => `\`${file.replace(/^src\//, '')}\``).join(', ')} |`,
  );
  return [
    '| to add … | these files below `src/` do not compile until they have it |',
    '| --- | --- |',
    ...rows,
  ].join('\n');
}

/**
 * withTable gives a page with the table between its marks.
 * @throws Error where the marks are missing
 */
export function withTable(page: string, table: string): string {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`Cannot find ${BEGIN} and ${END} in the page`);
  return `${page.slice(0, from)}${BEGIN}\n${table}\n${page.slice(to)}`;
}
