/** The rule for programs on `/oauth/programs`, for admins: what is let in, and what a change would end before it is made. */
import { PlatformError, parseInput } from '@freehold/contracts';
import type { HostAdmin, MemberActor } from '@freehold/directory';
import { adminOperations, type ProgramPolicyRecord } from '@freehold/directory/declarations';
import type { z } from 'zod';
import { type Html, html, pageResponse } from '../staff/page.ts';

const { 'program-policy.get': get, 'program-policy.put': put } = adminOperations;

type Policy = z.output<typeof put.input.body>;

const RULES: Readonly<Record<Policy['programs'], string>> = {
  any: 'Any program that a member lets in',
  listed: 'Those of these hosts',
  none: 'None',
};

export interface PolicyFormDeps {
  readonly hostAdmin: Pick<HostAdmin, 'perform'>;
  /** The address that the form is sent to. */
  readonly path: string;
}

/** A request of a member. */
interface Asked {
  readonly member: MemberActor;
  readonly requestId: string;
}

export interface PolicyForm {
  /** The form for an admin, and nothing for any other member. */
  show(asked: Asked): Promise<Html>;
  /** Whether a form that was sent is this one. */
  isOf(form: URLSearchParams): boolean;
  /**
   * Answers the form: first what would end, then the rule is set. Null once it is set.
   * @throws PlatformError as `program-policy.put` does.
   */
  answer(form: URLSearchParams, asked: Asked): Promise<Response | null>;
}

export function makePolicyForm({ hostAdmin, path }: PolicyFormDeps): PolicyForm {
  const perform = async (operation: typeof get | typeof put, asked: Asked, more: object = {}) => {
    const call = { params: {}, query: {}, body: {}, ...more };
    const { member: actor, requestId } = asked;
    return (await hostAdmin.perform({ ...call, operation: operation.name, actor, requestId })).value;
  };
  return {
    show: async (asked) => {
      if (asked.member.kind !== 'staff' || asked.member.role !== 'admin') return html``;
      const policy = (await perform(get, asked)) as ProgramPolicyRecord;
      return html`<h2>Which programs are let in</h2><form method="post" action="${path}"><input type="hidden" name="version" value="${policy.etag}">${fields(policy)}<button name="rule" value="look">Go on</button></form>`;
    },
    isOf: (form) => form.has('rule'),
    answer: async (form, asked) => {
      const body = parseInput('The form', put.input.body, readPolicy(form));
      const ifMatch = form.get('version') ?? '';
      if (form.get('rule') === 'set') {
        await perform(put, asked, { body, ifMatch });
        return null;
      }
      const plan = put.plan.parse(await perform(put, asked, { body, ifMatch, query: { dryRun: true } }));
      return planPage(path, { body, ifMatch, plan });
    },
  };
}

function fields({ programs, hosts }: Pick<Policy, 'programs' | 'hosts'>): Html {
  const options = Object.entries(RULES).map(
    ([value, words]) =>
      html`<label class="check"><input type="radio" name="programs" value="${value}"${value === programs ? html` checked` : html``}> ${words}</label>`,
  );
  return html`<fieldset><legend>Programs of staff and builders</legend>${options}<label>Hosts, one on a line (the command line is 127.0.0.1) <textarea name="hosts" rows="4" spellcheck="false">${hosts.join('\n')}</textarea></label></fieldset>`;
}

/** The fields of the form as the operation takes them. Hosts count with `listed` alone. */
function readPolicy(form: URLSearchParams): object {
  const programs = form.get('programs');
  const hosts = (form.get('hosts') ?? '').split(/[\s,]+/).filter((each) => each !== '');
  return { programs, ...(programs === 'listed' ? { hosts: hosts.map((each) => each.toLowerCase()) } : {}) };
}

interface Planned {
  readonly body: Policy;
  readonly ifMatch: string;
  readonly plan: z.output<typeof put.plan>;
}

function planPage(path: string, { body, ifMatch, plan }: Planned): Response {
  const { programs, hosts } = body;
  const passedOn = { version: ifMatch, programs, hosts: hosts.join('\n') };
  const hidden = Object.entries(passedOn).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  return pageResponse({
    title: 'Set which programs are let in?',
    body: html`<dl><dt>Let in</dt><dd>${RULES[programs]}${programs === 'listed' ? html`: ${hosts.join(', ') || 'none is listed'}` : html``}</dd><dt>Programs that end at once</dt><dd>${String(plan.programs)}</dd><dt>Staff tokens that end at once</dt><dd>${String(plan.tokens)}</dd></dl>
<form method="post" action="${path}">${hidden}<button name="rule" value="set">Set it</button></form><p><a href="${path}">Back, without a change</a></p>`,
  });
}

/** The sentence for the person whose form was refused; null for what is no mistake of theirs. */
export function refusedRule(error: unknown): { readonly said: string; readonly status: number } | null {
  if (!(error instanceof PlatformError)) return null;
  if (error.code === 'precondition_failed')
    return { said: 'The rule was changed meanwhile: look at it again.', status: error.status };
  return error.code === 'validation_failed' ? { said: error.message, status: error.status } : null;
}
