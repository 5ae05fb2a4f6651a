/** Bytes that arrive, onto the disk: whole under their name, or not at all. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { fileFailure } from '../world.ts';

export interface SaveOptions {
  /** Whether a file that is there is replaced. */
  readonly force: boolean;
  /** Told how many bytes there are so far. */
  readonly onBytes?: (bytes: number) => void;
}

/**
 * Writes beside the place and gives the name at the end. Tenants' data: only its owner may read it.
 * @throws PlatformError `conflict` when there is a file already, `unavailable` when it cannot be written; and whatever
 * the stream fails with.
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
    // What `fetch` calls a connection that broke off.
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

/** Known before anything is asked for: a copy of a scope is written down in a log. */
export function requireFree(path: string, force: boolean): void {
  if (!force && existsSync(path)) throw occupied(path);
}

/** A link is refused where something is; a rename would replace what came there in the meantime. */
async function claim(draft: string, path: string, force: boolean): Promise<void> {
  if (force) return rename(draft, path);
  try {
    await link(draft, path);
  } catch (error) {
    if (isSystemError(error) && error.code === 'EEXIST') throw occupied(path);
    // A file system without links.
    requireFree(path, force);
    await rename(draft, path);
  }
}

function occupied(path: string): PlatformError {
  return new PlatformError('conflict', `There is something at ${path} already: --force replaces it.`, {
    reason: 'file_occupied',
  });
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && 'syscall' in error;
}
