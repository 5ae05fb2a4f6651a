/** What forms have in common: a fault that is shown beside its field, and a limit that is said in minutes. */
import { PlatformError } from '@freehold/contracts';
import type { Limited } from '../accounts/contract.ts';
import type { Exchange, ProviderContext } from './lib/context.ts';
import type { PageContent } from './pages/layout.ts';
import { pageResponse } from './lib/responses.ts';

/** What the directory said is wrong with a field. */
export interface Invalid {
  readonly outcome: 'invalid';
  /** The field, as the directory names it. */
  readonly field: string;
  /** A sentence for the person who typed it. */
  readonly message: string;
}

const REFUSALS: ReadonlySet<string> = new Set(['conflict', 'not_found', 'validation_failed']);

/** The directory's answer, or what it found wrong with the input. Every other failure stays one. */
export async function orInvalid<T>(answer: Promise<T>): Promise<T | Invalid> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== 'validation_failed') throw error;
    return { outcome: 'invalid', field: error.errors?.[0]?.path ?? '', message: error.message };
  }
}

/** The directory's answer, or the sentence with which it refused: what was there is gone, or another tab was quicker. */
export async function orRefusal<T>(answer: Promise<T>): Promise<T | { readonly refusal: string }> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof PlatformError) || !REFUSALS.has(error.code)) throw error;
    return { refusal: error.message };
  }
}

/** The same page again with what is wrong (RFC 9110, 15.5.21). */
export function again(context: ProviderContext, exchange: Exchange, page: PageContent): Response {
  return pageResponse(context, exchange, page, { status: 422 });
}

/** The same page again, to somebody who tried too often (RFC 6585, section 4). */
export async function tooMany(
  context: ProviderContext,
  exchange: Exchange,
  { retryAfterMs }: Limited,
  page: (alert: string) => PageContent | Promise<PageContent>,
): Promise<Response> {
  const content = await page(`Too many attempts. Try again in ${minutes(retryAfterMs)}.`);
  return pageResponse(context, exchange, content, {
    status: 429,
    headers: { 'retry-after': retryAfter(retryAfterMs) },
  });
}

/** Seconds, rounded up. */
export function retryAfter(retryAfterMs: number): string {
  return String(Math.max(1, Math.ceil(retryAfterMs / 1_000)));
}

function minutes(ms: number): string {
  const count = Math.max(1, Math.ceil(ms / 60_000));
  return count === 1 ? 'a minute' : `${count} minutes`;
}
