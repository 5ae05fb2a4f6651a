/** A body of bytes on its way in: judged by its headers, and counted as it goes through. */
import { PlatformError } from '@freehold/contracts';
import type { AdminCall } from '@freehold/directory';
import type { UploadedBytes } from '@freehold/directory/declarations';

/**
 * The bytes of a request.
 * @throws PlatformError `unsupported_media_type`; `payload_too_large`, by `Content-Length` before a byte is read. The
 * body fails with `payload_too_large` when more comes than may.
 */
export function readUpload(
  request: Request,
  { mediaTypes, bytesMax }: UploadedBytes,
): NonNullable<AdminCall['upload']> {
  const { headers } = request;
  const mediaType = (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (!mediaTypes.includes(mediaType))
    throw new PlatformError('unsupported_media_type', `Send one of ${mediaTypes.join(', ')}.`);
  const coding = headers.get('content-encoding');
  if (coding !== null && coding.trim().toLowerCase() !== 'identity')
    throw new PlatformError('unsupported_media_type', 'Send the body without a content encoding.');
  const announced = headers.get('content-length');
  if (announced !== null && Number(announced) > bytesMax) throw tooLarge(bytesMax);
  const body = request.body ?? (new Response('').body as ReadableStream<Uint8Array>);
  return { mediaType, body: counted(body, bytesMax) };
}

function counted(source: ReadableStream<Uint8Array>, bytesMax: number): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let bytes = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await reader.read().catch((cause: unknown) => {
          throw new PlatformError('validation_failed', 'The body broke off before its end.', {
            reason: 'body_incomplete',
            cause,
          });
        });
        if (done) return controller.close();
        bytes += value.byteLength;
        if (bytes > bytesMax) {
          reader.cancel().catch(() => undefined);
          throw tooLarge(bytesMax);
        }
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function tooLarge(bytesMax: number): PlatformError {
  return new PlatformError('payload_too_large', `The body has more than ${bytesMax} bytes.`);
}
