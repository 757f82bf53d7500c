/** Measures of the source's shape, taken from TypeScript's syntax tree. */
import ts from "typescript"

export interface MeasuredFunction {
  /** Where it begins, and its name where it has one: `path:line name`. */
  readonly at: string
  readonly lines: number
  /** McCabe's: one, and one more for each branch, loop, `case`, `catch`, `&&`, `||`, `??` and `?:`. */
  readonly complexity: number
}

const lineAt = (file: ts.SourceFile, position: number): number =>
  file.getLineAndCharacterOfPosition(position).line + 1

const isFunction = (node: ts.Node): boolean =>
  ts.isFunctionLike(node) && "body" in node && node.body !== undefined

/** Reads the functions of one file, nested ones too. */
export const functionsOf = (path: string, text: string): ReadonlyArray<MeasuredFunction> => {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const found: Array<MeasuredFunction> = []
  /** Walks a node; gives the branches that belong to the function around it. */
  const walk = (node: ts.Node): number => {
    let branches = branchesAt(node)
    ts.forEachChild(node, (child) => {
      branches += walk(child)
    })
    if (!isFunction(node)) return branches
    const first = lineAt(file, node.getStart(file))
    const last = lineAt(file, node.getEnd())
    found.push({
      at: `${path}:${first} ${nameOf(node, file)}`,
      lines: last - first + 1,
      complexity: branches + 1
    })
    return 0
  }
  walk(file)
  return found
}

const nameOf = (node: ts.Node, file: ts.SourceFile): string => {
  for (let at = node; at.parent !== undefined && at.parent !== file; at = at.parent) {
    if ("name" in at && at.name !== undefined) return (at.name as ts.Node).getText(file)
    if (ts.isVariableDeclaration(at.parent) || ts.isPropertyAssignment(at.parent))
      return at.parent.name.getText(file)
  }
  return ""
}

const branchesAt = (node: ts.Node): number => {
  switch (node.kind) {
    case ts.SyntaxKind.IfStatement:
    case ts.SyntaxKind.ConditionalExpression:
    case ts.SyntaxKind.ForStatement:
    case ts.SyntaxKind.ForInStatement:
    case ts.SyntaxKind.ForOfStatement:
    case ts.SyntaxKind.WhileStatement:
    case ts.SyntaxKind.DoStatement:
    case ts.SyntaxKind.CaseClause:
    case ts.SyntaxKind.CatchClause:
    case ts.SyntaxKind.AmpersandAmpersandToken:
    case ts.SyntaxKind.BarBarToken:
    case ts.SyntaxKind.QuestionQuestionToken:
      return 1
    default:
      return 0
  }
}
