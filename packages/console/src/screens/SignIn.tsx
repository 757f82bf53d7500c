import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { awaySince, type Problem, signIn } from "../base/api.ts"
import { isOfApp, valuesOf } from "../base/place.ts"
import { Code, Empty, Mark, Trouble } from "../ui/Parts.tsx"

/** A token is exchanged for a cookie that no script reads; the token itself is kept nowhere. */
export const SignIn = () => {
  const problem = useSignal<Problem | undefined>(undefined)
  const isBusy = useSignal(false)
  useEffect(() => {
    document.title = "Sign in · Sendwright"
  }, [])
  if (isOfApp)
    return (
      <main class="sign">
        <Empty title="You are signed in no longer">
          The app that this console is a part of says who may use it. Sign in there, then load this page
          again.
        </Empty>
      </main>
    )
  return (
    <main class="sign">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault()
          const { token = "" } = valuesOf(event.currentTarget)
          isBusy.value = true
          void signIn(token).then((refused) => {
            problem.value = refused
            isBusy.value = false
          })
        }}
      >
        <div class="brand">
          <Mark />
          Sendwright
        </div>
        <h1>Sign in</h1>
        <label class="field">
          <span>Your operator token</span>
          <input name="token" type="password" autocomplete="current-password" required spellcheck={false} />
        </label>
        {problem.value !== undefined && <Trouble problem={problem.value} />}
        {awaySince.value !== null && problem.value === undefined && (
          <p class="hint" role="alert">
            The host gives no answer.
          </p>
        )}
        <button type="submit" class="btn p" disabled={isBusy.value}>
          Sign in
        </button>
        <p class="hint">
          Each person has a token of their own:{" "}
          <Code>sendwright operators create --name ana --role support</Code> shows it once. The first is the
          host's <Code>ADMIN_TOKEN</Code>. It is kept in no script, and ends with the operator's revocation.
        </p>
      </form>
    </main>
  )
}
