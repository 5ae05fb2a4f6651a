/**
 * The admin log's outside witness, which stores the newest head of the chain: a file, best on another disk, or a web
 * address that answers GET with the last PUT.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { LogAnchor } from '@freehold/directory';
import { z } from 'zod';
import type { AnchorSettings, Settings } from '../settings/settings.ts';
import { writePrivately } from './secrets.ts';

/** Changes wait for the witness this long; then it is reported, the change is acknowledged, and for a while none waits. */
const TIMEOUT_MS = 5_000;

const head = z.strictObject({ sequence: z.int().min(0), hash: z.string() });

/** @param isNew whether the installation is new: the default file of an earlier one witnesses another log. */
export function openAnchor(settings: AnchorSettings, isNew = false): LogAnchor {
  if ('file' in settings && settings.isDefault && isNew) rmSync(settings.file, { force: true });
  return 'file' in settings ? makeFileAnchor(settings.file) : makeWebAnchor(settings);
}

/** Whether the witness is a file beside the data, which a person who can write the data can probably write too. */
export function isBesideData({ anchor, dataDirectory }: Pick<Settings, 'anchor' | 'dataDirectory'>): boolean {
  return anchor !== null && 'file' in anchor && dirname(anchor.file) === dirname(resolve(dataDirectory));
}

/** A damaged file is an error on reading: it must never count as "no witness". */
function makeFileAnchor(path: string): LogAnchor {
  return {
    publish: async (newest) => writePrivately(path, `${JSON.stringify(newest)}\n`),
    read: async () => (existsSync(path) ? head.parse(JSON.parse(readFileSync(path, 'utf8'))) : null),
  };
}

/** An answer that is neither a head nor 404 is an error, and never "no witness". */
function makeWebAnchor({ url, token }: Extract<AnchorSettings, { url: string }>): LogAnchor {
  const send = (init: RequestInit): Promise<Response> =>
    fetch(url, {
      ...init,
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  const refused = ({ status }: Response, method: string): Error =>
    new Error(`the anchor of the admin log answered ${status} to ${method}`);
  return {
    publish: async (newest) => {
      const answer = await send({ method: 'PUT', body: JSON.stringify(newest) });
      await answer.body?.cancel();
      if (!answer.ok) throw refused(answer, 'PUT');
    },
    read: async () => {
      const answer = await send({ method: 'GET' });
      if (answer.ok) return head.parse(await answer.json());
      await answer.body?.cancel();
      if (answer.status === 404) return null;
      throw refused(answer, 'GET');
    },
  };
}
