/**
 * Words by which a person withdraws or gives consent in an inbound text (decisions.md §10). A word must be the whole
 * text. A session may have lists of its own. Opt-out words are generous, since a message too few does no harm; opt-in
 * words are only those that nobody writes in ordinary talk. YES is one because decisions.md §9 says so.
 */

import * as Schema from "effect/Schema"
import * as Fault from "../Fault.ts"
import * as Memo from "../Memo.ts"
import * as Text from "../Text.ts"
import type { Status } from "./Consent.ts"

/** A session's words; null = those of {@link defaults}. */
export interface Keywords {
  readonly opt_out: ReadonlyArray<string> | null
  readonly opt_in: ReadonlyArray<string> | null
}

export const standard: Keywords = { opt_out: null, opt_in: null }

/**
 * A session's words as stored. An older version accepted an empty opt-out list, which is refused today. Such a list
 * means the default words, because everybody must be able to opt out.
 */
export const stored = (given: Keywords): Keywords =>
  given.opt_out?.length === 0 ? { ...given, opt_out: null } : given

/** Words of a list, and code points of a word. */
export const maximumWords = 200
export const maximumLength = 40

const optOut: Readonly<Record<string, ReadonlyArray<string>>> = {
  English: [
    "STOP",
    "STOPALL",
    "UNSUBSCRIBE",
    "CANCEL",
    "END",
    "QUIT",
    "REVOKE",
    "OPTOUT",
    "opt out",
    "stop all",
    "stop it",
    "stop please",
    "please stop",
    "stop messages",
    "stop messaging me",
    "stop texting me",
    "stop promotions",
    "stop marketing",
    "stop offers",
    "unsub",
    "unsubscribe me",
    "remove",
    "remove me",
    "no more messages",
    "do not contact me",
    "don't contact me"
  ],
  Spanish: [
    "parar",
    "pare",
    "para ya",
    "baja",
    "dar de baja",
    "darme de baja",
    "darse de baja",
    "cancelar",
    "cancela",
    "cancelar suscripción",
    "anular",
    "anular suscripción",
    "desuscribir",
    "desuscribirme",
    "desuscribirse",
    "eliminar",
    "borrar",
    "salir",
    "fin",
    "alto",
    "basta",
    "detener",
    "detener promociones",
    "terminar",
    "revocar",
    "no más",
    "no más mensajes",
    "no quiero más mensajes",
    "no molestar"
  ],
  Portuguese: [
    "parar",
    "pare",
    "sair",
    "sair da lista",
    "cancelar",
    "cancele",
    "cancelar inscrição",
    "cancelar assinatura",
    "descadastrar",
    "desinscrever",
    "desinscrever-me",
    "remover",
    "encerrar",
    "fim",
    "revogar",
    "interromper",
    "parar promoções",
    "interromper promoções",
    "não quero mais",
    "não quero mais mensagens",
    "chega"
  ],
  French: [
    "arrêt",
    "arrêter",
    "arrête",
    "arrêtez",
    "désabonner",
    "désabonnez-moi",
    "désabonnement",
    "me désabonner",
    "se désabonner",
    "désinscrire",
    "désinscription",
    "me désinscrire",
    "se désinscrire",
    "annuler",
    "résilier",
    "quitter",
    "supprimer",
    "révoquer",
    "retirer",
    "fin",
    "stop pub",
    "stop sms",
    "stop promotions",
    "arrêter les promotions",
    "plus de messages"
  ],
  German: [
    "stopp",
    "stoppen",
    "abmelden",
    "abmeldung",
    "abbestellen",
    "abbrechen",
    "austragen",
    "kündigen",
    "kuendigen",
    "beenden",
    "ende",
    "aufhören",
    "aufhoeren",
    "widerruf",
    "widerrufen",
    "löschen",
    "loeschen",
    "schluss",
    "schluß",
    "werbung stoppen",
    "angebote stoppen",
    "keine werbung",
    "keine nachrichten",
    "keine nachrichten mehr"
  ],
  Italian: [
    "ferma",
    "fermati",
    "fermare",
    "disiscrivi",
    "disiscrivimi",
    "disiscriviti",
    "disiscrizione",
    "disiscrivermi",
    "annulla",
    "annulla iscrizione",
    "annullare",
    "cancella",
    "cancellami",
    "cancellare",
    "cancellazione",
    "cancella iscrizione",
    "rimuovi",
    "rimuovimi",
    "disattiva",
    "revoca",
    "esci",
    "interrompi",
    "interrompi promozioni",
    "basta messaggi",
    "niente più messaggi"
  ],
  Dutch: [
    "stoppen",
    "afmelden",
    "afmelding",
    "meld me af",
    "uitschrijven",
    "schrijf me uit",
    "opzeggen",
    "annuleren",
    "beëindigen",
    "einde",
    "verwijderen",
    "verwijder mij",
    "intrekken",
    "promoties stoppen",
    "geen berichten",
    "geen berichten meer"
  ],
  Arabic: [
    "توقف",
    "توقفوا",
    "أوقف",
    "أوقفوا",
    "إيقاف",
    "وقف",
    "قف",
    "إلغاء",
    "الغاء",
    "إلغاء الاشتراك",
    "ألغ الاشتراك",
    "إلغاء اشتراك",
    "إنهاء",
    "انسحاب",
    "خروج",
    "حذف",
    "كفى",
    "إيقاف الرسائل",
    "إيقاف العروض",
    "إيقاف العروض الترويجية",
    "لا مزيد من الرسائل"
  ],
  Hindi: [
    "रोकें",
    "रोको",
    "रोक दें",
    "रोक दो",
    "रुकें",
    "रुको",
    "रुक जाओ",
    "बंद",
    "बन्द",
    "बंद करें",
    "बंद करो",
    "बंद कर दो",
    "बन्द करें",
    "बन्द करो",
    "रद्द",
    "रद्द करें",
    "रद्द करो",
    "समाप्त",
    "समाप्त करें",
    "हटाएं",
    "हटाएँ",
    "हटाओ",
    "सदस्यता समाप्त करें",
    "सदस्यता रद्द करें",
    "अनसब्सक्राइब",
    "स्टॉप",
    "प्रमोशन बंद करें",
    "band karo",
    "band kare",
    "roko"
  ],
  Indonesian: [
    "berhenti",
    "berhenti berlangganan",
    "hentikan",
    "hentikan promosi",
    "setop",
    "batal",
    "batalkan",
    "batal langganan",
    "keluar",
    "akhiri",
    "hapus",
    "cabut",
    "unreg",
    "jangan kirim lagi",
    "jangan hubungi saya"
  ],
  Turkish: [
    "dur",
    "durdur",
    "durdurun",
    "iptal",
    "iptal et",
    "çık",
    "çıkış",
    "ayrıl",
    "abonelikten çık",
    "aboneliği iptal et",
    "üyelikten çık",
    "üyeliği iptal et",
    "ret",
    "bitir",
    "sonlandır",
    "promosyonları durdur",
    "mesaj istemiyorum",
    "mesaj gönderme"
  ]
}

const optIn: Readonly<Record<string, ReadonlyArray<string>>> = {
  English: ["START", "YES", "UNSTOP", "opt in", "optin", "subscribe", "resubscribe"],
  Spanish: ["iniciar suscripción", "suscribir", "suscribirme", "suscribirse"],
  Portuguese: ["inscrever", "inscrever-me", "me inscrever", "quero me inscrever"],
  French: ["s'abonner", "m'abonner", "abonnez-moi", "réabonner", "s'inscrire", "m'inscrire"],
  German: ["anmelden", "abonnieren", "wieder anmelden"],
  Italian: ["iscrivimi", "iscriviti", "iscrivermi", "abbonami"],
  Dutch: ["aanmelden", "inschrijven", "abonneren", "meld me aan"],
  Arabic: ["اشترك", "إعادة الاشتراك"],
  Hindi: ["सदस्यता लें", "सब्सक्राइब", "सब्सक्राइब करें"],
  Indonesian: ["berlangganan", "mulai berlangganan"],
  Turkish: ["abone ol", "abonelik başlat", "üye ol"]
}

/** By language. */
export const defaults = { opt_out: optOut, opt_in: optIn }

// Latin accents; Arabic vowel signs, hamza above and below, and the superscript alef. Other scripts need their marks.
const dispensable = /[\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670]/g
// Shown as nothing (joiners, direction marks, variation selectors), and the stroke that stretches Arabic words.
const invisible = /[\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}\u2800\u0640]/gu
const between = /[^\p{L}\p{M}\p{N}]+/gu

/**
 * A text in the form for comparison: without differences of case, accents, width, punctuation, white space and
 * invisible characters. Empty when nothing is left.
 */
export const fold = (text: string): string =>
  text
    .replaceAll(/[\t\n\v\f\r]/g, " ")
    .replaceAll(invisible, "")
    .normalize("NFKD")
    .replaceAll(invisible, "")
    .replaceAll(dispensable, "")
    // Down, up and down again: ẞ has its capitals only as ß, and the dotless ı of Turkish is an I there.
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .replaceAll(dispensable, "")
    .replaceAll("ى", "ي")
    .replaceAll("ة", "ه")
    .normalize("NFKC")
    .replaceAll(between, " ")
    .trim()

type Words = ReadonlySet<string>

const foldAll = (words: Iterable<string>): Words =>
  new Set([...words].map(fold).filter((word) => word !== ""))

const defaultWords: Readonly<Record<keyof Keywords, Words>> = {
  opt_out: foldAll(Object.values(optOut).flat()),
  opt_in: foldAll(Object.values(optIn).flat())
}

const wordsOf = Memo.ofObject(
  (keywords: Keywords): Readonly<Record<keyof Keywords, Words>> => ({
    opt_out: keywords.opt_out === null ? defaultWords.opt_out : foldAll(keywords.opt_out),
    opt_in: keywords.opt_in === null ? defaultWords.opt_in : foldAll(keywords.opt_in)
  })
)

/** The longest text that can be a keyword, in UTF-16 units. A longer one is not folded. */
const longest = 16 * maximumLength

/** Reads if an inbound text gives or withdraws consent; undefined for any other. An opt-out word may be repeated. */
export const read = (given: string, keywords: Keywords = standard): Status | undefined => {
  const text = given.trim()
  if (text.length > longest) return undefined
  const folded = fold(text)
  const words = wordsOf(keywords)
  const once = [...new Set(folded.split(" "))].join(" ")
  if (words.opt_out.has(folded) || words.opt_out.has(once)) return "revoked"
  return words.opt_in.has(folded) ? "granted" : undefined
}

/** A schema of a word that is compared with what people write. */
export const Word = Text.between(1, maximumLength).pipe(
  Schema.filter((word) => fold(word) !== "", { description: "a word with a letter or a digit" })
)

/** The faults of a session's words. */
export const faults = (keywords: Keywords): ReadonlyArray<Fault.Fault> => {
  const found: Array<Fault.Fault> = []
  for (const list of ["opt_out", "opt_in"] as const) {
    const words = keywords[list] ?? []
    const path = ["keywords", list]
    if (list === "opt_out" && keywords.opt_out?.length === 0) {
      const message = "`opt_out` must have a word, for nobody could opt out. Give null for the default words."
      found.push(Fault.make(path, "out_of_range", message))
    }
    if (words.length > maximumWords) {
      const message = `\`${list}\` must have at most ${maximumWords} words.`
      found.push(Fault.make(path, "out_of_range", message))
      continue
    }
    words.forEach((word, at) => {
      if (Text.isLonger(word, maximumLength) || fold(word) === "") {
        const message = `A word must be 1 to ${maximumLength} characters with a letter or a digit.`
        found.push(Fault.make([...path, at], "out_of_range", message))
      }
    })
  }
  if (found.length > 0) return found
  const { opt_in, opt_out } = wordsOf(keywords)
  const both = [...opt_in].filter((word) => opt_out.has(word))
  return both.length === 0
    ? []
    : [
        Fault.make(
          ["keywords"],
          "invalid_value",
          `A word must not be in both lists. Give both lists, and leave out of one: ${both.slice(0, 5).join(", ")}.`
        )
      ]
}
