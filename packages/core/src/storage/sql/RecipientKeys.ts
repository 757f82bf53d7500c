/** The keys of recipients' rows: those of a job lie side by side, in the order of their places. */

/** The keys that a job has for its recipients; a message id has no room for more than 4,094 of them either. */
export const placesPerJob = 4096

export const lastPlace = placesPerJob - 1

export const recipientKey = (job: number, index: number): number => job * placesPerJob + index

/** The job of a recipient's key. */
export const jobOf = (key: number): number => Math.floor(key / placesPerJob)

/** The first and the last key that a job's recipients can have. */
export const keysOf = (job: number): readonly [number, number] => [
  recipientKey(job, 0),
  recipientKey(job, lastPlace)
]

/** The same in SQL, of keys that are SQL themselves. */
export const inSql = {
  jobOf: (key: string): string => `${key} >> ${Math.log2(placesPerJob)}`,
  placeOf: (key: string): string => `${key} & ${lastPlace}`,
  first: (job: string): string => `${job} * ${placesPerJob}`,
  last: (job: string): string => `${job} * ${placesPerJob} + ${lastPlace}`
}
