/** HEADERS are the first words of tables' headers, which are compared as a whole. */
const HEADERS = /^(block|device|model|class|figure) {2}/;
const HEADING = /^(\d\. |What you have)/;

/**
 * quickstartShape gives what is alike in all runs of the quickstart, line by line: headings, commands, headers of tables, and
 * the first cells of rows. Figures are blank in it, and so are the lines that depend on what was measured. `folder` is
 * the folder of its files, as the commands name it.
 */
export function quickstartShape(printed: string, folder: string): string[] {
  const shape: string[] = [];
  for (const line of printed.replaceAll(folder, 'quickstart-out').split('\n')) {
    const kept = keptOf(line);
    if (kept !== undefined && kept !== shape.at(-1)) shape.push(kept);
  }
  return shape;
}

function keptOf(line: string): string | undefined {
  if (HEADING.test(line)) return blank(line);
  const text = line.replace(/^ {2}(?=\S)/, '');
  if (text === line) return undefined;
  if (text.startsWith('$ ') || HEADERS.test(text)) return blank(text);
  return /^([a-z][^:]*?) {2}/.exec(text)?.[1];
}

/** blank leaves out the figures of a line, and how wide its columns are. */
function blank(line: string): string {
  return line.replaceAll(/\d+(\.\d+)?/g, '#').replaceAll(/ +/g, ' ');
}

/** quickstartTranscript gives what a page shows of the quickstart: the indented lines from its first step to its last. */
export function quickstartTranscript(page: string): string {
  const lines = page.split('\n');
  const first = lines.indexOf('    $ npm ci && npm run quickstart') + 1;
  const length = lines.slice(first).findIndex((line) => /^\S/.test(line));
  return lines
    .slice(first, first + length)
    .map((line) => line.slice(4))
    .join('\n');
}
