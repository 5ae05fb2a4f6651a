/**
 * `/oauth/programs`: the programs that a member of the roster let in, seen and ended. An admin sees those of everybody, and
 * sets the rule for them.
 */
import { OAuthError, readFormBody } from '@freehold/auth/programs';
import { ID_PREFIXES, PlatformError, toTimestamp } from '@freehold/contracts';
import { answerOtherMethod, requireSameOrigin } from '@freehold/contracts/http';
import { type HostAdmin, type MemberActor, offeredPermissions, type StaffProgram } from '@freehold/directory';
import type { Hono } from 'hono';
import type { ControlPlaneEnv } from '../http/env.ts';
import { type Html, html, pageResponse } from '../staff/page.ts';
import { signInAddress } from '../staff/sign-in-routes.ts';
import { type StaffOptions, staffOf, wordsOf } from '../staff/staff-options.ts';
import { makePolicyForm, refusedRule } from './program-policy-form.ts';
import { clientName } from './requests.ts';

export const PROGRAMS_PATH = '/oauth/programs';

export interface ProgramsPageDeps {
  readonly staff: StaffOptions;
  readonly origin: () => string;
  readonly hostAdmin: Pick<HostAdmin, 'perform'>;
}

/** A member with a request. */
interface Visit {
  readonly member: MemberActor;
  readonly requestId: string;
}

export function mountProgramsPage(
  app: Hono<ControlPlaneEnv>,
  { staff, origin, hostAdmin }: ProgramsPageDeps,
): void {
  const { programs } = staff.signIns;
  const rule = makePolicyForm({ hostAdmin, path: PROGRAMS_PATH });
  const show = async (
    { member, requestId }: Visit,
    { said = '', status = 200 }: Partial<Refused> = {},
  ): Promise<Response> => {
    const items = await programs.list({ member: member.id });
    return programsPage(member, items, { said, status, rule: await rule.show({ member, requestId }) });
  };

  /** Ends a program or staff token; false for one that is not there, or not theirs. */
  const end = async ({ member: actor, requestId }: Visit, id: string): Promise<boolean> => {
    const [operation, params] = id.startsWith(`${ID_PREFIXES.token}_`)
      ? ['staff-tokens.revoke', { token: id }]
      : ['staff-programs.end', { program: id }];
    try {
      await hostAdmin.perform({ operation, params, query: {}, body: {}, actor, requestId });
      return true;
    } catch (error) {
      if (error instanceof PlatformError && error.code === 'not_found') return false;
      throw error;
    }
  };

  app.get(PROGRAMS_PATH, async (c) => {
    const member = await staffOf(staff, c.req.raw);
    const { requestId } = c.var;
    return member ? show({ member, requestId }) : redirect(signInAddress(PROGRAMS_PATH));
  });

  app.post(PROGRAMS_PATH, async (c) => {
    requireSameOrigin(c.req.raw.headers, origin, { pageOnly: true });
    const member = await staffOf(staff, c.req.raw);
    if (!member) return redirect(signInAddress(PROGRAMS_PATH));
    const { requestId } = c.var;
    const visit: Visit = { member, requestId };
    let form: URLSearchParams;
    try {
      form = await readFormBody(c.req.raw);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      return show(visit, { said: error.message, status: 400 });
    }
    if (rule.isOf(form)) {
      try {
        return (await rule.answer(form, visit)) ?? redirect(PROGRAMS_PATH);
      } catch (error) {
        const refused = refusedRule(error);
        if (!refused) throw error;
        return show(visit, refused);
      }
    }
    if (form.get('everywhere') === 'yes') {
      await programs.signOutEverywhere({ member: member.id, requestId });
      return redirect('/');
    }
    return (await end(visit, form.get('program') ?? ''))
      ? redirect(PROGRAMS_PATH)
      : show(visit, { said: 'This program was ended before.', status: 404 });
  });
  app.all(PROGRAMS_PATH, (c) => answerOtherMethod(c.req.raw.method, ['GET', 'POST']));
}

interface Refused {
  readonly said: string;
  readonly status: number;
}

function programsPage(
  member: MemberActor,
  items: readonly StaffProgram[],
  { said, status, rule }: Refused & { readonly rule: Html },
): Response {
  const own = items.filter((each) => each.member === member.id);
  const others = items.filter((each) => each.member !== member.id);
  return pageResponse({
    title: 'Connected programs',
    status,
    body: html`${said === '' ? html`` : html`<p role="alert">${said}</p>`}<p>Programs act for you, and never do more than you may do yourself. End one here, and its next request is refused.</p>
<h2>Yours</h2>${list(own, false)}${others.length > 0 ? html`<h2>Those of others</h2>${list(others, true)}` : html``}
<form method="post" action="${PROGRAMS_PATH}"><input type="hidden" name="everywhere" value="yes"><button>End all of yours, and sign out everywhere</button></form>${rule}
<p><small>You are ${wordsOf(member)}. <a href="/">Back</a></small></p>`,
  });
}

function list(items: readonly StaffProgram[], isOfOthers: boolean): Html {
  return items.length === 0
    ? html`<p>There are none.</p>`
    : html`${items.map((item) => entry(item, isOfOthers))}`;
}

function entry(item: StaffProgram, isOfOthers: boolean): Html {
  const { id, memberName, host, lastUsedAtMs, lastUsedFrom, createdAtMs, expiresAtMs } = item;
  const name = (item.kind === 'token' ? clientName(item.name) : undefined) ?? item.name;
  const used =
    lastUsedAtMs === null
      ? 'never'
      : `${moment(lastUsedAtMs)}${lastUsedFrom === null ? '' : `, from ${lastUsedFrom}`}`;
  const facts: readonly (readonly [string, string | null])[] = [
    ['Acts for', isOfOthers ? memberName : null],
    ['From', host],
    ['It may', accessWords(item)],
    ['Since', moment(createdAtMs)],
    ['Last used', used],
    ['Until', moment(expiresAtMs)],
  ];
  return html`<section><h3>${name}</h3><dl>${facts.map(([label, value]) =>
    value === null ? html`` : html`<dt>${label}</dt><dd>${value}</dd>`,
  )}</dl><form method="post" action="${PROGRAMS_PATH}"><input type="hidden" name="program" value="${id}"><button aria-label="End ${name}">End</button></form></section>`;
}

function accessWords({ allowed }: StaffProgram): string {
  if (allowed.access !== 'some')
    return allowed.access === 'all' ? 'do everything that its person may do' : 'read';
  const words = new Map<string, string>([...offeredPermissions('admin'), ...offeredPermissions('builder')]);
  return ['read', ...allowed.permissions.map((key) => words.get(key)?.toLowerCase() ?? key)].join('; ');
}

/** `2026-11-28 04:00 UTC` */
function moment(atMs: number): string {
  return `${toTimestamp(atMs).slice(0, 16).replace('T', ' ')} UTC`;
}

function redirect(location: string): Response {
  return new Response(null, { status: 303, headers: { location, 'cache-control': 'no-store' } });
}
