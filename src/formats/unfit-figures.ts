import { cellName, type Profile, type ProfiledCell, type UnfitFigure, type UnfitFigures } from './profile.js';

/**
 * unfitFigures lists which figures of a profile are unfit. A profile that was written before it listed them says it in
 * the words of its warnings alone, and this reads them.
 */
export function unfitFigures({
  measurement: { unfit, warnings = [] } = {},
  devices,
}: Pick<Profile, 'measurement' | 'devices'>): readonly UnfitFigures[] {
  const classes = Object.keys(devices);
  return unfit ?? warnings.flatMap((warning) => saidUnfit(warning, classes) ?? []);
}

/** unfitOf lists which figures of a cell are unfit. */
export function unfitOf(
  profile: Pick<Profile, 'measurement' | 'devices'>,
  cell: ProfiledCell,
): UnfitFigures[] {
  return unfitFigures(profile).filter((one) => isOf(one, cell));
}

/** isOf says whether unfit figures are of a cell. */
export function isOf(unfit: UnfitFigures, { className, virtual, batch }: ProfiledCell): boolean {
  return unfit.class === className && unfit.virtual === virtual && unfit.batch === batch;
}

/** sameFigure says whether two names are of one figure of a cell. */
export function sameFigure(one: UnfitFigure, other: UnfitFigure): boolean {
  return one.part === other.part && one.block === other.block;
}

/** figureName names a figure as the warnings of a profile do. */
export function figureName({ part, block = 0 }: UnfitFigure): string {
  switch (part) {
    case 'whole':
      return 'whole model';
    case 'block':
      return `block ${block}`;
    case 'pair':
      return `pair ${block}–${block + 1}`;
  }
}

/** saidUnfit reads a warning such as `cpu 1/2 batch 4 block 0 is unfit: …`, of one of the classes of a profile. */
function saidUnfit(warning: string, classes: readonly string[]): UnfitFigures | undefined {
  for (const className of classes) {
    const [, virtual, batch] =
      (warning.startsWith(`${className} 1/`) && CELL.exec(warning.slice(className.length))) || [];
    if (virtual === undefined) continue;
    const cell = { className, virtual: Number(virtual), batch: Number(batch) };
    const said = warning.slice(cellName(cell).length);
    if (!/ (is|are) unfit\b/.test(said)) continue;
    const names = / figures are unfit \(([^)]*)\)/.exec(said)?.[1]?.split(', ') ?? [
      said.slice(1, said.indexOf(' is unfit')),
    ];
    const { virtual: v, batch: b } = cell;
    return { class: className, virtual: v, batch: b, figures: names.flatMap(figureNamed), warning };
  }
  return undefined;
}

const CELL = /^ 1\/(\d+) batch (\d+)[ :]/;

function figureNamed(name: string): UnfitFigure[] {
  if (name === 'whole model') return [{ part: 'whole' }];
  const [, part, block] = /^(block|pair) (\d+)/.exec(name) ?? [];
  return part === undefined ? [] : [{ part: part as 'block' | 'pair', block: Number(block) }];
}
