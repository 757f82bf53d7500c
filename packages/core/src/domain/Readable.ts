/**
 * The readable parts of an input that has not its schema's shape. Members that cannot be read are left out, and items are
 * undefined, so that the others keep their places.
 */
export type Readable<A> = A extends string | number | boolean | null | undefined
  ? A
  : A extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Readable<Item> | undefined>
    : A extends object
      ? { readonly [Name in keyof A]?: Readable<A[Name]> | undefined }
      : unknown
