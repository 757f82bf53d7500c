/**
 * Reads a URL; undefined for any other text. Not by `URL.canParse`: once V8 has compiled it, Node 20 reads a text's
 * Latin-1 letters as UTF-8 and refuses `https://bücher.example/`.
 */
export const parse = (text: string, base?: string): URL | undefined => {
  try {
    return new URL(text, base)
  } catch {
    return undefined
  }
}
