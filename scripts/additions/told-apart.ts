import { relative } from 'node:path';
import ts from 'typescript';
import type { Compiled } from './program.js';

/** Place is where a source tells kinds apart by their names. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/**
 * toldApart lists the places below `src` where a kind of one of some families is told by its name: where it is compared with
 * a literal, in a `switch`, or by a property that only some kinds have. The entries of a record over a family are not
 * among them: a record that lacks an entry does not compile.
 * @param families the names of each family's kinds
 */
export function toldApart({ program, project }: Compiled, families: readonly (readonly string[])[]): Place[] {
  const checker = program.getTypeChecker();
  const places: Place[] = [];
  const isKind = (name: string): boolean => families.some((kinds) => kinds.includes(name));
  /** Whether a type is a union with two kinds of one family at least. */
  const isOfFamily = (type: ts.Type): boolean => {
    const names = literalsOf(type);
    return families.some((kinds) => kinds.filter((kind) => names.includes(kind)).length > 1);
  };
  const isToldBy = (type: ts.Type): boolean => {
    const kind = type.isUnion() ? checker.getPropertyOfType(type, 'kind') : undefined;
    return kind !== undefined && isOfFamily(checker.getTypeOfSymbol(kind));
  };
  for (const source of program.getSourceFiles()) {
    const file = relative(project, source.fileName);
    if (!file.startsWith('src/')) continue;
    const visit = (node: ts.Node): void => {
      if (tells(node, { checker, isKind, isOfFamily, isToldBy })) {
        const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
        places.push({ file, line, text: node.getText(source).split('\n')[0] as string });
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return places;
}

interface Telling {
  readonly checker: ts.TypeChecker;
  readonly isKind: (name: string) => boolean;
  readonly isOfFamily: (type: ts.Type) => boolean;
  readonly isToldBy: (type: ts.Type) => boolean;
}

const COMPARISONS: readonly ts.SyntaxKind[] = [
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
];

function tells(node: ts.Node, { checker, isKind, isOfFamily, isToldBy }: Telling): boolean {
  if (ts.isSwitchStatement(node)) return isOfFamily(checker.getTypeAtLocation(node.expression));
  if (!ts.isBinaryExpression(node)) return false;
  const { left, right, operatorToken } = node;
  if (operatorToken.kind === ts.SyntaxKind.InKeyword) return isToldBy(checker.getTypeAtLocation(right));
  if (!COMPARISONS.includes(operatorToken.kind)) return false;
  return [
    [left, right],
    [right, left],
  ].some(
    ([value, literal]) =>
      literal !== undefined &&
      value !== undefined &&
      ts.isStringLiteral(literal) &&
      isKind(literal.text) &&
      isOfFamily(checker.getTypeAtLocation(value)),
  );
}

function literalsOf(type: ts.Type): string[] {
  const parts = type.isUnion() ? type.types : [type];
  return parts.flatMap((part) => (part.isStringLiteral() ? [part.value] : []));
}
