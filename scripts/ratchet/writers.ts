import ts from 'typescript';

const MODULE = /^(node:)?fs(\/promises)?$/;

/** Of the file system's functions these change nothing on disk; whatever else is taken may. */
const READERS = new Set([
  ...['access', 'accessSync', 'constants', 'createReadStream', 'existsSync', 'lstat', 'lstatSync', 'opendir'],
  ...['readdir', 'readdirSync', 'readFile', 'readFileSync', 'readlink', 'readlinkSync', 'realpath'],
  ...['realpathSync', 'stat', 'statSync', 'Stats', 'FileHandle', 'Dirent'],
]);

/** writersOf names what a file takes of the file system that may write, and `*` where it takes all of it. */
export function writersOf(file: ts.SourceFile): string[] {
  return file.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) return [];
    if (!MODULE.test(statement.moduleSpecifier.text)) return [];
    const { name, namedBindings } = statement.importClause ?? {};
    if (name !== undefined || namedBindings === undefined || ts.isNamespaceImport(namedBindings))
      return ['*'];
    return namedBindings.elements
      .map((element) => (element.propertyName ?? element.name).text)
      .filter((taken) => !READERS.has(taken));
  });
}
