/**
 * One reused buffer for the frames of a log. They come by the megabyte, many times a second under load; allocating
 * that much each time costs more in garbage collection than all other work on them.
 */

let idle: Buffer | null = null;

/** The largest buffer that is kept between two uses. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024;

/** Returns so many bytes with any contents. The caller returns them after use. */
export function borrowBuffer(bytes: number): Buffer {
  const buffer = idle && idle.length >= bytes ? idle : Buffer.allocUnsafeSlow(Math.max(bytes, 1));
  if (buffer === idle) idle = null;
  return buffer.subarray(0, bytes);
}

export function giveBack(buffer: Buffer): void {
  const whole = Buffer.from(buffer.buffer);
  if (whole.length <= KEPT_BYTES_MAX && whole.length > (idle?.length ?? 0)) idle = whole;
}
