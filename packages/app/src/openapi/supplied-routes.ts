/** The supplied routes in the application's OpenAPI document. A test compares the list with what is mounted. */
import {
  acceptedInvite,
  acceptInviteBody,
  createdInvite,
  createInviteBody,
  invitePreview,
  inviteRecord,
  revokeInviteBody,
} from '@freehold/auth/invite-routes';
import { pageOf, pageQuery, principalId, roleKey } from '@freehold/contracts';
import { type DescribedRoute, PROBLEM_DOC_ROUTES } from '@freehold/vertical-host';
import { z } from 'zod';
import type { App } from '../declaration/app.ts';
import type { AddressedRecord } from '../declaration/records.ts';
import { XLSX_TYPE } from '../record-files/xlsx-writer.ts';
import { type Transfers, transfersOf } from '../records/records.ts';
import { importSchema } from '../records/transfers.ts';
import { declarationResponse, offeredResponse } from '../wire/declared.ts';
import {
  attachmentsResponse,
  changeRoleBody,
  claimBody,
  denialsResponse,
  emptyBody,
  endedOthersResponse,
  erasedResponse,
  historyResponse,
  identityEventsQuery,
  identityEventsResponse,
  longWorkEntry,
  longWorksResponse,
  membersResponse,
  meResponse,
  modelUsageResponse,
  sessionsResponse,
  settingsResponse,
} from '../wire/wire.ts';

/** Descriptions of the groups of supplied routes. */
export const SUPPLIED_TAGS: Readonly<Record<string, string>> = {
  account: 'The caller: who they are here, their sessions, and signing in.',
  team: 'Members, their roles, invites and the owner.',
  settings: 'The settings of this instance.',
  logs: 'Refused attempts, sign-ins and changes of the team.',
  model: 'The accounts of language models.',
  'long-work': 'What takes longer than a request, and is done step by step.',
  service: 'The API itself: its document, its tools and its failures.',
};

/** The supplied routes of an application. */
export function suppliedRoutes({
  records,
  erasure,
  publicSurface,
  models,
  operations,
  vertical,
}: App): DescribedRoute[] {
  const persons = erasure?.persons ?? {};
  return [
    ...ACCOUNT,
    ...TEAM,
    ...LOGS,
    SETTINGS,
    ...(models === true ? [MODEL_USAGE] : []),
    ...(Object.keys(vertical.works ?? {}).length > 0 ? LONG_WORKS : []),
    ...transfersOf(operations).flatMap((type) => fileRoutes(type, operations)),
    ...(records.some(({ hasPages }) => hasPages) ? [DECLARATION] : []),
    ...records.flatMap((record) => [
      historyRoute(record),
      ...(record.hasPages ? [offeredRoute(record)] : []),
      ...(record.attachments ? attachmentRoutes(record) : []),
      ...(Object.hasOwn(persons, record.type) ? [erasureRoute(record)] : []),
    ]),
    ...(publicSurface?.script === undefined ? [] : [scriptRoute(publicSurface.script.path)]),
    ...PROBLEM_DOC_ROUTES,
  ];
}

const page = z.strictObject(pageQuery);
const done = z.strictObject({});
const named = z.object({ principal: principalId });
const member = { params: z.object({ principal: principalId }), body: emptyBody, answer: named };

const ACCOUNT: readonly DescribedRoute[] = [
  {
    name: 'account/me',
    method: 'GET',
    path: '/api/me',
    summary: 'Say who the caller is here',
    answer: meResponse,
    security: 'optional',
  },
  {
    name: 'account/sign-in',
    method: 'GET',
    path: '/api/auth/login',
    summary: 'Sign in with a browser',
    description:
      'Shows the sign-in of this instance or leads to its issuer, and from there back to `returnTo`.',
    query: z.object({ returnTo: z.string().optional() }),
    answer: { 'text/html': z.string() },
    otherAnswers: { 302: 'To the issuer.' },
    security: 'none',
  },
  {
    name: 'account/sign-out',
    method: 'POST',
    path: '/api/auth/logout',
    summary: 'Sign out',
    answer: { 'text/html': z.string() },
    otherAnswers: { 302: 'To the issuer, or to the first page.' },
    security: 'optional',
  },
  {
    name: 'session/list',
    tag: 'account',
    method: 'GET',
    path: '/api/sessions',
    summary: 'List the sessions of the caller',
    answer: sessionsResponse,
  },
  {
    name: 'session/end',
    tag: 'account',
    method: 'POST',
    path: '/api/sessions/:id/end',
    summary: 'End one session of the caller',
    body: emptyBody,
    answer: done,
  },
  {
    name: 'session/end-others',
    tag: 'account',
    method: 'POST',
    path: '/api/sessions/end-others',
    summary: 'End all sessions of the caller but this one',
    body: emptyBody,
    answer: endedOthersResponse,
  },
  {
    name: 'session/end-all',
    tag: 'account',
    method: 'POST',
    path: '/api/sessions/end-all',
    summary: 'End all sessions of the caller',
    body: emptyBody,
    answer: done,
  },
];

const TEAM: readonly DescribedRoute[] = [
  {
    name: 'member/list',
    tag: 'team',
    method: 'GET',
    path: '/api/members',
    summary: 'List the members',
    description:
      'List the members. Needs the permission `team.read`; addresses are shown with `member.manage`.',
    query: page,
    answer: membersResponse,
  },
  {
    name: 'member/change-role',
    tag: 'team',
    method: 'POST',
    path: '/api/members/:principal/role',
    summary: 'Change the role of a member',
    ...member,
    body: changeRoleBody,
    answer: named.extend({ role: roleKey }),
  },
  {
    name: 'member/remove',
    tag: 'team',
    method: 'POST',
    path: '/api/members/:principal/remove',
    summary: 'Remove a member',
    ...member,
  },
  {
    name: 'member/make-owner',
    tag: 'team',
    method: 'POST',
    path: '/api/members/:principal/make-owner',
    summary: 'Hand the owner seat over',
    ...member,
  },
  {
    name: 'invite/list',
    tag: 'team',
    method: 'GET',
    path: '/api/invites',
    summary: 'List invites, or show the one of a link',
    description:
      'Lists the invites; needs the permission `member.manage`. With `token` it shows the invite to the holder of the link, who needs no credential.',
    query: page.extend({ token: z.string().optional() }),
    answer: z.union([pageOf(inviteRecord), invitePreview]),
    security: 'optional',
  },
  {
    name: 'invite/create',
    tag: 'team',
    method: 'POST',
    path: '/api/invites',
    summary: 'Invite a person',
    description: 'Invite a person. The link is shown once. Needs the permission `member.manage`.',
    body: createInviteBody,
    answer: createdInvite,
    status: 201,
  },
  {
    name: 'invite/revoke',
    tag: 'team',
    method: 'POST',
    path: '/api/invites/:principal/revoke',
    summary: 'Revoke an invite',
    params: member.params,
    body: revokeInviteBody,
    answer: z.object({ invite: inviteRecord }),
  },
  {
    name: 'invite/accept',
    tag: 'team',
    method: 'POST',
    path: '/api/accept-invite',
    summary: 'Accept an invite',
    body: acceptInviteBody,
    answer: acceptedInvite,
  },
  {
    name: 'owner/claim',
    tag: 'team',
    method: 'POST',
    path: '/api/claim',
    summary: 'Become the owner by the link of the operator',
    body: claimBody,
    answer: z.looseObject({ principal: principalId }),
  },
];

const LOGS: readonly DescribedRoute[] = [
  {
    name: 'denial/list',
    tag: 'logs',
    method: 'GET',
    path: '/api/denials',
    summary: 'List refused attempts, newest first',
    description: 'List refused attempts, newest first. Needs the permission `audit.read`.',
    query: page,
    answer: denialsResponse,
  },
  {
    name: 'identity-event/list',
    tag: 'logs',
    method: 'GET',
    path: '/api/identity-events',
    summary: 'List sign-ins and changes of the team, newest first',
    description:
      'List sign-ins and changes of the team, newest first. A page may be short and yet not be the last. Needs the permission `member.manage`.',
    query: identityEventsQuery,
    answer: identityEventsResponse,
  },
];

const oneWork = { tag: 'long-work', params: z.object({ work: z.string() }), answer: longWorkEntry };

const LONG_WORKS: readonly DescribedRoute[] = [
  {
    name: 'long-work/list',
    tag: 'long-work',
    method: 'GET',
    path: '/api/long-works',
    summary: 'List the long works that the caller started, newest first',
    query: page,
    answer: longWorksResponse,
  },
  {
    ...oneWork,
    name: 'long-work/get',
    method: 'GET',
    path: '/api/long-works/:work',
    summary: 'Show one long work',
    description: 'Show one long work to the caller who started it, and to those with its permission.',
  },
  {
    ...oneWork,
    name: 'long-work/cancel',
    method: 'POST',
    path: '/api/long-works/:work/cancel',
    summary: 'Cancel one long work',
    description: 'Cancel one long work: what it wrote is taken back.',
    body: emptyBody,
  },
  {
    ...oneWork,
    name: 'long-work/resume',
    method: 'POST',
    path: '/api/long-works/:work/resume',
    summary: 'Resume one long work that was halted',
    description: 'Have the rest of a work done that was halted in a copy. Needs its permission.',
    body: emptyBody,
  },
];

const SETTINGS: DescribedRoute = {
  name: 'setting/list',
  tag: 'settings',
  method: 'GET',
  path: '/api/settings',
  summary: 'List the settings of this instance',
  description:
    'List the settings of this instance, where each value is from, and how long history is kept. The value of a secret is left out. Needs the permission `member.manage`.',
  answer: settingsResponse,
};

const MODEL_USAGE: DescribedRoute = {
  name: 'model-usage/get',
  tag: 'model',
  method: 'GET',
  path: '/api/model-usage',
  summary: 'Get the language model and its tokens of this month',
  description:
    'Get the language model of this instance or the reason why there is none, its tokens of this month with their limit, and the refusal that a call would meet now. Needs the permission `member.manage`.',
  answer: modelUsageResponse,
};

const DECLARATION: DescribedRoute = {
  name: 'service/declaration',
  tag: 'service',
  method: 'GET',
  path: '/api/declaration',
  summary: 'Get the types of records and the operations that the caller may use',
  description:
    'Get the types of records with their fields, and the operations that the caller may perform, on all records or on some, with the fields of their inputs. Pages are made from it.',
  answer: declarationResponse,
};

function offeredRoute({ type, path }: AddressedRecord): DescribedRoute {
  return {
    name: `${type}-operations/list`,
    tag: type,
    method: 'GET',
    path: `${path}/operations`,
    summary: `List the operations that the caller may perform on one ${type} now`,
    answer: offeredResponse,
  };
}

function fileRoutes({ type, imports, exports }: Transfers, operations: App['operations']): DescribedRoute[] {
  const about = { tag: type };
  const csv = { answer: { 'text/csv': z.string() } };
  const query = operations[`${type}/export`]?.input as z.ZodObject | undefined;
  return [
    ...(imports
      ? [
          {
            ...about,
            name: `${type}-import/send`,
            method: 'POST' as const,
            path: `/api/${type}-imports/file`,
            summary: `Import a file of records of the type ${type}`,
            description:
              'The body is the file: CSV in UTF-8 or UTF-16, of at most 50 MiB, or a workbook (XLSX) of at most 20 MiB, of which the first sheet is read.',
            query: z.strictObject({ filename: z.string().max(255).optional() }),
            body: {
              'text/csv': null,
              [XLSX_TYPE]: null,
            },
            answer: importSchema,
            status: 201 as const,
          },
          {
            ...about,
            ...csv,
            name: `${type}-import/errors`,
            method: 'GET' as const,
            path: `/api/${type}-imports/:import/errors.csv`,
            summary: 'Download the lines of an import that have errors',
          },
        ]
      : []),
    ...(exports && query
      ? [
          {
            ...about,
            ...csv,
            name: `${type}-export/download`,
            method: 'GET' as const,
            path: `/api/${type}-exports/file`,
            summary: `Download records of the type ${type} as CSV`,
            query: query.omit({ cursor: true }),
          },
          {
            ...about,
            answer: { [XLSX_TYPE]: z.string() },
            name: `${type}-export/download-workbook`,
            method: 'GET' as const,
            path: `/api/${type}-exports/file.xlsx`,
            summary: `Download records of the type ${type} as a workbook`,
            query: query.omit({ cursor: true }),
          },
        ]
      : []),
  ];
}

function historyRoute({ type, path }: AddressedRecord): DescribedRoute {
  return {
    name: `${type}-history/list`,
    tag: type,
    method: 'GET',
    path: `${path}/history`,
    summary: `List the history of one ${type}, oldest first`,
    description: `List the history of one ${type}, oldest first. Needs what reading the ${type} needs.`,
    query: page,
    answer: historyResponse,
  };
}

function attachmentRoutes({ type, path }: AddressedRecord): DescribedRoute[] {
  const about = { tag: type };
  const files = `${path}/attachments`;
  return [
    {
      ...about,
      name: `${type}-attachment/list`,
      method: 'GET',
      path: files,
      summary: `List the files of one ${type}`,
      answer: attachmentsResponse,
    },
    {
      ...about,
      name: `${type}-attachment/add`,
      method: 'POST',
      path: files,
      summary: `Attach a file to one ${type}`,
      description: `Attach a file to one ${type}. The body is the file, and its type is the content type.`,
      query: z.strictObject({ filename: z.string() }),
      body: { '*/*': null },
      answer: z.object({ id: z.string() }),
      status: 201,
    },
    {
      ...about,
      name: `${type}-attachment/get`,
      method: 'GET',
      path: `${files}/:attachment`,
      summary: `Get a file of one ${type}`,
      description: `Get a file of one ${type}, whole or a range of it, in its stored type.`,
      query: z.strictObject({ show: z.literal('inline').optional() }),
      answer: { '*/*': null },
      headers: ['ETag'],
      otherAnswers: {
        206: 'The part that Range asks for.',
        304: 'Unchanged since the version in If-None-Match.',
      },
    },
    {
      ...about,
      name: `${type}-attachment/remove`,
      method: 'POST',
      path: `${files}/:attachment/remove`,
      summary: `Remove a file of one ${type}`,
      body: emptyBody,
      answer: z.object({ id: z.string() }),
    },
  ];
}

function erasureRoute({ type, path }: AddressedRecord): DescribedRoute {
  return {
    name: `${type}-erasure/create`,
    tag: type,
    method: 'POST',
    path: `${path}/erase`,
    summary: `Erase one ${type} for good`,
    description: `Erase everything about one ${type} for good, and answer a receipt of it.`,
    body: emptyBody,
    answer: erasedResponse,
  };
}

function scriptRoute(path: string): DescribedRoute {
  return {
    name: 'service/widget-script',
    tag: 'service',
    method: 'GET',
    path,
    summary: 'Get the script of the widget',
    query: z.object({ v: z.string().optional() }),
    answer: { 'text/javascript': z.string() },
    headers: ['ETag'],
    otherAnswers: { 304: 'Unchanged since the version in If-None-Match.' },
    security: 'none',
  };
}
