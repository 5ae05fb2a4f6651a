/** Requests to an instance, made without a network. */

/** One request. A body that is no text and no bytes is sent as JSON. */
export type Http = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Response>;

/** Builds the options of a request. */
export function requestInit(
  method: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): RequestInit {
  if (body === undefined) return { method, headers };
  const isRaw = typeof body === 'string' || body instanceof Uint8Array || body instanceof Blob;
  return {
    method,
    headers: { ...(body instanceof Blob ? {} : { 'content-type': 'application/json' }), ...headers },
    body: isRaw ? (body as string | Uint8Array<ArrayBuffer> | Blob) : JSON.stringify(body),
  };
}
