/** What the API is: its description and its tools, for a command line and for clients. */
export * as Api from "./api/Api.ts"
export * as McpProtocol from "./api/mcp/Protocol.ts"
export * as McpTools from "./api/mcp/Tools.ts"
export * as Body from "./http/Body.ts"
export * as Description from "./http/Description.ts"
