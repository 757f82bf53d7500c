import * as Memory from "../../../src/storage/sqlite/Memory.ts"
import * as StorageSuite from "../../StorageSuite/index.ts"

StorageSuite.suite("memory", Memory.layer)
