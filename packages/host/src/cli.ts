/** The command line `sendwright` as a library: for a program that gives it senders of its own. */
export * as Process from "./cli/Process.ts"
