/** The script that other sites put into their pages: public code, which any page may load and pin. */
import { createHash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import { answerOtherMethod, entityTag, isUnchanged } from '@freehold/contracts/http';
import type { Context, Env, Hono } from 'hono';
import { guarded, type ProblemOptions } from '../lib/problem-response.ts';

/** The time that a page may use an unpinned script without asking again. */
const FRESH_SECONDS = 300;
const PINNED_SECONDS = 31_536_000;
/** 96 bits of the digest, in hexadecimal: enough that no two scripts share a version. */
const VERSION_LENGTH = 24;

export interface WidgetScriptOptions extends ProblemOptions {
  /**
   * The path: `/embed/booking.js`. Outside of the public surface, which requires an `Origin` that script requests
   * lack.
   */
  readonly path: string;
  /** The code, as text. It is sent to any caller: it holds no secret and no tenant's data. */
  readonly source: string;
  /** Former sources that pages may have pinned. They stay reachable under their own address. */
  readonly earlier?: readonly string[];
}

/** The attributes with which a page loads this very script, for `<script src integrity crossorigin="anonymous">`. */
export interface PinnedScript {
  /** Path and query: `/embed/booking.js?v=9f2c…`. Its content never changes. */
  readonly src: string;
  /** Subresource Integrity, `sha384-…`. For this `src` only: under the plain path the next release breaks it. */
  readonly integrity: string;
}

/**
 * Mounts `GET` of a widget's script. The plain path is the present version, asked for again after five minutes; with
 * `?v=` it is that version for good, or 404. Any page may load it, isolated pages included
 * (`Cross-Origin-Resource-Policy: cross-origin`), and read it, which the integrity check needs.
 */
export function mountWidgetScript<E extends Env>(app: Hono<E>, options: WidgetScriptOptions): PinnedScript {
  const { path, source, earlier = [] } = options;
  const present = versionOf(source);
  const versions = new Map([...earlier, source].map((each) => [versionOf(each), each]));
  const answer = async (c: Context<E>): Promise<Response> => {
    const asked = c.req.query('v');
    const version = asked ?? present;
    const script = versions.get(version);
    if (script === undefined)
      throw new PlatformError('not_found', 'There is no such version of this script.', {
        headers: PUBLIC_HEADERS,
      });
    const headers = {
      ...PUBLIC_HEADERS,
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control':
        asked === undefined
          ? `public, max-age=${FRESH_SECONDS}`
          : `public, max-age=${PINNED_SECONDS}, immutable`,
      etag: entityTag(version),
    };
    const isKnown = isUnchanged(c.req.header('if-none-match'), version);
    return new Response(isKnown ? null : script, { status: isKnown ? 304 : 200, headers });
  };
  app.get(path, guarded(app, options, answer));
  app.all(
    path,
    guarded(app, options, async (c) => answerOtherMethod(c.req.method, ['GET'])),
  );
  return { src: `${path}?v=${present}`, integrity: `sha384-${digestOf(source, 'base64')}` };
}

const PUBLIC_HEADERS = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff',
};

function versionOf(source: string): string {
  return digestOf(source, 'hex').slice(0, VERSION_LENGTH);
}

function digestOf(source: string, encoding: 'hex' | 'base64'): string {
  return createHash('sha384').update(source, 'utf8').digest(encoding);
}
