/** The API without a server, for a command line and for clients: its description and its tools. */
export * as Api from "./api/Api.ts"
export * as McpProtocol from "./api/mcp/Protocol.ts"
export * as McpTools from "./api/mcp/Tools.ts"
export * as Body from "./http/Body.ts"
export * as Description from "./http/Description.ts"
