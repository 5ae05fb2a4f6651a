/** Reads a peer's body within a limit of memory. */

/** Returns the bytes, or null when there are more than `bytesMax`, declared or not; the unread part is cancelled. */
export async function readLimitedBody(
  message: Pick<Request, 'headers' | 'body'>,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const { headers, body } = message;
  if (Number(headers.get('content-length') ?? 0) > bytesMax) {
    await body?.cancel();
    return null;
  }
  if (body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    // Leaving the loop cancels the stream, so that no more is received.
    if (size > bytesMax) return null;
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}
