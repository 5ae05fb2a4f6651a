/**
 * Device codes (RFC 8628): the page at which a member of the roster types the code that a program shows, and decides
 * (section 3.3), and the limit of new codes.
 */
import { OAuthError, readFormBody } from '@freehold/auth/programs';
import {
  type Allowance,
  answerOtherMethod,
  makeRateLimiter,
  type RateLimit,
  requireSameOrigin,
  UNKNOWN_ADDRESS,
} from '@freehold/contracts/http';
import type { MemberActor } from '@freehold/directory';
import type { Hono } from 'hono';
import type { ControlPlaneEnv } from '../http/env.ts';
import { type Html, html, pageResponse } from '../staff/page.ts';
import { signInAddress } from '../staff/sign-in-routes.ts';
import { type StaffOptions, staffOf, wordsOf } from '../staff/staff-options.ts';
import { notAdmittedPage } from './program-consent.ts';
import { clientName } from './requests.ts';

const PATH = '/device';
/** More than a person types for eight letters. */
const CODE_CHARS_MAX = 20;
const DECISIONS = ['look', 'approve', 'deny'] as const;

export function mountDevicePage(
  app: Hono<ControlPlaneEnv>,
  { staff, origin }: { readonly staff: StaffOptions; readonly origin: () => string },
): void {
  app.get(PATH, async (c) => {
    const code = codeOf(new URL(c.req.url).searchParams);
    const member = await staffOf(staff, c.req.raw);
    // A code in the address is filled in, and never decided on: a link proves nothing (section 5.4).
    return member ? codePage(code) : toSignIn(code);
  });

  app.post(PATH, async (c) => {
    requireSameOrigin(c.req.raw.headers, origin, { pageOnly: true });
    let form: URLSearchParams;
    try {
      form = await readFormBody(c.req.raw);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      return codePage('', html`<p>${error.message}</p>`, 400);
    }
    const userCode = codeOf(form);
    const member = await staffOf(staff, c.req.raw);
    if (!member) return toSignIn(userCode);
    if (!(await staff.signIns.programs.admits({ host: null }))) return notAdmittedPage('any program');
    const decision = DECISIONS.find((each) => each === form.get('decision')) ?? 'look';
    const outcome = await staff.signIns.decideDevice({ member: member.id, userCode, decision });
    if ('refused' in outcome) {
      if (outcome.refused === 'too_many_tries') return tooManyTriesPage(outcome.retryAfterMs);
      return codePage(
        userCode,
        html`<p>This code does not work. Compare it, or start again in the program.</p>`,
        400,
      );
    }
    const name = clientName(outcome.client) ?? 'The program';
    if (decision === 'look') return confirmPage({ name, userCode, member });
    return pageResponse({
      title: decision === 'approve' ? 'The program is connected' : 'The program was refused',
      body: html`<p>Go back to it. You can close this page.</p>`,
    });
  });
  app.all(PATH, (c) => answerOtherMethod(c.req.raw.method, ['GET', 'POST']));
}

function codeOf(fields: URLSearchParams): string {
  return (fields.get('user_code') ?? '').slice(0, CODE_CHARS_MAX);
}

function toSignIn(code: string): Response {
  const back = code === '' ? PATH : `${PATH}?${new URLSearchParams({ user_code: code })}`;
  return new Response(null, {
    status: 303,
    headers: { location: signInAddress(back), 'cache-control': 'no-store' },
  });
}

function codePage(code: string, fault: Html = html``, status = 200): Response {
  return pageResponse({
    title: 'Connect a program',
    status,
    body: html`${fault}<form method="post" action="${PATH}"><label>The code that it shows <input name="user_code" value="${code}" required autocomplete="off" spellcheck="false" maxlength="20"></label><button name="decision" value="look">Go on</button></form>`,
  });
}

function tooManyTriesPage(retryAfterMs: number): Response {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  const minutes = Math.ceil(seconds / 60);
  const wait = minutes === 1 ? 'a minute' : `${minutes} minutes`;
  const fault = html`<p>Too many wrong codes. Wait ${wait}, and start again in the program.</p>`;
  const page = codePage('', fault, 429);
  page.headers.set('retry-after', String(seconds));
  return page;
}

function confirmPage({
  name,
  userCode,
  member,
}: {
  readonly name: string;
  readonly userCode: string;
  readonly member: MemberActor;
}): Response {
  return pageResponse({
    title: `${name} asks to act for you`,
    body: html`<p>It will be able to do what you can do here, for 30 days or until you revoke it.</p>
<p>Allow it only if a program that you have just started yourself shows the code <code>${userCode.toUpperCase()}</code>. If another person sent you the code or a link with it, cancel.</p>
<form method="post" action="${PATH}"><input type="hidden" name="user_code" value="${userCode}"><button name="decision" value="approve">Allow</button><button name="decision" value="deny">Cancel</button></form>
<p><small>You are ${wordsOf(member)}.</small></p>`,
  });
}

/** An IPv4 address, or of IPv6 a /48: `192.0.2.1`, `2001:db8:1::/48`. Null: unknown. */
export type SourceOfCodes = string | null;

export interface DeviceLimits {
  /** The share of one source of known address. */
  readonly source: RateLimit;
  /** The share of all sources of unknown address. */
  readonly unknown: RateLimit;
  /** All sources together, each within its share. */
  readonly together: RateLimit;
  /** All sources together beyond their share. */
  readonly beyond: RateLimit;
}

/**
 * The limits of new device codes. No caller proves itself, and pending codes replace each other when there are too
 * many (`startDevice` of the directory), so that all sources share one limit.
 * Each source has a share of it. Beyond its share it is not refused, but competes only with other sources beyond
 * theirs: otherwise one network could use up the whole limit.
 * Honest use reaches none: a class behind one address is fewer than fifty people, and two thousand sign-ins a minute
 * are no staff. To use up `together` takes 400 sources, each within its share; one source beyond its share can use up
 * `beyond`. A new code waits at least a minute: 5,000 may wait.
 */
export const DEVICE_LIMITS: DeviceLimits = {
  source: { calls: 50, windowSeconds: 600 },
  unknown: { calls: 1_000, windowSeconds: 600 },
  together: { calls: 2_000, windowSeconds: 60 },
  beyond: { calls: 500, windowSeconds: 60 },
};

/** A code beyond the limit. */
export interface TooManyCodes {
  /** The limit that is exhausted. */
  readonly limit: RateLimit;
  readonly allowance: Allowance;
}

/** Counts a code. Returns null while it may be issued. */
export type DeviceLimiter = (source: SourceOfCodes) => TooManyCodes | null;

/**
 * Counts in this process alone.
 * @param now returns milliseconds.
 */
export function makeDeviceLimiter(now: () => number, limits: DeviceLimits = DEVICE_LIMITS): DeviceLimiter {
  const each = makeRateLimiter(now, limits.source);
  const unknown = makeRateLimiter(now, limits.unknown);
  const together = makeRateLimiter(now, limits.together);
  const beyond = makeRateLimiter(now, limits.beyond);
  return (source) => {
    const share = (source === null ? unknown : each).take(source ?? UNKNOWN_ADDRESS);
    const { limit, take } = share.admitted ? together : beyond;
    const allowance = take(UNKNOWN_ADDRESS);
    return allowance.admitted ? null : { limit, allowance };
  };
}

/**
 * The source of a sender. One site has at most a /48 of IPv6 (RFC 6177), which is 65,536 senders of a /64 each.
 * @param sender as `senderOf` returns it.
 */
export function sourceOfCodes(sender: string): SourceOfCodes {
  if (sender === UNKNOWN_ADDRESS) return null;
  const [groups = '', length] = sender.split('::/');
  return length === undefined ? sender : `${groups.split(':').slice(0, 3).join(':')}::/48`;
}
