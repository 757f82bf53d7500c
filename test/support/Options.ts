/** Reads the options of a command line, and refuses values that an option does not take. */

/** A whole number of at least `least`; `otherwise` where the option is not given. */
export const wholeNumber = (
  option: string,
  text: string | undefined,
  otherwise: number,
  least: 0 | 1 = 1
): number => {
  const number = text === undefined ? otherwise : Number(text)
  if (text?.trim() !== "" && Number.isSafeInteger(number) && number >= least) return number
  throw new Error(`--${option} must be a whole number of at least ${least}; it is ${JSON.stringify(text)}.`)
}

/** One of the names; several of them may be the same. */
export const oneOf = <Name extends string>(
  option: string,
  names: ReadonlyArray<Name>,
  text: string
): Name => {
  const found = names.find((name) => name === text)
  if (found !== undefined) return found
  throw new Error(
    `--${option} must be one of ${[...new Set(names)].join(", ")}; it is ${JSON.stringify(text)}.`
  )
}
