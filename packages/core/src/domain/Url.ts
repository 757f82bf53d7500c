/**
 * Reads a URL; undefined for a text that is none. `URL.canParse` would do, but once a process has asked it often enough
 * to have it compiled, Node 20 takes the Latin-1 letters of a text for UTF-8, and refuses `https://bücher.example/`.
 */
export const parse = (text: string, base?: string): URL | undefined => {
  try {
    return new URL(text, base)
  } catch {
    return undefined
  }
}
