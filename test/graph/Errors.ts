/** The bodies that the platform documents for what it refuses. */
import { randomBytes } from "node:crypto"

const titles: ReadonlyMap<number, string> = new Map([
  [0, "AuthException"],
  [1, "API Unknown"],
  [2, "API Service"],
  [3, "API Method"],
  [4, "API Too Many Calls"],
  [10, "Permission Denied"],
  [12, "Deprecated method"],
  [17, "User request limit reached"],
  [32, "Page request limit reached"],
  [33, "Parameter value is not valid"],
  [100, "Invalid parameter"],
  [104, "An access token is required to request this resource."],
  [190, "Access token has expired"],
  [368, "Temporarily blocked for policies violations"],
  [803, "Some of the aliases you requested do not exist"],
  [2500, "Unknown path components"],
  [2635, "You are calling a deprecated version of the Ads API"],
  [613, "Calls to this api have exceeded the rate limit."],
  [80007, "Rate limit issues"],
  [130403, "User is blocked"],
  [130429, "Rate limit hit"],
  [130472, "User's number is part of an experiment"],
  [130497, "Business account is restricted from messaging users in this country."],
  [131000, "Something went wrong"],
  [131005, "Access denied"],
  [131008, "Required parameter is missing"],
  [131009, "Parameter value is not valid"],
  [131016, "Service unavailable"],
  [131021, "Recipient cannot be sender"],
  [131026, "Message undeliverable"],
  [131030, "Recipient phone number not in allowed list"],
  [131031, "Business Account locked"],
  [131037, "Display name approval needed"],
  [131042, "Business eligibility payment issue"],
  [131045, "Incorrect certificate"],
  [131047, "Re-engagement message"],
  [131048, "Spam rate limit hit"],
  [131049, "This message was not delivered to maintain healthy ecosystem engagement."],
  [131050, "User has stopped marketing messages from your business"],
  [131052, "Media download error"],
  [131053, "Media upload error"],
  [131055, "Method not allowed"],
  [131056, "(Business Account, Consumer Account) pair rate limit hit"],
  [131057, "Business Account is in maintenance mode"],
  [131062, "Business-scoped user id recipients are not supported for this message"],
  [131064, "Messaging limit lowered for category violations"],
  [132000, "Number of parameters does not match the expected number of params"],
  [132001, "Template name does not exist in the translation"],
  [132005, "Translated text too long"],
  [132007, "Template Format Character Policy Violated"],
  [132012, "Parameter format does not match format in the created template"],
  [132015, "Template is paused"],
  [132016, "Template is disabled"],
  [132018, "There is an issue with the parameters in the template"],
  [132068, "Flow is in blocked state"],
  [132069, "Flow is in throttled state"],
  [133004, "Server Temporarily Unavailable"],
  [133010, "Phone number not registered"],
  [133015, "Please wait a few minutes before attempting to register this phone number"],
  [133016, "Account register deregister rate limit exceeded"],
  [134011, "Terms of service has not been accepted"],
  [134100, "Only marketing messages supported"],
  [134101, "Template is syncing"],
  [134102, "Template unavailable for use"],
  [135000, "Generic user error"]
])

/** Codes 200 to 299 are one class and share their title. */
export const titleOf = (code: number): string =>
  titles.get(code) ?? (code >= 200 && code <= 299 ? "API Permission" : "Generic error")

const statuses: ReadonlyMap<number, number> = new Map([
  [190, 401],
  [4, 429],
  [17, 429],
  [32, 429],
  [613, 429],
  [80007, 429],
  [130429, 429],
  [131048, 429],
  [131056, 429],
  [1, 500],
  [131000, 500],
  [2, 503],
  [131016, 503],
  [131057, 503]
])

/** The HTTP status that a code usually comes with. */
export const statusOf = (code: number): number => statuses.get(code) ?? 400

const trace = (): string => randomBytes(9).toString("base64url")

/** What is answered to a message that is refused. */
export const refused = (code: number, details = titleOf(code)): object => ({
  error: {
    message: `(#${code}) ${titleOf(code)}`,
    type: "OAuthException",
    code,
    error_data: { messaging_product: "whatsapp", details },
    fbtrace_id: trace()
  }
})

/** What Graph itself answers, before the call has come to anything of this platform. */
export const general = (code: number, message: string): object => ({
  error: { message, type: "OAuthException", code, fbtrace_id: trace() }
})

/** The error of a failed status, which is shaped otherwise than that of an answer. */
export const reported = (code: number, details = titleOf(code)): object => ({
  code,
  title: titleOf(code),
  message: titleOf(code),
  error_data: { details },
  href: "https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/"
})
