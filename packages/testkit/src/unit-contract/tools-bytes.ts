/** Copies as bytes, complete and broken. */
import type { UnitCopy } from '../../../store/src/tools.ts';

export async function bytesOf({ body }: Pick<UnitCopy, 'body'>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
}

/** Returns a body in pieces, as a network delivers it. */
export function bodyOf(bytes: Uint8Array, pieceBytes = 1_000): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (at < bytes.length) controller.enqueue(bytes.slice(at, at + pieceBytes));
      else controller.close();
      at += pieceBytes;
    },
  });
}

export function textBody(text: string): ReadableStream<Uint8Array> {
  return bodyOf(new TextEncoder().encode(text));
}

/** Returns the lines of a text copy as values. */
export async function linesOf(copy: UnitCopy): Promise<Record<string, unknown>[]> {
  const text = new TextDecoder().decode(await bytesOf(copy));
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
