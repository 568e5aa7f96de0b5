/** tableText lines up cells in columns, the first line being their names. */
export function tableText(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, c) => Math.max(...lines.map((line) => (line[c] ?? '').length)));
  return lines.map((line) => `${line.map((cell, c) => cell.padStart(widths[c] ?? 0)).join('  ')}\n`).join('');
}
