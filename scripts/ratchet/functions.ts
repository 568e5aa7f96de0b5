import ts from 'typescript';

/** FunctionFacts holds the facts about a function that the checks need. */
export interface FunctionFacts {
  /** The name with those of the class or function around it: `Reservation.onTimer`. */
  readonly name: string;
  readonly lines: number;
  /** The number of positional parameters; a rest parameter counts as one. */
  readonly parameters: number;
  /** Whether another file can call it: an exported function, or a public member of an exported class. */
  readonly exported: boolean;
}

/** functionsOf lists the functions of a file that have a body, nested ones too. */
export function functionsOf(file: ts.SourceFile): FunctionFacts[] {
  const found: FunctionFacts[] = [];
  const visit = (node: ts.Node, around: string): void => {
    let inside = around;
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      inside = joined(around, nameOf(node));
      found.push({
        name: inside,
        lines: linesOf(node, file),
        parameters: node.parameters.filter(({ name }) => name.getText(file) !== 'this').length,
        exported: isReachable(node),
      });
    } else if (ts.isClassLike(node)) {
      inside = joined(around, node.name?.text ?? 'class');
    }
    ts.forEachChild(node, (child) => visit(child, inside));
  };
  visit(file, '');
  return found;
}

function joined(around: string, name: string): string {
  return around === '' ? name : `${around}.${name}`;
}

function nameOf(node: ts.SignatureDeclaration): string {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  const named = node.name ?? (isNamedHolder(node.parent) ? node.parent.name : undefined);
  return named === undefined ? '(callback)' : named.getText();
}

function isNamedHolder(
  node: ts.Node,
): node is ts.VariableDeclaration | ts.PropertyDeclaration | ts.PropertyAssignment {
  return ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node) || ts.isPropertyAssignment(node);
}

function linesOf(node: ts.Node, file: ts.SourceFile): number {
  const line = (position: number): number => file.getLineAndCharacterOfPosition(position).line;
  return line(node.getEnd()) - line(node.getStart(file)) + 1;
}

function isReachable(node: ts.Node): boolean {
  if (ts.isFunctionDeclaration(node)) return has(node, ts.SyntaxKind.ExportKeyword);
  if (ts.isClassElement(node) || (ts.isPropertyDeclaration(node.parent) && ts.isClassElement(node.parent))) {
    const member = ts.isClassElement(node) ? node : (node.parent as ts.PropertyDeclaration);
    const hidden =
      (member.name !== undefined && ts.isPrivateIdentifier(member.name)) ||
      has(member, ts.SyntaxKind.PrivateKeyword) ||
      has(member, ts.SyntaxKind.ProtectedKeyword);
    return !hidden && has(member.parent, ts.SyntaxKind.ExportKeyword);
  }
  const statement = ts.isVariableDeclaration(node.parent) ? node.parent.parent.parent : undefined;
  return statement !== undefined && has(statement, ts.SyntaxKind.ExportKeyword);
}

function has(node: ts.Node, kind: ts.SyntaxKind): boolean {
  return (
    ts.canHaveModifiers(node) && (ts.getModifiers(node) ?? []).some((modifier) => modifier.kind === kind)
  );
}
