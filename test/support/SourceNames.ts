/** The names that a file of source gives, taken from TypeScript's syntax tree. */
import ts from "typescript"

export interface GivenName {
  /** Where it is given: `path:line`. */
  readonly at: string
  readonly name: string
}

/**
 * Reads the names that a file gives: of variables, parameters, functions, types, members and aliases of imports. A member
 * that is written or taken apart in short has the name of another, and is not among them.
 */
export const givenNames = (path: string, text: string): ReadonlyArray<GivenName> => {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const found: Array<GivenName> = []
  const walk = (node: ts.Node): void => {
    const name = givenBy(node)
    if (name !== undefined)
      found.push({
        at: `${path}:${file.getLineAndCharacterOfPosition(name.getStart(file)).line + 1}`,
        name: name.text
      })
    ts.forEachChild(node, walk)
  }
  walk(file)
  return found
}

const givenBy = (node: ts.Node): ts.Identifier | undefined => {
  if (ts.isImportSpecifier(node) || ts.isExportSpecifier(node) || ts.isBindingElement(node)) {
    if (node.propertyName === undefined) return undefined
    return ts.isIdentifier(node.name) ? node.name : undefined
  }
  const named =
    ts.isVariableDeclaration(node) ||
    ts.isParameter(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isNamespaceImport(node) ||
    ts.isNamespaceExport(node) ||
    ts.isTypeElement(node) ||
    ts.isClassElement(node) ||
    ts.isPropertyAssignment(node)
  if (!named || node.name === undefined) return undefined
  return ts.isIdentifier(node.name) ? node.name : undefined
}
