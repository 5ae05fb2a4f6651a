/** The form of an upload, written while its file is read (RFC 7578): `meta` first, then `file`. */

export interface WrittenForm {
  readonly mediaType: string;
  readonly body: ReadableStream<Uint8Array>;
}

/**
 * @param random that many bytes from a cryptographic source: if the file could guess the boundary, it could end itself
 * early.
 */
export function writeUploadForm(
  meta: unknown,
  file: ReadableStream<Uint8Array>,
  random: (bytes: number) => Uint8Array,
): WrittenForm {
  const boundary = `freehold-${Array.from(random(24), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
  const encode = (...lines: string[]): Uint8Array => new TextEncoder().encode(lines.join('\r\n'));
  const head = encode(
    `--${boundary}`,
    'content-disposition: form-data; name="meta"',
    'content-type: application/json',
    '',
    JSON.stringify(meta),
    `--${boundary}`,
    'content-disposition: form-data; name="file"; filename="file"',
    'content-type: application/octet-stream',
    '',
    '',
  );
  const tail = encode('', `--${boundary}--`, '');
  const reader = file.getReader();
  let began = false;
  return {
    mediaType: `multipart/form-data; boundary=${boundary}`,
    body: new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          if (!began) {
            began = true;
            return controller.enqueue(head);
          }
          const { done, value } = await reader.read();
          controller.enqueue(done ? tail : value);
          if (done) controller.close();
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    ),
  };
}
