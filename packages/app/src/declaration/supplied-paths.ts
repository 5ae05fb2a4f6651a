/** The addresses under `/api` that every instance serves beside its operations: no operation can have one of them. */
import { transfersOf } from '../records/records.ts';
import type { AppDeclaration } from './app.ts';
import type { AddressedRecord } from './records.ts';
import { worksOf } from './vertical-of.ts';

/** Below it are the requests of visitors of other sites. */
export const PUBLIC_PATH = '/public';

/** A path ends with `/*` where everything below it is supplied. */
const EVERYWHERE = [
  '/api/auth/*',
  '/api/me',
  '/api/claim',
  '/api/sessions',
  '/api/sessions/end-others',
  '/api/sessions/end-all',
  '/api/sessions/:id/end',
  '/api/members',
  '/api/members/:principal/role',
  '/api/members/:principal/remove',
  '/api/members/:principal/make-owner',
  '/api/invites',
  '/api/invites/:principal/revoke',
  '/api/accept-invite',
  '/api/denials',
  '/api/identity-events',
  '/api/settings',
  '/api/mcp',
  '/api/openapi.json',
  '/api/docs',
] as const;

/** The supplied paths of a declaration, those around its records included. */
export function suppliedPaths(
  { erasure, models, operations, works }: Pick<AppDeclaration, 'erasure' | 'models' | 'operations' | 'works'>,
  records: readonly AddressedRecord[],
): readonly string[] {
  const { persons = {} } = erasure ?? {};
  return [
    ...EVERYWHERE,
    ...(models === true ? ['/api/model-usage'] : []),
    ...(Object.keys(worksOf({ operations, works })).length > 0
      ? [
          '/api/long-works',
          '/api/long-works/:work',
          '/api/long-works/:work/cancel',
          '/api/long-works/:work/resume',
        ]
      : []),
    ...(records.some(({ hasPages }) => hasPages) ? ['/api/declaration'] : []),
    ...transfersOf(operations).flatMap(({ type, imports, exports }) => [
      ...(imports ? [`/api/${type}-imports/file`, `/api/${type}-imports/:import/errors.csv`] : []),
      ...(exports ? [`/api/${type}-exports/file`, `/api/${type}-exports/file.xlsx`] : []),
    ]),
    ...records.flatMap(({ path, type, attachments, hasPages }) => [
      `${path}/history`,
      ...(hasPages ? [`${path}/operations`] : []),
      ...(attachments
        ? [`${path}/attachments`, `${path}/attachments/:attachment`, `${path}/attachments/:attachment/remove`]
        : []),
      ...(Object.hasOwn(persons, type) ? [`${path}/erase`] : []),
    ]),
  ];
}

/** Whether a supplied path takes every request that a declared one could: it is mounted first. */
export function covers(supplied: string, declared: string): boolean {
  const theirs = declared.split('/');
  const ours = supplied.split('/');
  const isTree = ours.at(-1) === '*';
  if (isTree ? theirs.length < ours.length : theirs.length !== ours.length) return false;
  return ours.every((part, index) => part === '*' || part.startsWith(':') || part === theirs[index]);
}
