/** The acts that are open for one message now, and why others are not. */
import * as Erasure from "../Erasure.ts"
import type { Job, RecipientResult } from "./Job.ts"
import * as Jobs from "./Job.ts"
import * as Recipient from "./Recipient.ts"
import * as RetrySelection from "./RetrySelection.ts"
import * as Transitions from "./Transitions.ts"

export const actions = ["wait", "retry", "cancel"] as const

export interface Next {
  readonly action: (typeof actions)[number]
  readonly allowed: boolean
  readonly why: string
}

interface Given {
  readonly job: Job
  readonly recipient: RecipientResult
  /** Why it waits, in words; null where it does not. */
  readonly waits: string | null
}

const yes = (action: Next["action"], why: string): Next => ({ action, allowed: true, why })
const no = (action: Next["action"], why: string): Next => ({ action, allowed: false, why })

const wait = ({ recipient: { failure, status }, waits }: Given): Next => {
  switch (status) {
    case "queued":
    case "sending":
      return yes("wait", waits ?? "It is under way.")
    case "accepted":
      return yes("wait", failure?.message ?? "The platform has it, and has reported nothing of it yet.")
    case "sent":
      return yes("wait", "The platform has sent it, and has not reported its delivery yet.")
    case "unknown":
      return yes("wait", "A receipt of the platform would settle it.")
    case "delivered":
      return yes("wait", "It arrived, and may still be read.")
    default:
      return no("wait", "Nothing more comes of it by itself.")
  }
}

const obstacles = {
  canceled: "Its job was canceled, which is final.",
  content_expired: "What it said is kept no longer."
} as const

const retry = ({ job, recipient }: Given): Next => {
  const { address, failure, status } = recipient
  if (!Jobs.isTemplateJob(job)) return no("retry", "A direct message is sent anew, as another message.")
  if (!Recipient.isRetryable(status))
    return no("retry", "Only what has failed, or whose outcome is unknown, is sent again.")
  const obstacle = Jobs.retryObstacle(job)
  if (obstacle !== null) return no("retry", obstacles[obstacle])
  if (Erasure.isErased(address)) return no("retry", "The person was erased.")
  if (RetrySelection.judge({})(recipient) === "chosen")
    return yes("retry", "An operator's retry of its job sends it again.")
  return status === "unknown"
    ? yes(
        "retry",
        "Only when a retry names the status `unknown`: the platform may have it, and it may arrive twice."
      )
    : yes(
        "retry",
        `Only when a retry names its code (${failure?.code ?? "none"}) or its phone: unchanged it fails again.`
      )
}

const cancel = ({ job, recipient }: Given): Next => {
  if (!Jobs.isTemplateJob(job)) return no("cancel", "A direct message cannot be canceled.")
  if (Jobs.hasEnded(job.status)) return no("cancel", "Its job has ended.")
  if (job.status === "canceling") return no("cancel", "Its job is being canceled.")
  if (Recipient.leftDispatch(recipient.status))
    return no("cancel", "It has left dispatch: only what waits is canceled.")
  return Transitions.inFlight(recipient)
    ? no("cancel", "It is in flight: only what waits of its job would be canceled.")
    : yes("cancel", "It is canceled with all else of its job that waits.")
}

export const nextStepsOf = (given: Given): ReadonlyArray<Next> => [wait(given), retry(given), cancel(given)]
