import { cellName, figureName, sameFigure, type UnfitFigure, type UnfitFigures } from '../formats/index.js';

/** Group is a virtual size and a batch size of a class, the cells of which are measured together. */
export interface Group {
  readonly className: string;
  readonly virtual: number;
  readonly batch: number;
}

/** Warning is a line of `measurement.warnings`. */
export interface Warning {
  readonly text: string;
  /** The subject of the warning, which is taken back once its subject is measured again. */
  readonly about?: Subject;
}

/** Subject is what a warning is about. */
export type Subject =
  | { readonly kind: 'layers'; readonly className: string }
  /** All of these figures of a group; where none is named, whatever is measured of it. */
  | { readonly kind: 'figures'; readonly group: Group; readonly figures: readonly UnfitFigure[] };

/** ofLayers is the subject of warnings about the layers of a class. */
export function ofLayers(className: string): Subject {
  return { kind: 'layers', className };
}

/** ofGroup is the subject of warnings about a group, or about figures of it. */
export function ofGroup(group: Group, figures: readonly UnfitFigure[] = []): Subject {
  return { kind: 'figures', group, figures };
}

/** subjectName names a subject as its warnings begin. */
export function subjectName(subject: Subject): string {
  switch (subject.kind) {
    case 'layers':
      return `layers of ${subject.className}`;
    case 'figures': {
      const [first, ...others] = subject.figures;
      const group = groupName(subject.group);
      return first === undefined || others.length > 0 ? `${group}:` : `${group} ${figureName(first)}`;
    }
  }
}

/** groupName names a group in warnings. */
export function groupName(group: Group): string {
  return cellName(group);
}

/** isTakenBack says whether a warning is, because these figures of a group are measured again. */
export function isTakenBack({ about }: Warning, group: Group, again: readonly UnfitFigure[]): boolean {
  return about?.kind === 'figures' && sameGroup(about.group, group) && areAmong(about.figures, again);
}

/** areAmong says whether all of some figures of a group are among others of it. */
export function areAmong(figures: readonly UnfitFigure[], others: readonly UnfitFigure[]): boolean {
  return figures.every((figure) => others.some((other) => sameFigure(figure, other)));
}

function sameGroup(one: Group, other: Group): boolean {
  return one.className === other.className && one.virtual === other.virtual && one.batch === other.batch;
}

/**
 * warningRead gives a warning of a profile that is resumed. A profile has its warnings in words alone except for unfit
 * figures, so this reads with which subject's name one begins, as it was written.
 *
 * @param subjects what the warning can be about, by name
 */
export function warningRead(
  text: string,
  unfit: readonly UnfitFigures[],
  subjects: ReadonlyMap<string, Subject>,
): Warning {
  const known = unfit.find(({ warning }) => warning === text);
  if (known !== undefined) {
    const { class: className, virtual, batch, figures } = known;
    return { text, about: ofGroup({ className, virtual, batch }, figures) };
  }
  for (const [name, about] of subjects) if (text.startsWith(`${name} `)) return { text, about };
  return { text };
}
