/** The routes that pages of records are made from: what the application declares for a caller, and for one record. */
import { isAllowedByGrant } from '@freehold/kernel';
import { isReadOnly } from '@freehold/operations';
import type { Hono } from 'hono';
import type { z } from 'zod';
import type { AppContext, AppEnv, Services } from '../declaration/env.ts';
import type { AddressedRecord } from '../declaration/records.ts';
import { type Holdings, holdingsOf, mayPerform } from '../mcp/callers.ts';
import { actingCaller, scopeOf } from '../request/caller.ts';
import { readRecord } from '../request/records.ts';
import { mountRoutes } from '../request/routes.ts';
import type { Declaration, DeclaredKind, offeredResponse } from '../wire/declared.ts';
import { declaredApp, type JudgedOperation } from './declared-app.ts';

/** Mounts them for an application with records; one without has no such addresses. */
export function mountDeclaration(app: Hono<AppEnv>, services: Services): void {
  const addressed = services.app.records.filter(({ hasPages }) => hasPages);
  if (addressed.length === 0) return;
  mountRoutes(app, [
    { method: 'GET', path: '/api/declaration', answer: async (c) => c.json(await describe(services, c)) },
    ...addressed.map((record) => ({
      method: 'GET' as const,
      path: `${record.path}/operations`,
      answer: async (c: AppContext) => c.json(await offered(services, c, record)),
    })),
  ]);
}

async function describe(services: Services, c: AppContext): Promise<Declaration> {
  const caller = await actingCaller(services, c);
  const held = await holdingsOf(services, c, caller);
  const { kinds, operations } = declaredApp(services.app);
  const mine = operations.filter(({ declaration }) => mayPerform(declaration, held, caller));
  const reads = new Set(mine.map(({ model }) => model.name));
  return {
    name: services.manifest.name,
    kinds: kinds
      .filter(({ type }) => reads.has(`${type}/list`) || reads.has(`${type}/get`))
      .map((kind) => ({ ...kind, attachments: attachmentsOf(services, kind.type, held) })),
    operations: mine.map(({ model }) => model),
  };
}

function attachmentsOf(
  { manifest }: Services,
  type: string,
  { everywhere, somewhere }: Holdings,
): DeclaredKind['attachments'] {
  const { attachments } = manifest.entities[type] ?? {};
  const has = (permission: string | undefined) =>
    permission !== undefined && (everywhere.has(permission) || somewhere.has(permission));
  if (!attachments || !has(attachments.read)) return null;
  return { write: has(attachments.write), remove: has(attachments.remove) };
}

/** The operations about a record that the caller may perform on it now. @throws PlatformError as reading the record does. */
async function offered(
  services: Services,
  c: AppContext,
  record: AddressedRecord,
): Promise<z.input<typeof offeredResponse>> {
  const { entity, output } = await readRecord(services, c, record);
  const caller = await actingCaller(services, c);
  const held = await holdingsOf(services, c, caller);
  const isHeld = async ({ declaration }: JudgedOperation): Promise<boolean> => {
    const { permission } = declaration;
    const writes = !isReadOnly(declaration);
    if (!isAllowedByGrant({ program: caller.program, permission, writes })) return false;
    if (held.everywhere.has(permission)) return true;
    if (!held.somewhere.has(permission)) return false;
    const proofs = await scopeOf(services, c).explain({ principal: caller.principal, permission, entity });
    return proofs.length > 0;
  };
  const about = declaredApp(services.app).operations.filter(
    ({ model, declaration }) =>
      model.about?.type === record.type &&
      fitsState(model.name, record.type, output) &&
      (declaration.offered?.(output) ?? true),
  );
  const judged = await Promise.all(about.map(async (each) => ((await isHeld(each)) ? [each] : [])));
  return { operations: judged.flat().map(({ model }) => model.name) };
}

/** Whether a supplied operation fits the record: an archived one can be taken back, and neither changed nor archived. */
function fitsState(name: string, type: string, output: unknown): boolean {
  const isArchived = (output as { readonly archivedAt?: unknown } | null)?.archivedAt != null;
  if (name === `${type}/unarchive`) return isArchived;
  return !(isArchived && (name === `${type}/update` || name === `${type}/archive`));
}
