import type { NextConfig } from "next"

// Nothing of Sendwright is needed here: it may be bundled, also several times.
const config: NextConfig = {
  // The types are checked with those of the repository.
  typescript: { ignoreBuildErrors: true }
}

export default config
