import type { Steps } from '../collections/index.js';
import {
  fault,
  HUGE,
  InputError,
  jsonFindings,
  notJson,
  placeIn,
  refuseLargeJson,
  shown,
} from '../formats/index.js';
import type { PointedFault } from './faults.js';
import type { ParsedText } from './parse-yaml.js';

const BYTE_ORDER_MARK = '\uFEFF';

/**
 * parseJsonText parses the text of a file of JSON. A key that is given twice and a whole number that a double does not hold are
 * faults, although the parser of JavaScript takes them. The text is looked through for them only where the value shows that
 * there may be some.
 * @param firstLine the number of the text's first line in its file
 * @throws InputError where it is not JSON, with the line and the column, or is larger than is read
 */
export function* parseJsonText(text: string, path: string, firstLine = 1): Steps<ParsedText> {
  const task = `read ${path}`;
  const keys = refuseLargeJson(text, task);
  yield;
  const json = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new InputError(task, [fault(`it is not JSON: ${notJson(json, undefined, firstLine)}`)]);
  }
  yield;
  const seen = seenIn(value);
  return { value, faults: seen.keys < keys || seen.huge ? oddities(json, firstLine) : [] };
}

/** seenIn counts the keys of a value, and says whether it holds a number that may stand for another whole one. */
function seenIn(value: unknown): { keys: number; huge: boolean } {
  let [keys, huge] = [0, false];
  const look = (part: unknown): void => {
    if (typeof part === 'number') huge ||= Number.isInteger(part) && !Number.isSafeInteger(part);
    if (typeof part !== 'object' || part === null) return;
    const parts = Array.isArray(part) ? part : Object.values(part);
    if (!Array.isArray(part)) keys += parts.length;
    for (const one of parts) look(one);
  };
  look(value);
  return { keys, huge };
}

function oddities(json: string, firstLine: number): PointedFault[] {
  const { twice, huge } = jsonFindings(json);
  return [
    ...twice.map(({ key, at }) =>
      fault(`the key ${shown(key)} is given twice in one map`, placeIn(json, at, firstLine)),
    ),
    ...huge.map(({ pointer, text }) => fault(`is ${text}; ${HUGE}`, pointer)),
  ];
}
