/**
 * One buffer that is used again for the frames of a log. They come by the megabyte, many times a second under load, and
 * to allocate that much each time costs more in garbage collection than everything that is done with it.
 */

let idle: Buffer | null = null;

/** What is kept at most between two uses. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024;

/** So many bytes, holding whatever they held before. To be given back once nobody looks at them any more. */
export function borrowBuffer(bytes: number): Buffer {
  const buffer = idle && idle.length >= bytes ? idle : Buffer.allocUnsafeSlow(Math.max(bytes, 1));
  if (buffer === idle) idle = null;
  return buffer.subarray(0, bytes);
}

export function giveBack(buffer: Buffer): void {
  const whole = Buffer.from(buffer.buffer);
  if (whole.length <= KEPT_BYTES_MAX && whole.length > (idle?.length ?? 0)) idle = whole;
}
