import ts from 'typescript';

/**
 * spreadsOf finds the lists that calls spread as arguments. V8 puts each argument on the stack, and a list of some
 * 100,000 exceeds it. What a function was itself given as arguments is no longer, and is left out.
 */
export function spreadsOf(file: ts.SourceFile): ts.SpreadElement[] {
  const found: ts.SpreadElement[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) || ts.isNewExpression(node))
      for (const argument of node.arguments ?? [])
        if (ts.isSpreadElement(argument) && !isOwnArguments(argument)) found.push(argument);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function isOwnArguments({ expression, parent }: ts.SpreadElement): boolean {
  if (!ts.isIdentifier(expression)) return false;
  for (let around: ts.Node = parent; !ts.isSourceFile(around); around = around.parent)
    if (ts.isFunctionLike(around) && around.parameters.some((one) => isRest(one, expression.text)))
      return true;
  return false;
}

function isRest({ dotDotDotToken, name }: ts.ParameterDeclaration, text: string): boolean {
  return dotDotDotToken !== undefined && ts.isIdentifier(name) && name.text === text;
}
