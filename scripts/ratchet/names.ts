import ts from 'typescript';

/** exportedNames lists the names that a file declares and exports, without those that it only passes on. */
export function exportedNames(file: ts.SourceFile): string[] {
  const listed = new Set(file.statements.flatMap(locallyListed));
  return [
    ...new Set(
      file.statements.flatMap((statement) => {
        const exported =
          ts.canHaveModifiers(statement) &&
          (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
        return declaredNames(statement).filter((name) => exported || listed.has(name));
      }),
    ),
  ];
}

/** locallyListed gives the names of `export { a, b }` without a file that they come from. */
function locallyListed(statement: ts.Statement): string[] {
  if (!ts.isExportDeclaration(statement) || statement.moduleSpecifier !== undefined) return [];
  const { exportClause } = statement;
  if (exportClause === undefined || !ts.isNamedExports(exportClause)) return [];
  return exportClause.elements.map(({ name, propertyName }) => (propertyName ?? name).text);
}

function declaredNames(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap(({ name }) =>
      ts.isIdentifier(name) ? [name.text] : [],
    );
  }
  const isNamed =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isEnumDeclaration(statement);
  return isNamed && statement.name !== undefined ? [statement.name.text] : [];
}
