import { atOnce } from '../collections/index.js';
import { fault, InputError, notJson, refuseLargeJson } from '../formats/index.js';
import { MOST_BYTES } from './load.js';
import { parseYamlText } from './parse-yaml.js';
import { readWhole } from './read-file.js';
import { isStdin, isYamlPath, specName, stdinBytes } from './stdin.js';
import { decodedText } from './text.js';

/** A text of JSON that holds a list or a map begins so; YAML takes such a text too, but far less of it is read. */
const JSON_BEGINNING = /^\s*[[{]/;

/**
 * readForeign reads JSON or YAML that another tool wrote, from a file of at most 64 MiB or from stdin (`-`). Its values are as its
 * own parser would give them; what they mean is for the caller to check.
 * @throws MissingError where there is no such file; InputError where it is neither, or larger than is read
 */
export async function readForeign(path: string): Promise<unknown> {
  const bytes = isStdin(path) ? await stdinBytes(MOST_BYTES) : await readWhole(path, MOST_BYTES);
  const name = specName(path);
  const text = decodedText(bytes, name);
  const task = `read ${name}`;
  if (text.trim() === '') throw new InputError(task, [fault('the file is empty')]);
  if (isYamlPath(path) && !JSON_BEGINNING.test(text)) return atOnce(parseYamlText(text, name)).value;
  refuseLargeJson(text, task);
  try {
    return JSON.parse(text);
  } catch {
    throw new InputError(task, [fault(`it is not JSON: ${notJson(text)}`)]);
  }
}
