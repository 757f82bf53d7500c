/** Templates, as they are answered. */

/** What a template asks for. */
export interface Variable {
  /** As a send names it: `body.1`, `header.media`, `button.0.1`. */
  readonly key: string
  /** A named placeholder's other name: `body.first_name`. */
  readonly name?: string | undefined
  readonly type: "text" | "media_url" | "url_suffix"
  readonly required: boolean
  readonly mediaType?: "image" | "video" | "document" | undefined
  readonly maxLength?: number | undefined
  readonly example?: string | undefined
}

export interface Button {
  readonly type: string
  readonly text: string
  readonly url?: string | undefined
  readonly phoneNumber?: string | undefined
}

export type Component =
  | {
      readonly type: "header"
      readonly format: "text" | "image" | "video" | "document" | "location"
      readonly text?: string | undefined
    }
  | { readonly type: "body"; readonly text: string }
  | { readonly type: "footer"; readonly text: string }
  | { readonly type: "buttons"; readonly buttons: ReadonlyArray<Button> }

export interface Template {
  readonly templateId: number
  readonly name: string
  readonly language: string
  readonly category: "marketing" | "utility" | "authentication"
  /** `approved`, `pending`, `paused`, …: the platform's, in lower case. */
  readonly status: string
  readonly components: ReadonlyArray<Component>
  readonly variables: ReadonlyArray<Variable>
  /** False of one that needs what a send cannot express. */
  readonly sendable: boolean
  readonly unsendableReason: string | null
  readonly quality: string | null
  /** Why its platform gave it its status, in the platform's words; null where it gave no reason. */
  readonly reason: string | null
  /** As the platform wrote them: what to do about a rejection, which pause it is, when it is disabled. */
  readonly rejectionInfo: object | null
  readonly otherInfo: object | null
  readonly disableInfo: object | null
  /** The platform's cap on the price of a message, as the platform wrote it; null where none is known. */
  readonly maxPrice: object | null
  readonly updatedAt: Date
}

/** A template in the platform's own form, as its API lists it. */
export interface PlatformTemplate {
  readonly name: string
  readonly language: string
  readonly category: string
  readonly status: string
  readonly components: ReadonlyArray<object>
}

export interface TemplateQuery {
  readonly category?: "marketing" | "utility" | "authentication" | undefined
  readonly language?: string | undefined
  readonly name?: string | undefined
}
