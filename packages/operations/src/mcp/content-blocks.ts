/** Answers that are meant to be seen or heard: an operation whose output is `contentBlocks` hands its tool's content over itself. */
import { z } from 'zod';

const base64 = z.base64();
const mimeType = z.string().min(1).max(255);
const uri = z.string().min(1).max(2048);

const resource = z.union([
  z.strictObject({ uri, mimeType: mimeType.optional(), text: z.string() }),
  z.strictObject({ uri, mimeType: mimeType.optional(), blob: base64 }),
]);

/**
 * The output schema of an operation that answers pictures, sound, files or prose instead of data. Its tool answers
 * these blocks as they are, without structured content and without an output schema (MCP 2026-07-28, "Tool
 * Results"); its route answers them as JSON. Declare it as the `output` itself: a schema made from it is data again.
 */
export const contentBlocks = z
  .array(
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('text'), text: z.string() }),
      z.strictObject({ type: z.literal('image'), data: base64, mimeType }),
      z.strictObject({ type: z.literal('audio'), data: base64, mimeType }),
      z.strictObject({ type: z.literal('resource'), resource }),
      z.strictObject({
        type: z.literal('resource_link'),
        uri,
        name: z.string(),
        description: z.string().optional(),
        mimeType: mimeType.optional(),
      }),
    ]),
  )
  .meta({ id: 'ContentBlocks' });

export type ContentBlocks = z.infer<typeof contentBlocks>;
