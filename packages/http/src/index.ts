/** The API over an engine, for a server of one's own: as an `HttpApp`, and as a function of web-standard requests. */
export * from "./Bindings.ts"
