/** This many subjects of alike warnings are named; of more, the first ones are and the others counted. */
const MOST_NAMED = 3;

/** Told is a warning in parts: of what (`detect`), how it belongs to which others (`on`, `L4`), and what is said. */
interface Told {
  readonly subjects: readonly string[];
  readonly link: string;
  readonly objects: readonly string[];
  readonly said: string;
}

/**
 * groupedWarnings tells warnings that say the same of several models, stages or classes as one: `detect, face
 * and read on L4: the latency is the sum of the blocks`. A warning that is alone in its form stays as it is,
 * and no warning is printed twice.
 */
export function groupedWarnings(warnings: readonly string[]): string[] {
  const told = [...new Set(warnings)].map(toldOf);
  const bySubject = merged(told, 'subjects', ({ link, objects, said }) => [link, objects, said]);
  return merged(bySubject, 'objects', ({ link, subjects, said }) => [link, subjects, said]).map(textOf);
}

/** The text that begins a warning: `… cannot use …: …`, or names alone, as in `… on …: …` and `…: …`. */
const FORM =
  /^(?<subject>[^:]+?(?= cannot use )|[^:\s]+)(?: (?<link>cannot use|on) (?<object>[^:]+?))?: (?<said>.*)$/s;

/** toldOf takes a warning apart where it has one of the forms. A subject with a verb of its own stands alone. */
function toldOf(text: string): Told {
  const found = FORM.exec(text);
  if (found === null) return { subjects: [], link: '', objects: [], said: text };
  const { subject = '', link = '', object, said = '' } = found.groups ?? {};
  return { subjects: [subject], link, objects: object === undefined ? [] : [object], said };
}

function merged(
  all: readonly Told[],
  what: 'subjects' | 'objects',
  alike: (told: Told) => readonly unknown[],
): Told[] {
  const groups = new Map<string, Told>();
  for (const told of all) {
    const key = JSON.stringify(alike(told));
    const first = groups.get(key);
    groups.set(key, first === undefined ? told : { ...first, [what]: [...first[what], ...told[what]] });
  }
  return [...groups.values()];
}

function textOf({ subjects, link, objects, said }: Told): string {
  if (subjects.length === 0) return said;
  const of = objects.length === 0 ? '' : ` ${link} ${namesText(objects)}`;
  // A statement about one of them is about each, so that it stays in the singular.
  const each = subjects.length > 1 && /\bits?\b/.test(said) ? 'each of ' : '';
  return `${each}${namesText(subjects)}${of}: ${said}`;
}

function namesText(names: readonly string[]): string {
  const shown = names.length > MOST_NAMED ? names.slice(0, MOST_NAMED - 1) : names.slice(0, -1);
  const last = names.length > MOST_NAMED ? `${names.length - shown.length} more` : names.at(-1);
  return shown.length === 0 ? `${last}` : `${shown.join(', ')} and ${last}`;
}
