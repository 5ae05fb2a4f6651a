/** One request for a page about programs: who asks, in which language, and the frame around the answer. */
import type { VerifiedSubject } from '@freehold/auth';
import { PlatformError, type PrincipalId } from '@freehold/contracts';
import type { AppContext, Instance, SignIn } from '../declaration/env.ts';
import { PATHS, type PageContent, pageResponse } from '../pages/frame.ts';
import type { Texts } from '../pages/texts/shape.ts';
import { chooseTexts, type Spoken } from '../pages/texts/tables.ts';
import { requireNode, requirePerson } from '../request/caller.ts';
import type { ProgramParts } from './parts.ts';

export interface Visit {
  readonly c: AppContext;
  readonly parts: ProgramParts;
  readonly node: Instance;
  readonly spoken: Spoken;
  readonly t: Texts;
  readonly business: string;
  readonly signIn: SignIn;
  /** Null for an anonymous visitor. */
  readonly subject: VerifiedSubject | null;
  /** Null for a person who is no member. */
  readonly principal: PrincipalId | null;
}

/** @throws PlatformError `forbidden`, reason `program_not_allowed`, for a program: it cannot let another one in. */
export async function openVisit(parts: ProgramParts, c: AppContext): Promise<Visit> {
  const node = requireNode(c);
  const { signIn, subject, principal, grant } = await parts.signIn.recognise(c);
  requirePerson(grant);
  const spoken = chooseTexts(parts.look?.language, c.req.header('accept-language'));
  const business = await parts.nameOf(node);
  return { c, parts, node, spoken, t: spoken.texts, business, signIn, subject, principal };
}

/** A member in a browser. */
export interface MemberVisit extends Visit {
  readonly subject: VerifiedSubject & Required<Pick<VerifiedSubject, 'session'>>;
  readonly principal: PrincipalId;
}

export function isMemberVisit(visit: Visit): visit is MemberVisit {
  return visit.subject?.session !== undefined && visit.principal !== null;
}

/** @throws PlatformError `unauthenticated`; `forbidden`, reason `not_a_member`. */
export async function openMemberVisit(parts: ProgramParts, c: AppContext): Promise<MemberVisit> {
  const visit = await openVisit(parts, c);
  if (isMemberVisit(visit)) return visit;
  if (visit.subject) throw new PlatformError('forbidden', notMember(visit), { reason: 'not_a_member' });
  throw new PlatformError('unauthenticated', 'Sign in first.');
}

export function notMember({ t, business }: Visit): string {
  return t.front.notMemberWhat(business);
}

export function showPage(visit: Visit, content: PageContent): Promise<Response> {
  const { parts, spoken, business, t, principal, c } = visit;
  const places =
    principal === null
      ? []
      : [
          { path: PATHS.front, name: t.frame.home },
          { path: PATHS.programs, name: t.programs.title },
        ];
  // For browsers that do not know `frame-ancestors`: a person who is asked for consent must see what they press.
  const headers = new Headers({ 'x-frame-options': 'DENY' });
  return pageResponse({ look: parts.pageLook, spoken, business, places, path: c.req.path }, content, headers);
}
