/** Where it begins: who is it, and which screen does the address name. */
import { render } from "preact"
import { awaySince, operator, whoAmI } from "./base/api.ts"
import { followLinks, path } from "./base/place.ts"
import { Access } from "./screens/Access.tsx"
import { Doubts } from "./screens/Doubts.tsx"
import { JobScreen } from "./screens/Job.tsx"
import { Jobs } from "./screens/Jobs.tsx"
import { MessageScreen } from "./screens/Message.tsx"
import { Now } from "./screens/Now.tsx"
import { People } from "./screens/People.tsx"
import { Schedule } from "./screens/Schedule.tsx"
import { Search } from "./screens/Search.tsx"
import { SessionScreen, Sessions } from "./screens/Sessions.tsx"
import { SignIn } from "./screens/SignIn.tsx"
import { Templates } from "./screens/Templates.tsx"
import { Usage } from "./screens/Usage.tsx"
import { Webhooks } from "./screens/Webhooks.tsx"
import { listen } from "./ui/Keys.ts"
import { Empty } from "./ui/Parts.tsx"
import { Shell } from "./ui/Shell.tsx"

const Nowhere = () => (
  <Empty title="There is no such screen.">Search for what you look for, or begin at Now.</Empty>
)

const ScreenOf = () => {
  const [screen = "", id, of] = path.value.split("/").map(decodeURIComponent)
  switch (screen) {
    case "":
      return <Now />
    case "search":
      return <Search />
    case "messages":
      return id === undefined ? <Search /> : <MessageScreen id={id} key={id} />
    case "jobs":
      return id === undefined ? <Jobs /> : <JobScreen id={id} key={id} />
    case "sessions":
      return id === undefined ? <Sessions /> : <SessionScreen id={id} key={id} />
    case "webhooks":
      return <Webhooks id={id} of={of} />
    case "people":
      return <People />
    case "schedule":
      return <Schedule />
    case "templates":
      return <Templates id={id} />
    case "doubts":
      return <Doubts />
    case "usage":
      return <Usage />
    case "access":
      return <Access />
    default:
      return <Nowhere />
  }
}

const Console = () => {
  if (operator.value === undefined)
    return (
      <main>
        <div class="waits" role="status" aria-label="Loading" />
        {awaySince.value !== null && <p>The host gives no answer. It is asked again every 2 seconds.</p>}
      </main>
    )
  if (operator.value === null) return <SignIn />
  return (
    <Shell>
      <ScreenOf />
    </Shell>
  )
}

const root = document.querySelector("#console")
if (root !== null) render(<Console />, root)
followLinks()
listen()

/** Until the host is there: it may start later than the page. */
const begin = async (): Promise<void> => {
  await whoAmI()
  if (operator.value === undefined) setTimeout(() => void begin(), 2000)
}
void begin()
