import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Keywords from "../../../src/domain/consent/Keywords.ts"

const optOut = Object.values(Keywords.defaults.optOut).flat()
const optIn = Object.values(Keywords.defaults.optIn).flat()

describe("a keyword", () => {
  it("of the default lists is read as what it is, in eleven languages", () => {
    expect(Object.keys(Keywords.defaults.optOut)).toHaveLength(11)
    expect(optOut.filter((word) => Keywords.read(word) !== "revoked")).toEqual([])
    expect(optIn.filter((word) => Keywords.read(word) !== "granted")).toEqual([])
  })

  it("of contract.md §9 is still one", () => {
    const eight = ["STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT"]
    expect(eight.map((word) => Keywords.read(word))).toEqual(Array(8).fill("revoked"))
    expect(["START", "YES", "UNSTOP"].map((word) => Keywords.read(word))).toEqual(Array(3).fill("granted"))
  })

  it("is in one list only, over all languages, and no longer than a session's may be", () => {
    const out = new Set(optOut.map(Keywords.fold))
    expect(optIn.filter((word) => out.has(Keywords.fold(word)))).toEqual([])
    expect([...optOut, ...optIn].filter((word) => [...word].length > Keywords.maximumLength)).toEqual([])
  })

  it.each([
    "stop",
    " Stop. ",
    "¡STOP!",
    "“stop”",
    "‹stop›",
    "ＳＴＯＰ",
    "S\u200bTOP\ufeff",
    "\u202estop\u202c",
    "stop 🛑",
    "STOP STOP STOP",
    "Stop\tpromotions",
    "opt-out",
    "İPTAL",
    "IPTAL",
    "ıptal",
    "ÇIK",
    "çık",
    "SCHLUẞ",
    "schluß",
    "SCHLUSS",
    "KUNDIGEN",
    "Kündigen",
    "désabonner",
    "de\u0301sabonner",
    "DESABONNER",
    "تَوَقَّفْ",
    "توقـــف",
    "الغاء الإشتراك",
    "إلغاء الاشتراك؟",
    "बंद करें।",
    "baja"
  ])("is read in %j however it is written", (text) => {
    expect(Keywords.read(text)).toBe("revoked")
  })

  it.each([
    "",
    " ",
    "?",
    "🛑",
    "stop sign",
    "please cancel my order",
    "sí",
    "si",
    "ok",
    "no",
    "fine",
    "red",
    "oui",
    "ja",
    "da",
    "started",
    "restart",
    "St op"
  ])("is not read in %j", (text) => {
    expect(Keywords.read(text)).toBeUndefined()
  })

  it("is found whatever text comes, and folding twice changes nothing", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ unit: "binary" }), (text) => {
        Keywords.read(text)
        expect(Keywords.fold(Keywords.fold(text))).toBe(Keywords.fold(text))
      })
    )
  })

  it.each([
    "unsubscribe please",
    "Please, unsubscribe!",
    "bitte abmelden",
    "Bitte abmelden, danke",
    "Hallo, bitte abmelden. Vielen Dank",
    "baja por favor",
    "stop svp",
    "Bonjour, arrêtez s'il vous plaît. Merci",
    "stop a.u.b.",
    "por favor parar, obrigado",
    "grazie, basta messaggi",
    "من فضلك إلغاء الاشتراك",
    "कृपया बंद करें",
    "tolong berhenti, terima kasih",
    "lütfen durdur",
    "STOPPP",
    "stoppppp",
    "STOPPP pleaseee",
    "unsubscribeee me",
    "STOPP STOPPP stop",
    "ENDDD",
    "finnnn",
    "quittt",
    "unsubb"
  ])("to opt out by has words of courtesy around it, and its last letter repeated: %j", (text) => {
    expect(Keywords.read(text)).toBe("revoked")
  })

  it.each([
    "please",
    "thanks",
    "can you stop the order",
    "Stopwatch",
    "sstop",
    "please start",
    "yes please",
    "STARTTT",
    "bitte",
    "Finn",
    "Thanks Finn",
    "quitt",
    "rett",
    "stop by tomorrow, please",
    "110"
  ])("is not read in %j", (text) => {
    expect(Keywords.read(text)).toBeUndefined()
  })

  it("begins a label as a word of its own", () => {
    const begins = ["Unsubscribe from Promos", "STOP", "stop: all of it", "Darme de baja ya", "Abmelden!"]
    expect(begins.filter((label) => !Keywords.beginsWithRefusal(label))).toEqual([])
    const others = ["Stopwatch", "Do not stop", "Endless fun", "", "🛒", "Yes, unsubscribe me"]
    expect(others.filter((label) => Keywords.beginsWithRefusal(label))).toEqual([])
  })

  it("is found among others, in a text of any length", () => {
    const texts = ["can you stop the order", "I want to opt out of this", `${"x ".repeat(2000)}stop`]
    expect(texts.filter((text) => !Keywords.mentionsRefusal(text))).toEqual([])
    const others = ["Where is my parcel?", "Stopwatch", "", `${"x ".repeat(3000)}stop`]
    expect(others.filter((text) => Keywords.mentionsRefusal(text))).toEqual([])
    const own = { optOut: ["adiós amigos"], optIn: null }
    expect(["stop now", "well, adios amigos!"].map((text) => Keywords.mentionsRefusal(text, own))).toEqual([
      false,
      true
    ])
  })

  it("is perhaps meant by a sentence that asks not to be written to, and by a word that is spelled otherwise", () => {
    const texts = [
      "please don't text me",
      "Please do not send me any more of these messages",
      "I don’t want these anymore, no more msgs, I do not want your messages",
      "Leave me alone!",
      "I'm not interested",
      "take me off your list",
      "ne plus recevoir",
      "Je ne veux plus recevoir vos messages",
      "merci de ne pas m'écrire",
      "unsuscribe",
      "unsubcribe me from this",
      "Please unsubsrcibe",
      "s t o p",
      "S.T.O.P",
      "please S-T-O-P now",
      "No quiero recibir más mensajes",
      "por favor no me escriban más",
      "não quero receber mensagens",
      "Bitte schreiben Sie mir nicht, ich will keine Nachrichten",
      "Ich möchte keine Werbung mehr erhalten",
      "non voglio più ricevere messaggi",
      "ik wil geen berichten ontvangen",
      "لا أريد رسائل",
      "मुझे मैसेज मत भेजो",
      "jangan kirim pesan ke saya",
      "lütfen mesaj atmayın"
    ]
    expect(
      texts.filter((text) => Keywords.read(text) === undefined && !Keywords.mentionsRefusal(text))
    ).toEqual([])
    const others = [
      "Where is my parcel?",
      "Did you get it?",
      "a b c",
      "I am so happy with the subscription",
      "When do you open on Sunday?",
      "Quiero recibir el catálogo",
      "Merci beaucoup, à demain",
      "Vielen Dank für die schnelle Antwort"
    ]
    expect(others.filter((text) => Keywords.mentionsRefusal(text))).toEqual([])
  })

  it("is looked for in a time that grows with the text and no faster", () => {
    const hostile = [
      "please ".repeat(90),
      "p".repeat(640),
      "stop ".repeat(800),
      "opt ".repeat(1000),
      "unsubscrib ".repeat(372),
      "don't ".repeat(680),
      "s ".repeat(2048)
    ]
    for (const text of hostile) {
      Keywords.read(text)
      Keywords.mentionsRefusal(text)
      Keywords.beginsWithRefusal(text)
    }
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ unit: "grapheme", maxLength: 200 }), (text) => {
        if (Keywords.read(text) === "revoked") expect(Keywords.mentionsRefusal(text)).toBe(true)
        if (Keywords.beginsWithRefusal(text)) expect(Keywords.mentionsRefusal(text)).toBe(true)
      })
    )
  })

  it("of a session's own list counts instead of the default ones, each list for itself", () => {
    const keywords = { optOut: ["¡Adiós!"], optIn: null }
    expect(Keywords.read("adios", keywords)).toBe("revoked")
    expect(Keywords.read("STOP", keywords)).toBeUndefined()
    expect(Keywords.read("START", keywords)).toBe("granted")
  })

  it("is found among any white space around it", () => {
    expect(Keywords.read(`${" ".repeat(700)}STOP${"\n".repeat(700)}`)).toBe("revoked")
    expect(Keywords.read(`STOP${" x".repeat(700)}`)).toBeUndefined()
  })

  it("to opt out by is needed: an empty list is refused, and one to opt in by is not", () => {
    expect(Keywords.faults({ optOut: [], optIn: null }).map(({ path }) => path)).toEqual([
      ["keywords", "opt_out"]
    ])
    expect(Keywords.faults({ optOut: null, optIn: [] })).toEqual([])
  })

  it("of a session's own list is refused where it is blank, too long, in both lists or one too many", () => {
    const faults = (optOut: ReadonlyArray<string> | null, optIn: ReadonlyArray<string> | null) =>
      Keywords.faults({ optOut, optIn }).map(({ path }) => path.join("/"))
    expect(faults(["ok", "?!", "x".repeat(41)], null)).toEqual(["keywords/opt_out/1", "keywords/opt_out/2"])
    expect(faults(null, ["Stop"])).toEqual(["keywords"])
    expect(faults(["x"], ["X."])).toEqual(["keywords"])
    expect(
      faults(
        Array.from({ length: 201 }, (_, n) => `w${n}`),
        null
      )
    ).toEqual(["keywords/opt_out"])
    expect(faults(["🛑x".repeat(20)], ["go"])).toEqual([])
  })
})
