/** True of a request id that a client chose, in SQL: one of ours is a UUIDv7, whose time tells which jobs it may have brought. */
export const isOwnRequestId = (column: string): string =>
  `${column} IS NOT NULL AND (length(${column}) <> 36 OR substr(${column}, 15, 1) <> '7')`
