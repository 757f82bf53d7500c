/**
 * Words by which a person withdraws or gives consent in an inbound text (contract.md §10, §11). A word must be the whole
 * text; an opt-out word may have words of courtesy around it, and its last letter repeated. A session may have lists of
 * its own. Opt-out words are generous, since a message too few does no harm; opt-in words are only those that nobody
 * writes in ordinary talk. YES is one because contract.md §9 says so.
 */

import * as Schema from "effect/Schema"
import * as Fault from "../Fault.ts"
import * as Memo from "../Memo.ts"
import * as Text from "../Text.ts"
import type { Status } from "./Consent.ts"

/** A session's words; null = those of {@link defaults}. */
export interface Keywords {
  readonly optOut: ReadonlyArray<string> | null
  readonly optIn: ReadonlyArray<string> | null
}

export const standard: Keywords = { optOut: null, optIn: null }

/**
 * A session's words as stored. An older version accepted an empty opt-out list, which is refused today. Such a list
 * means the default words, because everybody must be able to opt out.
 */
export const stored = (given: Keywords): Keywords =>
  given.optOut?.length === 0 ? { ...given, optOut: null } : given

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

const courtesy: Readonly<Record<string, ReadonlyArray<string>>> = {
  English: [
    "please",
    "pls",
    "plz",
    "kindly",
    "thanks",
    "thank you",
    "thx",
    "hi",
    "hello",
    "hey",
    "sorry",
    "dear",
    "sir",
    "madam"
  ],
  Spanish: [
    "por favor",
    "porfa",
    "gracias",
    "muchas gracias",
    "hola",
    "buenos días",
    "buenas tardes",
    "disculpe",
    "perdón"
  ],
  Portuguese: [
    "por favor",
    "por gentileza",
    "obrigado",
    "obrigada",
    "muito obrigado",
    "muito obrigada",
    "olá",
    "oi",
    "bom dia",
    "boa tarde"
  ],
  French: [
    "s'il vous plaît",
    "s'il te plaît",
    "svp",
    "stp",
    "merci",
    "merci beaucoup",
    "bonjour",
    "bonsoir",
    "désolé",
    "désolée"
  ],
  German: [
    "bitte",
    "danke",
    "vielen dank",
    "dankeschön",
    "hallo",
    "guten tag",
    "guten morgen",
    "sorry",
    "mfg",
    "lg"
  ],
  Italian: [
    "per favore",
    "per piacere",
    "per cortesia",
    "cortesemente",
    "grazie",
    "grazie mille",
    "ciao",
    "salve",
    "buongiorno",
    "scusate"
  ],
  Dutch: [
    "alstublieft",
    "alsjeblieft",
    "aub",
    "a.u.b.",
    "graag",
    "bedankt",
    "dank u",
    "dank je",
    "hallo",
    "goedendag"
  ],
  Arabic: [
    "من فضلك",
    "من فضلكم",
    "لو سمحت",
    "لو سمحتم",
    "رجاء",
    "الرجاء",
    "شكرا",
    "شكرا لكم",
    "مرحبا",
    "السلام عليكم"
  ],
  Hindi: ["कृपया", "प्लीज", "प्लीज़", "धन्यवाद", "शुक्रिया", "नमस्ते", "kripya", "dhanyavaad", "shukriya"],
  Indonesian: ["tolong", "mohon", "silakan", "terima kasih", "makasih", "halo", "hai", "maaf"],
  Turkish: [
    "lütfen",
    "teşekkürler",
    "teşekkür ederim",
    "sağ olun",
    "merhaba",
    "selam",
    "iyi günler",
    "rica ederim"
  ]
}

/** Words by which people ask not to be written to, in sentences: a word of each list near one of the other. */
const unwanted: Readonly<
  Record<string, readonly [negations: ReadonlyArray<string>, contact: ReadonlyArray<string>]>
> = {
  English: [
    [
      "don't",
      "dont",
      "do not",
      "not want",
      "no more",
      "no longer",
      "never",
      "quit",
      "without",
      "please no",
      "tired of"
    ],
    [
      "text",
      "texts",
      "texting",
      "message",
      "messages",
      "messaging",
      "msg",
      "sms",
      "contact",
      "write",
      "send",
      "sending"
    ].concat([
      "receive",
      "get",
      "spam",
      "bother",
      "disturb",
      "call",
      "want",
      "ads",
      "offers",
      "promotions",
      "marketing"
    ])
  ],
  Spanish: [
    ["no", "ni", "nunca", "dejen de", "deja de", "deje de", "sin"],
    [
      "mensajes",
      "mensaje",
      "escriban",
      "escribas",
      "escribir",
      "escribirme",
      "envíen",
      "envíes",
      "enviar",
      "enviarme"
    ].concat([
      "manden",
      "mandes",
      "mandar",
      "recibir",
      "contacten",
      "contactar",
      "molesten",
      "molestes",
      "publicidad"
    ])
  ],
  Portuguese: [
    ["não", "nao", "nunca", "parem de", "pare de", "para de", "deixem de", "sem"],
    [
      "mensagem",
      "mensagens",
      "enviem",
      "envie",
      "enviar",
      "mandem",
      "mande",
      "mandar",
      "receber",
      "escrevam",
      "contatem"
    ].concat(["contato", "incomodem", "incomode", "perturbe", "propaganda", "promoções"])
  ],
  French: [
    ["ne", "n'", "pas", "plus", "jamais", "aucun", "arrêtez de", "arrête de", "cessez de"],
    [
      "recevoir",
      "message",
      "messages",
      "sms",
      "écrire",
      "écrivez",
      "envoyer",
      "envoyez",
      "contacter",
      "contactez"
    ].concat(["déranger", "dérangez", "pub", "publicité", "publicités", "harceler"])
  ],
  German: [
    ["nicht", "nicht mehr", "keine", "kein", "nie", "nie wieder", "hört auf"],
    [
      "nachrichten",
      "nachricht",
      "schreiben",
      "schreibt",
      "senden",
      "schicken",
      "schickt",
      "kontaktieren",
      "anschreiben"
    ].concat(["werbung", "erhalten", "bekommen", "belästigen", "sms", "whatsapp"])
  ],
  Italian: [
    ["non", "mai", "smettete di", "smetti di", "smettetela", "nessun", "senza"],
    [
      "messaggi",
      "messaggio",
      "scrivetemi",
      "scrivermi",
      "scrivere",
      "mandatemi",
      "mandare",
      "inviate",
      "inviarmi"
    ].concat(["ricevere", "contattatemi", "contattarmi", "disturbare", "disturbarmi", "pubblicità"])
  ],
  Dutch: [
    ["niet", "niet meer", "geen", "nooit", "hou op met"],
    [
      "berichten",
      "bericht",
      "sturen",
      "stuur",
      "appen",
      "contact",
      "ontvangen",
      "lastig",
      "reclame",
      "schrijven",
      "sms"
    ]
  ],
  Arabic: [
    ["لا", "لن", "بدون"],
    [
      "ترسل",
      "ترسلوا",
      "ترسلي",
      "رسائل",
      "رسالة",
      "الرسائل",
      "تراسلني",
      "تراسلوني",
      "أريد",
      "اريد",
      "تزعجوني",
      "إعلانات"
    ]
  ],
  Hindi: [
    ["मत", "नहीं", "ना", "mat", "nahi", "nahin"],
    ["भेजो", "भेजें", "भेजिए", "मैसेज", "संदेश", "चाहिए", "करो", "करें", "bhejo", "bheje", "message", "chahiye", "karo"]
  ],
  Indonesian: [
    ["jangan", "tidak", "tak", "nggak", "gak"],
    [
      "kirim",
      "mengirim",
      "pesan",
      "hubungi",
      "ganggu",
      "mau",
      "ingin",
      "menerima",
      "chat",
      "sms",
      "promosi",
      "iklan"
    ]
  ],
  Turkish: [
    ["artık", "bir daha", "lütfen", "hiç"],
    [
      "göndermeyin",
      "gönderme",
      "atmayın",
      "atma",
      "yazmayın",
      "yazma",
      "istemiyorum",
      "istemem",
      "aramayın",
      "rahatsız"
    ]
  ]
}

/** Pleas that stand by themselves. */
const pleas = [
  "leave me alone",
  "take me off",
  "off your list",
  "off the list",
  "not interested",
  "delete my number",
  "lose my number",
  "who gave you my number",
  "déjenme en paz",
  "déjame en paz",
  "no me interesa",
  "me deixe em paz",
  "não tenho interesse",
  "laissez moi tranquille",
  "pas intéressé",
  "pas intéressée",
  "lasst mich in ruhe",
  "kein interesse",
  "lasciatemi in pace",
  "non mi interessa",
  "laat me met rust",
  "geen interesse",
  "tidak tertarik",
  "istemiyorum",
  "rahatsız etmeyin",
  "ilgilenmiyorum",
  "غير مهتم",
  "दिलचस्पी नहीं"
]

/** By language. */
export const defaults = { optOut, optIn, courtesy }

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

const isLetter = /\p{L}/u

/** A shorter word with its last letter twice is more often another one: `Finn`, `rett`. */
const leastDoubled = 4
/** German for two who owe each other nothing. */
const notDoubled: ReadonlySet<string> = new Set(["quitt"])

/** A folded word without the repetition of its last letter: `stoppp` as `stop`. */
const withoutRepetition = (word: string): string => {
  let end = word.length
  while (end > 1 && word[end - 1] === word[end - 2]) end -= 1
  const repeated = word.length - end
  if (repeated === 0 || !isLetter.test(word[end - 1] ?? "")) return word
  return repeated === 1 && (end < leastDoubled || notDoubled.has(word)) ? word : word.slice(0, end)
}

/** The words of a folded text or keyword as they are looked up. */
const sought = (folded: string): ReadonlyArray<string> =>
  folded === "" ? [] : folded.split(" ").map(withoutRepetition)

/** Sequences of words, which are looked up by their words with a space between. */
interface Phrases {
  readonly all: ReadonlySet<string>
  /** The words that one begins with. */
  readonly first: ReadonlySet<string>
  /** Words of the longest. */
  readonly longest: number
}

const phrasesOf = (folded: Iterable<string>): Phrases => {
  const phrases = Array.from(folded, sought)
  return {
    all: new Set(phrases.map((words) => words.join(" "))),
    first: new Set(phrases.flatMap(([word]) => word ?? [])),
    longest: phrases.reduce((most, { length }) => Math.max(most, length), 0)
  }
}

/** How many of the words from a place on are a phrase: the longest; 0 when none is. */
const phraseAt = ({ all, first, longest }: Phrases, words: ReadonlyArray<string>, from: number): number => {
  if (!first.has(words[from] ?? "")) return 0
  for (let count = Math.min(longest, words.length - from); count > 0; count--)
    if (all.has(words.slice(from, from + count).join(" "))) return count
  return 0
}

/** How many of the last words before a place are a phrase. */
const phraseBefore = ({ all, longest }: Phrases, words: ReadonlyArray<string>, end: number): number => {
  for (let count = Math.min(longest, end); count > 0; count--)
    if (all.has(words.slice(end - count, end).join(" "))) return count
  return 0
}

const courteous = phrasesOf(Object.values(courtesy).flat().map(fold))

/** The words between those of courtesy. */
const withoutCourtesy = (words: ReadonlyArray<string>): ReadonlyArray<string> => {
  let [from, end] = [0, words.length]
  for (let count = 1; count > 0; from += count) count = phraseAt(courteous, words, from)
  for (let count = 1; count > 0 && end > from; end -= count) count = phraseBefore(courteous, words, end)
  return words.slice(from, end)
}

type Words = ReadonlySet<string>

const foldAll = (words: Iterable<string>): Words =>
  new Set([...words].map(fold).filter((word) => word !== ""))

/** A shorter word is another one's neighbor too often. */
const leastMisspelled = 8

interface Lists extends Readonly<Record<keyof Keywords, Words>> {
  readonly refusals: Phrases
  /** Opt-out words that are known with a letter wrong. */
  readonly long: ReadonlyArray<string>
}

const listsOf = (optOut: Words, optIn: Words): Lists => ({
  optOut,
  optIn,
  refusals: phrasesOf(optOut),
  long: [...optOut].filter((word) => word.length >= leastMisspelled && !word.includes(" "))
})

const defaultWords = listsOf(foldAll(Object.values(optOut).flat()), foldAll(Object.values(optIn).flat()))

const wordsOf = Memo.ofObject((keywords: Keywords): Lists => {
  const { optIn, optOut } = keywords
  if (optIn === null && optOut === null) return defaultWords
  return listsOf(
    optOut === null ? defaultWords.optOut : foldAll(optOut),
    optIn === null ? defaultWords.optIn : foldAll(optIn)
  )
})

/** The longest text that can be a keyword, in UTF-16 units. A longer one is not folded. */
const longest = 16 * maximumLength

const isRefusal = ({ all }: Phrases, words: ReadonlyArray<string>): boolean =>
  all.has(words.join(" ")) || all.has([...new Set(words)].join(" "))

/** Reads if an inbound text gives or withdraws consent; undefined for any other. An opt-out word may be repeated. */
export const read = (given: string, keywords: Keywords = standard): Status | undefined => {
  const text = given.trim()
  if (text.length > longest) return undefined
  const folded = fold(text)
  const { optIn, refusals } = wordsOf(keywords)
  const words = sought(folded)
  if (isRefusal(refusals, words) || isRefusal(refusals, withoutCourtesy(words))) return "revoked"
  return optIn.has(folded) ? "granted" : undefined
}

/** True when the text begins with an opt-out word as a word of its own, as labels of buttons do. */
export const beginsWithRefusal = (text: string, keywords: Keywords = standard): boolean =>
  phraseAt(wordsOf(keywords).refusals, sought(fold(text.slice(0, longest))), 0) > 0

/** The part of a text that is looked through, in UTF-16 units: as much as a message of WhatsApp has. */
const lookedThrough = 4096

/** Words between a negation and what is not wanted, at most. */
const near = 6

const unwantedOf = Object.values(unwanted).map((lists) => lists.map((words) => phrasesOf(words.map(fold))))
const pleading = phrasesOf(pleas.map(fold))

const hasPhrase = (phrases: Phrases, words: ReadonlyArray<string>): boolean =>
  words.some((_, from) => phraseAt(phrases, words, from) > 0)

/** True for a negation with a word of being written to behind it, within some words. */
const isUnwanted = (words: ReadonlyArray<string>): boolean =>
  unwantedOf.some(([negations, contact]) =>
    words.some((_, from) => {
      const count = negations === undefined ? 0 : phraseAt(negations, words, from)
      return (
        count > 0 &&
        contact !== undefined &&
        hasPhrase(contact, words.slice(from + count, from + count + near))
      )
    })
  )

/** Single letters in a row as the words that they spell: `s t o p`. */
const spelled = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words
    .map((word) => (word.length === 1 ? word : ` ${word} `))
    .join("")
    .split(" ")
    .filter((word) => word !== "")

/** True when the words differ by one letter: more, less, another, or two that changed places. */
const isMisspelled = (word: string, meant: string): boolean => {
  if (Math.abs(word.length - meant.length) > 1) return false
  let [from, end] = [0, 0]
  const shorter = Math.min(word.length, meant.length)
  while (from < shorter && word[from] === meant[from]) from += 1
  while (end < shorter - from && word.at(-1 - end) === meant.at(-1 - end)) end += 1
  const [left, right] = [word.slice(from, word.length - end), meant.slice(from, meant.length - end)]
  return left.length <= 1 && right.length <= 1
    ? true
    : left.length === 2 && right.length === 2 && left[0] === right[1] && left[1] === right[0]
}

const isNearly = (long: ReadonlyArray<string>, words: ReadonlyArray<string>): boolean =>
  [...new Set(words)].some(
    (word) => word.length >= leastMisspelled - 1 && long.some((meant) => isMisspelled(word, meant))
  )

/**
 * True when the text may be meant as an opt-out: an opt-out word stands anywhere in it, spelled letter by letter or with a letter
 * wrong, too, or it asks not to be written to.
 */
export const mentionsRefusal = (text: string, keywords: Keywords = standard): boolean => {
  const { long, refusals } = wordsOf(keywords)
  const words = sought(fold(text.slice(0, lookedThrough)))
  return (
    hasPhrase(refusals, words) ||
    hasPhrase(refusals, spelled(words)) ||
    isNearly(long, words) ||
    hasPhrase(pleading, words) ||
    isUnwanted(words)
  )
}

/** A schema of a word that is compared with what people write. */
export const Word = Text.between(1, maximumLength).pipe(
  Schema.filter((word) => fold(word) !== "", { description: "a word with a letter or a digit" })
)

/** The faults of a session's words. */
export const faults = (keywords: Keywords): ReadonlyArray<Fault.Fault> => {
  const found: Array<Fault.Fault> = []
  const lists = [
    ["opt_out", keywords.optOut ?? []],
    ["opt_in", keywords.optIn ?? []]
  ] as const
  for (const [list, words] of lists) {
    const path = ["keywords", list]
    if (list === "opt_out" && keywords.optOut?.length === 0) {
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
  const { optIn, optOut } = wordsOf(keywords)
  const both = [...optIn].filter((word) => optOut.has(word))
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
