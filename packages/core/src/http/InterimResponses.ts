/**
 * Drops interim responses (1xx) before undici reads them. A client must be able to ignore them (RFC 9110 §15.2), and
 * undici destroys the connection when an unasked `100 Continue` comes, with the request already at the platform.
 */
import type { Socket } from "node:net"

/** `HTTP/1.1 100`: by then it is known which kind of response it is. */
const statusLength = 12

/** All of them but `101 Switching Protocols`, which nobody asks for and undici refuses. */
const isInterim = (bytes: Buffer): boolean =>
  /^HTTP\/1\.[01] 1(?!01)\d\d/.test(bytes.toString("latin1", 0, statusLength))

/** Of the headers of one, in bytes; undici is left to refuse what is longer. */
const longest = 16 * 1024

/**
 * The most bytes of interim responses before one final response. A server that sends more never answers, and reading
 * them takes time from others.
 */
const mostDropped = 64 * 1024

const tooMany = Object.assign(new Error("Interim responses come without end."), {
  code: "TOO_MANY_INTERIM_RESPONSES"
})

const nothing = Buffer.alloc(0)
const headEnd = "\r\n\r\n"

/**
 * Wraps the socket's own `push`. A response begins with the first bytes after a request was written. That would not hold
 * for pipelined requests, which undici does not send unless it is told to.
 */
export const dropFrom = <S extends Socket>(socket: S): S => {
  const push = socket.push.bind(socket)
  let written = 0
  /** True when the bytes that come next begin a response. */
  let begins = false
  let buffered: Buffer = nothing
  let dropped = 0

  /** The bytes that are for undici; a part of a status line or of an interim response is held back. */
  const rest = (chunk: Buffer): Buffer => {
    let bytes = buffered.length > 0 ? Buffer.concat([buffered, chunk]) : chunk
    buffered = nothing
    while (bytes.length >= statusLength && isInterim(bytes)) {
      const end = bytes.indexOf(headEnd)
      if (end < 0 && bytes.length > longest) break
      if (end < 0) {
        buffered = bytes
        return nothing
      }
      const length = end + headEnd.length
      bytes = bytes.subarray(length)
      dropped += length
      if (dropped > mostDropped) {
        socket.destroy(tooMany)
        return nothing
      }
    }
    if (bytes.length < statusLength) {
      buffered = bytes
      return nothing
    }
    begins = false
    return bytes
  }

  socket.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (socket.bytesWritten !== written) {
      written = socket.bytesWritten
      begins = true
      dropped = 0
    }
    if (!begins) return push(chunk, encoding)
    if (!Buffer.isBuffer(chunk)) {
      if (buffered.length > 0) push(buffered)
      return push(chunk, encoding)
    }
    const bytes = rest(chunk)
    return bytes.length === 0 || push(bytes)
  }
  return socket
}
