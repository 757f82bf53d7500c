/** Measures of the source's shape, taken from TypeScript's syntax tree. */
import ts from "typescript"

/** Opening words that stand for something the reader was not told yet. */
export const relativeOpenings: ReadonlyArray<string> = [
  "what",
  "whatever",
  "who",
  "whoever",
  "whom",
  "whose",
  "whether",
  "which",
  "that",
  "those",
  "they",
  "them",
  "it",
  "this is",
  "this was",
  "this has",
  "these are"
]

export interface MeasuredFunction {
  /** Where it begins, and its name where it has one: `path:line name`. */
  readonly at: string
  readonly lines: number
  /** McCabe's: one, and one more for each branch, loop, `case`, `catch`, `&&`, `||`, `??` and `?:`. */
  readonly complexity: number
}

export interface MeasuredComment {
  readonly at: string
  readonly text: string
  readonly relative: boolean
}

export interface Measures {
  readonly functions: ReadonlyArray<MeasuredFunction>
  readonly comments: ReadonlyArray<MeasuredComment>
}

/** Reads the functions (nested ones, too) and the comments of one file. */
export const measure = (path: string, text: string): Measures => {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  return { functions: functionsOf(file, path), comments: commentsOf(file, path) }
}

const lineAt = (file: ts.SourceFile, position: number): number =>
  file.getLineAndCharacterOfPosition(position).line + 1

const isFunction = (node: ts.Node): boolean =>
  ts.isFunctionLike(node) && "body" in node && node.body !== undefined

const functionsOf = (file: ts.SourceFile, path: string): ReadonlyArray<MeasuredFunction> => {
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

/** Finds each block comment, and each run of `//` lines as one. Comment signs inside a literal are text. */
const commentsOf = (file: ts.SourceFile, path: string): ReadonlyArray<MeasuredComment> => {
  const text = file.text
  const literals = literalsOf(file)
  const found: Array<MeasuredComment> = []
  const pattern = /\/\*[\s\S]*?\*\/|\/\/.*(?:\n[ \t]*\/\/.*)*/g
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const literal = literals.find(([start, end]) => start <= match.index && match.index < end)
    if (literal !== undefined) {
      pattern.lastIndex = literal[1]
      continue
    }
    const words = match[0].replace(/^\/[/*]+[\s*]*/, "").replace(/\s*\*\/$/, "")
    found.push({
      at: `${path}:${lineAt(file, match.index)}`,
      text: words,
      relative: opensRelatively(words)
    })
  }
  return found
}

const literalsOf = (file: ts.SourceFile): ReadonlyArray<readonly [start: number, end: number]> => {
  const found: Array<readonly [number, number]> = []
  const walk = (node: ts.Node): void => {
    if (ts.isLiteralExpression(node) || ts.isTemplateMiddleOrTemplateTail(node) || ts.isTemplateHead(node))
      found.push([node.getStart(file), node.getEnd()])
    ts.forEachChild(node, walk)
  }
  walk(file)
  return found
}

const opening = new RegExp(`^(?:${relativeOpenings.join("|")})(?![\\w-])`, "i")

export const opensRelatively = (comment: string): boolean => opening.test(comment.trim())
