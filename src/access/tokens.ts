import { type FaultPlace, fault, option, type ToldFaults } from '../formats/index.js';
import { readSecret } from './secret-file.js';

/** NamedToken is a token with the name of who has it. */
export interface NamedToken {
  readonly name: string;
  readonly token: string;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;
/** The text that a header may carry after "Bearer ". */
const TOKEN = /^[\x21-\x7e]{1,4096}$/;
const NAME_WORDS = 'a name is a letter or digit, and up to 63 more of these or . _ @ -';
const TOKEN_WORDS = 'a token is 1 to 4096 visible ASCII characters without spaces';

interface Line {
  readonly text: string;
  readonly at: number;
}

/** linesOf gives the lines that hold something: blank ones, and comments from # on, count for nothing. */
function linesOf(text: string): Line[] {
  const lines = text.split(/\r\n|\n|\r/).map((line, i) => ({ text: line.trim(), at: i + 1 }));
  return lines.filter((line) => line.text !== '' && !line.text.startsWith('#'));
}

/**
 * readTokens reads a file of tokens, one a line as `name:token`. Names and tokens may not repeat. Faults name lines, never
 * tokens.
 * @returns undefined where something was added to `told`
 */
export async function readTokens(
  path: string,
  told: ToldFaults,
): Promise<{ readonly tokens: readonly NamedToken[]; readonly warnings: readonly string[] } | undefined> {
  const place = option('tokenFile', path);
  const before = told.count;
  const file = await readSecret(path, place, told);
  if (file === undefined) return undefined;
  const lines = linesOf(file.text);
  if (lines.length === 0)
    told.add(fault('holds no token; give each client a line such as alice:<token>', place));
  const tokens = lines.flatMap((line) => namedToken(line, place, told) ?? []);
  refuseRepeated(tokens, place, told);
  if (told.count > before) return undefined;
  const warnings = file.warning === undefined ? [] : [file.warning];
  return { tokens: tokens.map(({ name, token }) => ({ name, token })), warnings };
}

function namedToken(
  { text, at }: Line,
  place: FaultPlace,
  told: ToldFaults,
): (NamedToken & { readonly at: number }) | undefined {
  const colon = text.indexOf(':');
  const [name, token] = [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
  if (colon < 0) told.add(fault(`line ${at} is not name:token`, place));
  else if (!NAME.test(name)) told.add(fault(`line ${at}: its name is no name; ${NAME_WORDS}`, place));
  else if (!TOKEN.test(token)) told.add(fault(`line ${at}: ${name} has no token; ${TOKEN_WORDS}`, place));
  else return { name, token, at };
  return undefined;
}

function refuseRepeated(
  tokens: readonly (NamedToken & { readonly at: number })[],
  place: FaultPlace,
  told: ToldFaults,
): void {
  const names = new Map<string, number>();
  const values = new Map<string, number>();
  for (const { name, token, at } of tokens) {
    if (names.has(name)) told.add(fault(`line ${at} names ${name}, as line ${names.get(name)} does`, place));
    if (values.has(token)) told.add(fault(`line ${at} has the token of line ${values.get(token)}`, place));
    if (!names.has(name)) names.set(name, at);
    if (!values.has(token)) values.set(token, at);
  }
}

/**
 * readClientToken reads the token that a client sends: one line, `name:token` as servers have it or the token alone.
 * @returns undefined where something was added to `told`
 */
export async function readClientToken(
  path: string,
  told: ToldFaults,
): Promise<{ readonly token: string; readonly warnings: readonly string[] } | undefined> {
  const place = option('tokenFile', path);
  const file = await readSecret(path, place, told);
  if (file === undefined) return undefined;
  const [line, ...more] = linesOf(file.text);
  const token = line?.text.slice(line.text.indexOf(':') + 1).trim() ?? '';
  if (line === undefined) told.add(fault('holds no token', place));
  else if (more.length > 0)
    told.add(
      fault(`holds ${1 + more.length} tokens, and a client sends one; give it a file of one line`, place),
    );
  else if (!TOKEN.test(token)) told.add(fault(`line ${line.at} has no token; ${TOKEN_WORDS}`, place));
  else return { token, warnings: file.warning === undefined ? [] : [file.warning] };
  return undefined;
}
