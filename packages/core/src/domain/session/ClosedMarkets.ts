/**
 * Markets to which a platform delivers nothing of a category (contract.md §11). A message to one is not attempted: it ends as
 * a refusal of the platform would end it. What is closed is data with a date, and a session may say otherwise.
 */

import * as Address from "../Address.ts"
import * as Fault from "../Fault.ts"
import type { Failure } from "../job/Recipient.ts"
import * as Memo from "../Memo.ts"
import type { Readable } from "../Readable.ts"
import type { Category } from "../template/Template.ts"
import * as FailureCatalogue from "./FailureCatalogue.ts"

export interface ClosedMarket {
  readonly category: Category
  /** Calling codes, and the first digits of the market's numbers. */
  readonly prefixes: ReadonlyArray<string>
}

/** The area codes of the United States in +1, as libphonenumber 1.13.16 for JavaScript has them. */
const areaCodes =
  "201 202 203 205 206 207 208 209 210 212 213 214 215 216 217 218 219 220 223 224 225 227 228 229 231 234 235 239 " +
  "240 248 251 252 253 254 256 260 262 267 269 270 272 274 276 279 281 283 301 302 303 304 305 307 308 309 310 312 " +
  "313 314 315 316 317 318 319 320 321 323 324 325 326 327 329 330 331 332 334 336 337 339 341 346 347 350 351 352 " +
  "353 360 361 363 364 369 380 385 386 401 402 404 405 406 407 408 409 410 412 413 414 415 417 419 423 424 425 430 " +
  "432 434 435 440 442 443 445 447 448 458 463 464 469 470 472 475 478 479 480 484 501 502 503 504 505 507 508 509 " +
  "510 512 513 515 516 517 518 520 530 531 534 539 540 541 551 557 559 561 562 563 564 567 570 571 572 573 574 575 " +
  "580 582 585 586 601 602 603 605 606 607 608 609 610 612 614 615 616 617 618 619 620 623 626 628 629 630 631 636 " +
  "640 641 645 646 650 651 656 657 659 660 661 662 667 669 678 680 681 682 686 689 701 702 703 704 706 707 708 712 " +
  "713 714 715 716 717 718 719 720 724 725 726 727 728 730 731 732 734 737 738 740 743 747 748 754 757 760 762 763 " +
  "765 769 770 771 772 773 774 775 779 781 785 786 801 802 803 804 805 806 808 810 812 813 814 815 816 817 818 820 " +
  "821 826 828 830 831 832 835 838 839 840 843 845 847 848 850 854 856 857 858 859 860 862 863 864 865 870 872 878 " +
  "901 903 904 906 907 908 909 910 912 913 914 915 916 917 918 919 920 925 928 929 930 931 934 936 937 938 940 941 " +
  "943 945 947 948 949 951 952 954 956 959 970 971 972 973 975 978 979 980 983 984 985 986 989"

/** The day on which the list below was last read. */
export const asOf = "2026-11-25"

/** Of WhatsApp: marketing to the United States, since 2025-04-01 (contract.md §W1.12). Canada and the Caribbean are open. */
export const whatsApp: ReadonlyArray<ClosedMarket> = [
  { category: "marketing", prefixes: areaCodes.split(" ").map((area) => `1${area}`) }
]

/** A session has no more. */
export const maximum = 50
export const maximumPrefixes = 1000
export const prefixForm = /^[1-9]\d{0,14}$/

/** The faults of a session's own list, as far as it can be read. */
export const faults = (
  markets: ReadonlyArray<Readable<ClosedMarket> | undefined>
): ReadonlyArray<Fault.Fault> => {
  const found = new Fault.Faults()
  if (markets.length > maximum) {
    found.add(["closed_markets"], "out_of_range", `\`closed_markets\` must be at most ${maximum} items.`)
    return found.list
  }
  for (const [at, market] of markets.entries()) {
    const prefixes = market?.prefixes
    if (prefixes === undefined) continue
    const path = ["closed_markets", at, "prefixes"]
    if (prefixes.length === 0 || prefixes.length > maximumPrefixes) {
      found.add(path, "out_of_range", `\`prefixes\` must be 1 to ${maximumPrefixes} items.`)
      continue
    }
    for (const [place, prefix] of prefixes.entries()) {
      if (prefix === undefined || prefixForm.test(prefix)) continue
      const message = "A prefix is a calling code in digits, with the first digits of the market's numbers."
      found.add([...path, place], "invalid_value", message)
    }
  }
  return found.list
}

const indexOf = Memo.ofObject((markets: ReadonlyArray<ClosedMarket>) => {
  const byCategory = new Map<string, Set<string>>()
  for (const { category, prefixes } of markets) {
    const known = byCategory.get(category) ?? new Set()
    for (const prefix of prefixes) known.add(prefix)
    byCategory.set(category, known)
  }
  return byCategory
})

export type IsClosed = (address: Address.Address) => boolean

/** Where nothing is closed. */
export const nobody: IsClosed = () => false

/** Whether somebody is in a market that is closed for the category. */
export const closedFor = (markets: ReadonlyArray<ClosedMarket>, category: string): IsClosed => {
  const closed = indexOf(markets).get(category)
  if (closed === undefined) return nobody
  return (address) => {
    const phone = Address.numberOf(address)
    for (let length = 1; length <= phone.length; length++) if (closed.has(phone.slice(0, length))) return true
    return false
  }
}

/** Of a recipient that is not attempted. */
export const failure: Failure = FailureCatalogue.failure("country_restricted", { providerCode: null })
