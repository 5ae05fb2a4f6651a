/** A bucket of R2, by its binding: on Cloudflare, and wherever workerd has one. */
import type { Bucket } from './bucket.ts';

/** @param r2 the binding. It needs no special rights. */
export function makeR2Bucket(r2: R2Bucket): Bucket {
  return {
    put: async (key, bytes) => void (await r2.put(key, bytes)),
    upload: async (key) => {
      const upload = await r2.createMultipartUpload(key);
      const parts: R2UploadedPart[] = [];
      return {
        part: async (bytes) => void parts.push(await upload.uploadPart(parts.length + 1, bytes)),
        complete: async () => void (await upload.complete(parts)),
        abort: () => upload.abort(),
      };
    },
    // R2 cannot copy: the bytes pass through here as a stream.
    copy: async (from, to, bytes) => {
      const object = await r2.get(from);
      if (!object) throw new Error('what was just uploaded is not there');
      const length = new FixedLengthStream(bytes);
      await Promise.all([object.body.pipeTo(length.writable), r2.put(to, length.readable)]);
    },
    get: async (key, range) => {
      const length = range && { range: { offset: range.start, length: range.end - range.start } };
      const found = await r2.get(key, length ?? {});
      return found && { body: found.body, bytes: found.size };
    },
    delete: (key) => r2.delete(key),
    list: async function* list(prefix) {
      for (let cursor: string | undefined; ; ) {
        const page = await r2.list({ prefix, ...(cursor === undefined ? {} : { cursor }) });
        for (const { key, size, uploaded } of page.objects)
          yield { key, bytes: size, atMs: uploaded.getTime() };
        if (!page.truncated) return;
        cursor = page.cursor;
      }
    },
  };
}
