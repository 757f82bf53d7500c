/** What the API is: its operations, documents and refusals, for a command line and for clients. */
export * as AdminApi from "./api/AdminApi.ts"
export * as Api from "./api/Api.ts"
export * as Consents from "./api/Consents.ts"
export * as Operation from "./api/Operation.ts"
export * as Body from "./http/Body.ts"
export * as Description from "./http/Description.ts"
export * as Problems from "./http/Problems.ts"
export * as Route from "./http/Route.ts"
