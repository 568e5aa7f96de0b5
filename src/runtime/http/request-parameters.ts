import { type Json, partOf, quotedJson } from '../../protocol/index.js';
import { type FirstFaults, nameText } from './first-faults.js';

/** Rule says what a parameter's value must be where it is not that, and is undefined where it is. */
type Rule = (value: unknown) => string | undefined;
type Rules = Readonly<Record<string, Rule>>;

const isFlag: Rule = (value) => (typeof value === 'boolean' ? undefined : 'it must be true or false');
const isAny: Rule = () => undefined;
const isCount = (of: string): Rule => {
  return (value) =>
    Number.isSafeInteger(value) && (value as number) >= 0
      ? undefined
      : `it must be a whole number${of} from 0 on`;
};
/** The codecs of MLServer that leave the data as the tensor that it is. */
const isPlain: Rule = (value) =>
  value === 'np' || value === 'str' ? undefined : 'data is taken as the tensor itself, which is np or str';
const isOfNoSequence: Rule = (value) =>
  value === 0 || value === '' || value === false
    ? undefined
    : 'models keep no state between requests here, and so there are no sequences';

/**
 * REQUEST_PARAMETERS, INPUT_PARAMETERS and OUTPUT_PARAMETERS hold the parameters that are understood. All requests have
 * one level of priority, as in a Triton that is not told of more.
 */
export const REQUEST_PARAMETERS: Rules = {
  binary_data_output: isFlag,
  timeout: isCount(' of µs'),
  priority: isCount(''),
  sequence_id: isOfNoSequence,
  sequence_start: isOfNoSequence,
  sequence_end: isOfNoSequence,
  content_type: isPlain,
};
export const INPUT_PARAMETERS: Rules = { binary_data_size: isAny, content_type: isPlain };
export const OUTPUT_PARAMETERS: Rules = { binary_data: isFlag, content_type: isPlain };

/** A request may name parameters without end, and a message is for a person. */
const MOST_TOLD = 5;

/**
 * checkedParameters gives the parameters of a request, an input or an output whose values are what `rules` say. Others
 * are faults, for what is not understood may change the answer. A parameter that is null counts as left out.
 * @param owner the request, input or output
 * @param place what the faults' places begin with
 */
export function checkedParameters(
  owner: Json,
  { rules, place }: { readonly rules: Rules; readonly place: string },
  faults: FirstFaults,
): Readonly<Record<string, unknown>> {
  const parameters = partOf(owner, 'parameters');
  const path = place === '' ? 'parameters' : `${place} parameters`;
  const { value } = parameters;
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    faults.tell(() => [path, `is ${quotedJson(parameters)}; it must be an object`]);
    return {};
  }
  const checked: Record<string, unknown> = {};
  let unknown = 0;
  for (const [name, of] of Object.entries(value)) {
    if (of === null) continue;
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    const wrong = rule?.(of);
    if (rule === undefined) {
      unknown += 1;
      if (unknown <= MOST_TOLD) faults.tell(() => [`${path}.${nameText(name)}`, notUnderstood(rules)]);
    } else if (wrong === undefined) checked[name] = of;
    else faults.tell(() => [`${path}.${name}`, `is ${quotedJson(partOf(parameters, name))}; ${wrong}`]);
  }
  if (unknown > MOST_TOLD)
    faults.tell(() => [path, `has ${unknown - MOST_TOLD} more that are not understood`]);
  return checked;
}

function notUnderstood(rules: Rules): string {
  return `is not understood, and may change the answer; understood are ${Object.keys(rules).join(', ')}`;
}
