/** Saves a stream of bytes to a file: whole under its name, or not at all. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { fileFailure, isSystemError } from '../lib/world.ts';

export interface SaveOptions {
  /** Whether an existing file is replaced. */
  readonly force: boolean;
  /** Receives the number of bytes so far. */
  readonly onBytes?: (bytes: number) => void;
}

/**
 * Writes a draft beside the file and renames it at the end. The bytes are tenant data: only the file's owner may read
 * them.
 * @throws PlatformError `conflict` for an existing file, `unavailable` when it cannot be written; and the errors of
 * the stream.
 */
export async function saveStream(
  body: ReadableStream<Uint8Array>,
  path: string,
  { force, onBytes = () => undefined }: SaveOptions,
): Promise<number> {
  try {
    requireFree(path, force);
  } catch (error) {
    await body.cancel();
    throw error;
  }
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.part`);
  const file = await open(draft, 'wx', 0o600).catch(async (cause: unknown) => {
    await body.cancel();
    throw fileFailure(`${path} cannot be written`, cause);
  });
  let bytes = 0;
  try {
    for await (const chunk of body) {
      await file.writeFile(chunk);
      bytes += chunk.length;
      onBytes(bytes);
    }
    await file.sync();
    await file.close();
    await claim(draft, path, force);
    return bytes;
  } catch (error) {
    if (isSystemError(error)) throw fileFailure(`${path} cannot be written`, error);
    // `fetch` throws these when a connection breaks off.
    if (error instanceof TypeError || (error as NodeJS.ErrnoException).code === 'ECONNRESET')
      throw new PlatformError('unavailable', 'The connection broke off before everything was there.', {
        cause: error,
      });
    throw error;
  } finally {
    await file.close().catch(() => undefined);
    await rm(draft, { force: true });
  }
}

/** Callers check this before the request: the access log records each copy. */
export function requireFree(path: string, force: boolean): void {
  if (!force && existsSync(path)) throw occupied(path);
}

/** `link` fails where a file exists; `rename` would replace one that appeared in the meantime. */
async function claim(draft: string, path: string, force: boolean): Promise<void> {
  if (force) return rename(draft, path);
  try {
    await link(draft, path);
  } catch (error) {
    if (isSystemError(error) && error.code === 'EEXIST') throw occupied(path);
    // The file system has no links.
    requireFree(path, force);
    await rename(draft, path);
  }
}

function occupied(path: string): PlatformError {
  return new PlatformError('conflict', `There is something at ${path} already: --force replaces it.`, {
    reason: 'file_occupied',
  });
}
